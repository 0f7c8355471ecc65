//! Values of a request that identify its operation.
//!
//! Owns how a part of a key or of a scope is found in a request, and the one spelling in which it
//! enters the identity. It reads no state. A value that can be read in two ways is refused, never
//! guessed: a query parameter that is there twice, a body with a name twice, a place that holds
//! null or a whole object. Values of a body keep their JSON type, so that `"000001"` is not `1`.

use super::admission::Incoming;
use super::answer::Problem;
use super::code::Code;
use super::command::identity_value;
use super::key;
use super::policy::{KeyPart, ScopePart};

/// The value of a part; nothing if it is absent or empty.
pub(super) fn value(part: &KeyPart, incoming: Incoming<'_>) -> Result<Option<String>, Problem> {
    let malformed =
        |why: &str| Problem::detailed(Code::KeyMalformed, format!("{}: {why}", part.in_words()));
    match part {
        KeyPart::Header(name) => match header(incoming.headers, name) {
            Some(value) => key::read_header(value).map_err(|fault| malformed(fault.0)),
            None => Ok(None),
        },
        KeyPart::Query(name) => {
            let mut values = query_values(incoming.query.unwrap_or_default(), name);
            let value = values.next();
            if values.next().is_some() {
                return Err(malformed("it is there more than once"));
            }
            bounded(value).map_err(malformed)
        }
        KeyPart::Path(name) => {
            bounded(incoming.params.get(name).map(str::to_owned)).map_err(malformed)
        }
        KeyPart::Body(pointer) => {
            let Some(body) = incoming.body.filter(|body| !body.is_empty()) else {
                return Ok(None);
            };
            let value = identity_value(body, pointer).map_err(|fault| malformed(&fault.detail))?;
            // An empty text is an absent key, as it is everywhere else.
            let value = value.filter(|value| value != "\"\"");
            match value {
                Some(value) if value.chars().count() > LONGEST_VALUE => Err(malformed(
                    "it may be at most 255 characters long, written as JSON",
                )),
                value => Ok(value),
            }
        }
    }
}

/// A text of 255 characters with its quotes, or a number of that many digits.
const LONGEST_VALUE: usize = key::LONGEST_KEY + 2;

fn bounded(value: Option<String>) -> Result<Option<String>, &'static str> {
    match value {
        Some(value) if value.is_empty() => Ok(None),
        Some(value) if value.len() > key::LONGEST_KEY => {
            Err("it may be at most 255 bytes long, counted with its escapes")
        }
        value => Ok(value),
    }
}

/// The values of a query parameter, in one spelling of their escapes.
fn query_values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    query.split('&').filter_map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (unescape(key) == name.as_bytes()).then(|| escape(&unescape(value)))
    })
}

fn unescape(text: &str) -> Vec<u8> {
    unescape_path(&text.replace('+', " "))
}

pub(super) fn unescape_path(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, tail @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push((high << 4) | low);
                    rest = tail;
                }
                _ => bytes.push(b'%'),
            },
            _ => bytes.push(*byte),
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// Escapes every byte but the unreserved ones, so that one value has one spelling.
pub(super) fn escape(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len()), |mut text, byte| {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    text.push(char::from(*byte));
                }
                _ => text.push_str(&format!("%{byte:02X}")),
            }
            text
        })
}

pub(super) fn missing(part: &KeyPart) -> Problem {
    Problem::detailed(
        Code::KeyMissing,
        format!(
            "this operation needs an idempotency key in the {}",
            part.in_words()
        ),
    )
}

pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
}

impl KeyPart {
    /// The part as people call it.
    fn in_words(&self) -> String {
        match self {
            Self::Header(name) => format!("header {name}"),
            Self::Query(name) => format!("query parameter {name}"),
            Self::Path(name) => format!("path parameter {name}"),
            Self::Body(pointer) => format!("body at {pointer}"),
        }
    }
}

impl std::fmt::Display for ScopePart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Principal => f.write_str("principal"),
            Self::Value(part) => part.fmt(f),
        }
    }
}

/// The form by which a part enters the identity.
impl std::fmt::Display for KeyPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::Path(name) => write!(f, "path:{name}"),
            Self::Body(pointer) => write!(f, "body:{pointer}"),
        }
    }
}
