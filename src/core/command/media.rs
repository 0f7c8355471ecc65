//! Media types.
//!
//! Owns the reading of `Content-Type` and the canonical text of a media type: type and subtype in
//! lower case, then the parameters that count, sorted by name. `charset` never counts, and the
//! boundary of a multipart body does not. A value that is no media type is kept as it is, marked
//! by a `?` that no media type starts with.

/// How a body is understood.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Bytes without a known structure.
    Bytes,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `application/json` and every `+json`.
    Json,
    /// `multipart/form-data`, with its boundary if there is exactly one.
    Multipart(Option<Vec<u8>>),
}

/// A media type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Media {
    /// The canonical text.
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// Whether a text is a token of HTTP.
pub(super) fn is_token(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(token)
}

/// Reads the value of a `Content-Type` header.
pub(super) fn parse(value: &str) -> Media {
    read(value).unwrap_or_else(|| Media {
        text: format!("?{value}"),
        kind: Kind::Bytes,
    })
}

fn read(value: &str) -> Option<Media> {
    let (essence, rest) = value.split_at_checked(value.find(';').unwrap_or(value.len()))?;
    let essence = essence.trim_matches([' ', '\t']).to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    if !is_token(kind) || !is_token(subtype) {
        return None;
    }
    let mut parameters = parameters(rest)?;
    let multipart = essence == "multipart/form-data";
    let kind = match essence.as_str() {
        "application/json" => Kind::Json,
        "application/x-www-form-urlencoded" => Kind::Form,
        "multipart/form-data" => {
            let mut found = parameters.iter().filter(|(name, _)| name == "boundary");
            let one = (found.next(), found.next());
            match one {
                (Some((_, boundary)), None) => Kind::Multipart(Some(boundary.clone().into())),
                _ => Kind::Multipart(None),
            }
        }
        _ if subtype.ends_with("+json") => Kind::Json,
        _ => Kind::Bytes,
    };
    parameters.retain(|(name, _)| name != "charset" && !(multipart && name == "boundary"));
    parameters.sort();
    let mut text = essence.clone();
    for (name, value) in parameters {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        text.push_str(&format!(";{name}=\"{value}\""));
    }
    Some(Media { text, kind })
}

/// Reads `; name=value; name="value"`: lower-case names, unescaped values. Empty ones are skipped.
pub(super) fn parameters(text: &str) -> Option<Vec<(String, String)>> {
    const BLANK: [char; 2] = [' ', '\t'];
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(BLANK);
    while let Some(after) = rest.strip_prefix(';') {
        rest = after.trim_start_matches(BLANK);
        if rest.is_empty() || rest.starts_with(';') {
            continue;
        }
        let (name, after) = rest.split_once('=')?;
        if !is_token(name) {
            return None;
        }
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                // Wider than a token: some clients send boundaries such as `a=b` without quotes.
                let end = after
                    .find([';', ' ', '\t', ',', '"'])
                    .unwrap_or(after.len());
                let (value, after) = after.split_at_checked(end).filter(|_| end > 0)?;
                (value.to_owned(), after)
            }
        };
        found.push((name.to_ascii_lowercase(), value));
        rest = after.trim_start_matches(BLANK);
    }
    rest.is_empty().then_some(found)
}

/// Reads a quoted string after its first quote. Only `\"` and `\\` are escapes: browsers and
/// others send file names with single backslashes.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Some((value, characters.as_str())),
            '\\' if characters.as_str().starts_with(['"', '\\']) => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> String {
        parse(value).text
    }

    #[test]
    fn case_charset_and_white_space_do_not_matter() {
        for value in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json ; Charset=latin1 ;",
        ] {
            assert_eq!(
                parse(value),
                Media {
                    text: "application/json".into(),
                    kind: Kind::Json
                }
            );
        }
    }

    #[test]
    fn other_parameters_count_whatever_their_order() {
        let one = "application/vnd.acme+json;profile=\"x y\";v=\"2\"";
        assert_eq!(text("application/vnd.acme+json; v=2; profile=\"x y\""), one);
        assert_eq!(
            text("application/vnd.acme+json; profile=\"x y\"; V=\"2\""),
            one
        );
        assert_ne!(text("application/vnd.acme+json; profile=\"x y\"; v=3"), one);
        assert_eq!(parse(one).kind, Kind::Json);
        assert_eq!(text(&text(one)), one);
    }

    #[test]
    fn a_boundary_belongs_to_the_spelling_of_a_form_only() {
        let form = parse("multipart/form-data; boundary=\"a b\"");
        assert_eq!(form.text, "multipart/form-data");
        assert_eq!(form.kind, Kind::Multipart(Some(b"a b".to_vec())));
        let bare = parse("multipart/form-data; boundary==_a'b:c/d=");
        assert_eq!(bare.kind, Kind::Multipart(Some(b"=_a'b:c/d=".to_vec())));
        assert_eq!(parse("multipart/form-data").kind, Kind::Multipart(None));
        let twice = parse("multipart/form-data; boundary=a; boundary=b");
        assert_eq!(twice.kind, Kind::Multipart(None));
        assert_eq!(
            text("multipart/mixed; boundary=a"),
            "multipart/mixed;boundary=\"a\""
        );
    }

    #[test]
    fn what_is_no_media_type_is_kept_and_marked() {
        for value in [
            "",
            "json",
            "a/b/c",
            "application/json, text/plain",
            "a/b; c",
            "a/b; c=\"d",
        ] {
            assert_eq!(
                parse(value),
                Media {
                    text: format!("?{value}"),
                    kind: Kind::Bytes
                }
            );
        }
    }
}
