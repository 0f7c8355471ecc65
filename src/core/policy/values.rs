//! Values of the policy that are written as one string: the origin, principals and parts of keys.
//!
//! Owns their spelling. A message never shows an origin, because credentials may stand in it.

use super::reader::{no_choice, quote};
use super::{KeyPart, Origin, Principal, ScopePart};
use crate::core::command::Pointer;

/// Reads `https://api.example.com/prefix` or `service:BINDING`.
pub(super) fn origin(text: &str) -> Result<Origin, String> {
    if let Some(name) = text.strip_prefix("service:") {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let starts = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
        if !starts || !name.bytes().all(word) || matches!(name, "GATE" | "ATTENTION") {
            return Err("after \"service:\" stands the name of a service binding".to_owned());
        }
        return Ok(Origin::Service(name.to_owned()));
    }
    let Some(rest) = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
    else {
        return Err("must start with \"https://\", \"http://\" or \"service:\"".to_owned());
    };
    if rest.contains(['?', '#']) {
        return Err("cannot have a query or a fragment".to_owned());
    }
    let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("cannot hold credentials".to_owned());
    }
    if !is_authority(authority) {
        return Err("needs a host in ASCII, and a port from 1 to 65535 if any".to_owned());
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if !is_prefix(prefix) {
        return Err(
            "has a path that is not in its plain form: no empty or dot segments, and \
                    letters, digits and - . _ ~ ! $ & ' ( ) * + , = : @ only"
                .to_owned(),
        );
    }
    let kept = text.strip_suffix('/').unwrap_or(text);
    Ok(Origin::Url(kept.to_owned()))
}

/// Whether a text is a host, and a port if any.
pub(super) fn is_authority(text: &str) -> bool {
    let (host, rest, inside): (&str, &str, fn(u8) -> bool) = if let Some((host, rest)) = text
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'))
    {
        (host, rest, |b| {
            b.is_ascii_hexdigit() || matches!(b, b':' | b'.')
        })
    } else {
        let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        (host, rest, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_')
        })
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => {
            port.bytes().all(|b| b.is_ascii_digit()) && port.parse().is_ok_and(|n: u16| n > 0)
        }
        None => rest.is_empty(),
    };
    !host.is_empty() && host.bytes().all(inside) && port
}

fn is_prefix(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,=:@".contains(&b);
    text.split('/')
        .skip(1)
        .all(|segment| !matches!(segment, "" | "." | "..") && segment.bytes().all(plain))
}

/// Reads who a request is from.
pub(super) fn principal(text: &str) -> Result<Principal, String> {
    match text {
        "authorization" => Ok(Principal::Authorization { any: false }),
        "authorization:any" => Ok(Principal::Authorization { any: true }),
        "none" => Ok(Principal::None),
        _ => match text.split_once(':') {
            Some(("cookie", name)) => token(name).map(|()| Principal::Cookie(name.to_owned())),
            Some(("header", name)) => header(name).map(Principal::Header),
            // The name of a claim may be an address (RFC 7519 §4.2).
            Some(("jwt", name)) if is_claim(name) => Ok(Principal::Jwt(name.to_owned())),
            Some(("jwt", _)) => Err(format!("{} lacks the name of a claim", quote(text))),
            Some(_) | None => Err(no_choice(
                text,
                &[
                    "authorization",
                    "authorization:any",
                    "jwt:CLAIM",
                    "cookie:NAME",
                    "header:NAME",
                    "none",
                ],
            )),
        },
    }
}

/// Reads a part of the scope.
pub(super) fn scope_part(text: &str) -> Result<ScopePart, String> {
    match text {
        "principal" => Ok(ScopePart::Principal),
        _ => part(text, &["principal", HEADER, QUERY, PATH, BODY]).map(ScopePart::Value),
    }
}

/// Reads a part of the key.
pub(super) fn key_part(text: &str) -> Result<KeyPart, String> {
    part(text, &[HEADER, QUERY, PATH, BODY])
}

const HEADER: &str = "header:NAME";
const QUERY: &str = "query:NAME";
const PATH: &str = "path:NAME";
const BODY: &str = "body:/json/pointer";

fn part(text: &str, forms: &[&str]) -> Result<KeyPart, String> {
    match text.split_once(':') {
        Some(("header", name)) => header(name).map(KeyPart::Header),
        Some(("query", name)) if !name.is_empty() => Ok(KeyPart::Query(name.to_owned())),
        Some(("path", name)) if !name.is_empty() => Ok(KeyPart::Path(name.to_owned())),
        Some(("body", pointer)) => place(pointer).map(KeyPart::Body),
        Some(("query" | "path", _)) => Err(format!("{} lacks a name", quote(text))),
        Some(_) | None => Err(no_choice(text, forms)),
    }
}

/// Reads a place of a JSON body that is one value.
fn place(text: &str) -> Result<Pointer, String> {
    let pointer = Pointer::parse(text).map_err(|why| format!("{}: {why}", quote(text)))?;
    if pointer.tokens().is_empty() || pointer.has_wildcard() {
        return Err(format!("{} must name one value of the body", quote(text)));
    }
    Ok(pointer)
}

fn is_claim(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())
}

fn token(name: &str) -> Result<(), String> {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(letter) {
        return Err(format!("{} is not a name", quote(name)));
    }
    Ok(())
}

/// Reads the name of a header that may be part of an identity or of a command.
pub(super) fn header(name: &str) -> Result<String, String> {
    token(name).map_err(|_| format!("{} is not the name of a header", quote(name)))?;
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "authorization" | "proxy-authorization" | "cookie" => Err(format!(
            "{} holds credentials: they belong to principal",
            quote(&name)
        )),
        _ if name.starts_with("oncegate-") => Err(format!(
            "{} never reaches the gate: such headers are removed",
            quote(&name)
        )),
        _ => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_plain_address_or_a_binding() {
        for (text, kept) in [
            ("https://api.example.com", "https://api.example.com"),
            ("https://api.example.com/", "https://api.example.com"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
            ("http://[::1]:9000/", "http://[::1]:9000"),
            ("https://a_b.example/v1/x.y/", "https://a_b.example/v1/x.y"),
        ] {
            assert_eq!(origin(text), Ok(Origin::Url(kept.to_owned())), "{text}");
        }
        assert_eq!(origin("service:API"), Ok(Origin::Service("API".to_owned())));
        for text in [
            "",
            "api.example.com",
            "ftp://a.example",
            "HTTPS://a.example",
            "//a.example",
            "https://",
            "https:///x",
            "https://user:secret@a.example",
            "https://secret@a.example",
            "https://a.example?x",
            "https://a.example/?x",
            "https://a.example#x",
            "https://a.example:0",
            "https://a.example:",
            "https://a.example:+1",
            "https://a.example:65536",
            "https://a b.example",
            "https://é.example",
            "https://a.example\\x",
            "https://[::1",
            "https://[::1]x",
            "https://a.example//",
            "https://a.example//x",
            "https://a.example/./x",
            "https://a.example/x/..",
            "https://a.example/%2e",
            "https://a.example/a b",
            "https://a.example/a;b",
            "https://a.example ",
            "service:",
            "service:1A",
            "service:A B",
            "service:GATE",
        ] {
            let fault = origin(text).unwrap_err();
            assert!(!fault.contains("secret"), "{fault}");
        }
    }
}
