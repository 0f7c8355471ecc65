//! The field `cors`: the web pages whose scripts may call the gate.
//!
//! Owns how an origin is written. It takes what a browser sends in `Origin`, to the letter, because
//! anything else would be in the list and never match. `null` is no page in particular, so nobody
//! can be let in by it.

use serde_json::Value;

use super::declare::{Decl, field};
#[cfg(feature = "cli")]
use super::declare::{Form, Kind};
use super::reader::{Faults, Field, Table, quote, string, wrong_type};
use super::values::is_authority;
use crate::core::cors::Cors;

/// The fields of `cors`.
pub(super) static FIELDS: &[Decl] = &[field!(
    required "origins",
    Kind::Either(&[Kind::Text(ORIGIN), Kind::List(1, &Kind::Text(ORIGIN))]),
    "The origins of the pages, as browsers send them; or \"*\" for all, without cookies."
)];

#[cfg(feature = "cli")]
const ORIGIN: Form = Form {
    pattern: r"^(\*|https?://[^/?#@A-Z]+)$",
    examples: &["https://shop.example", "http://localhost:3000", "*"],
};

const WRITE: &str = "\"*\" alone, or origins as browsers send them: \"https://shop.example\", \
     in lower case, without a path, with a port only where it is not the usual one";

/// Reads `cors`; nothing where it is not written, or not rightly.
pub(super) fn read(table: &Table<'_>, faults: &mut Faults) -> Option<Cors> {
    let Field::Is(inner) = table.table("cors", &FIELDS, faults) else {
        return None;
    };
    let path = inner.path("origins");
    let (items, many) = match inner.get("origins") {
        Some(one @ Value::String(_)) => (std::slice::from_ref(one), false),
        Some(Value::Array(items)) => (items.as_slice(), true),
        Some(value) => {
            faults.add(path, wrong_type("a string or a list of strings", value));
            return None;
        }
        None => (&[][..], true),
    };
    if items.is_empty() {
        faults.add(path, format!("must be written: {WRITE}"));
        return None;
    }
    if let [Value::String(all)] = items
        && all == "*"
    {
        return Some(Cors::Anyone);
    }
    let mut origins: Vec<String> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let path = if many {
            format!("{path}[{n}]")
        } else {
            path.clone()
        };
        let Some(text) = string(item, &path, faults) else {
            continue;
        };
        if !is_origin(text) {
            faults.add(path, format!("{} is not allowed: {WRITE}", quote(text)));
        } else if origins.iter().any(|known| known == text) {
            faults.add(path, format!("{} is there twice", quote(text)));
        } else {
            origins.push(text.to_owned());
        }
    }
    (origins.len() == items.len()).then_some(Cors::Listed(origins))
}

/// Whether a text is an origin as a browser writes it.
fn is_origin(text: &str) -> bool {
    let (authority, usual) = match text.split_once("://") {
        Some(("https", rest)) => (rest, ":443"),
        Some(("http", rest)) => (rest, ":80"),
        _ => return false,
    };
    // Without the inside of an IPv6 address, what stands behind a colon is the port.
    let port = authority.rsplit(']').next().unwrap_or_default();
    is_authority(authority)
        && !authority.bytes().any(|b| b.is_ascii_uppercase())
        && !port.ends_with(usual)
        && !port.contains(":0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_browsers_send() {
        for text in [
            "https://shop.example",
            "https://shop.example:8443",
            "http://localhost:3000",
            "http://127.0.0.1",
            "http://[::1]:8080",
            "http://[2001:db8::80]",
            "http://[2001:db8::0]:8080",
            "http://shop.example:443",
        ] {
            assert!(is_origin(text), "{text}");
        }
        for text in [
            "",
            "*",
            "null",
            "shop.example",
            "//shop.example",
            "https://",
            "https://shop.example/",
            "https://shop.example/app",
            "https://shop.example?x",
            "https://shop.example#x",
            "https://user@shop.example",
            "https://*.shop.example",
            "https://Shop.example",
            "HTTPS://shop.example",
            "https://shöp.example",
            "https://shop.example:443",
            "http://shop.example:80",
            "https://shop.example:08443",
            "https://shop.example:",
            "https://shop.example, https://b.example",
            " https://shop.example",
            "ftp://shop.example",
        ] {
            assert!(!is_origin(text), "{text}");
        }
    }
}
