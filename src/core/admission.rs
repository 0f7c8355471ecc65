//! What a request must show before any state is touched: its key, its principal, its scope.
//!
//! Owns how those are read from a request and put together to the name of an object. It reads no
//! state, and what it refuses has left no trace anywhere. A credential goes into a digest and
//! nowhere else: it is neither kept nor shown.

use super::answer::Problem;
use super::code::Code;
use super::command::source;
use super::identity::{Digest, Identity, ObjectName};
use super::key;
use super::policy::{KeyPart, Operation, Params, Principal, ScopePart, WhenAbsent};
use super::recovery::Placeholder;

/// What of a request identifies its operation.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// The headers, in lower case, repeats joined by a comma and a space.
    pub headers: &'a [(String, String)],
    /// The query as it came, without its question mark.
    pub query: Option<&'a str>,
    /// The parameters of the path.
    pub params: &'a Params,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// It goes to this object, for this owner.
    Admitted {
        /// The object.
        name: ObjectName,
        /// Whose the record is.
        owner: Digest,
    },
    /// It has no key, and the policy lets such requests pass.
    Bypassed,
}

/// Reads key, principal and scope.
///
/// # Errors
/// One of them is missing or cannot be read in one way only.
pub fn admit(operation: &Operation, incoming: Incoming<'_>) -> Result<Admission, Problem> {
    let mut keys = Vec::with_capacity(operation.key.len());
    for part in &operation.key {
        match key_value(part, incoming)? {
            Some(value) => keys.push((part, value)),
            None if operation.when_absent == WhenAbsent::Pass => return Ok(Admission::Bypassed),
            None => return Err(missing(part)),
        }
    }
    let principal = principal(operation, incoming)?;
    let mut identity = Identity::of(&operation.name);
    for part in &operation.scope {
        match part {
            ScopePart::Principal => {
                let form = format!("principal {}", operation.principal);
                identity.part(&form, Some(&principal.0));
            }
            ScopePart::Value(part) => {
                let value = key_value(part, incoming)?;
                identity.part(&part.to_string(), value.as_deref().map(str::as_bytes));
            }
        }
    }
    for (part, value) in keys {
        identity.part(&part.to_string(), Some(value.as_bytes()));
    }
    let name = identity.name();
    let owner = name.owner(&principal);
    Ok(Admission::Admitted { name, owner })
}

/// The longest value that is kept for the probe, in bytes.
const LONGEST_KEPT: usize = 2_048;

/// What a placeholder of the probe stands for in this request; nothing if it is not there, or is
/// longer than 2,048 bytes.
#[must_use]
pub fn placeholder(
    placeholder: &Placeholder,
    operation: &Operation,
    incoming: Incoming<'_>,
    body: &[u8],
) -> Option<String> {
    let value = match placeholder {
        Placeholder::Body(pointer) => {
            let text = source(body, pointer)?;
            match serde_json::from_slice(text).ok()? {
                serde_json::Value::String(text) => Some(text),
                // As the client spelled it: a number of any length.
                serde_json::Value::Number(_) | serde_json::Value::Bool(_) => {
                    String::from_utf8(text.to_vec()).ok()
                }
                serde_json::Value::Null
                | serde_json::Value::Array(_)
                | serde_json::Value::Object(_) => None,
            }
        }
        Placeholder::Key => {
            let values = operation
                .key
                .iter()
                .map(|part| key_value(part, incoming).ok().flatten());
            values
                .collect::<Option<Vec<_>>>()
                .map(|values| values.join(","))
        }
        Placeholder::Path(name) => {
            String::from_utf8(unescape_path(incoming.params.get(name)?)).ok()
        }
        // It is the record's, not the request's.
        Placeholder::Reference => None,
    };
    value.filter(|value| value.len() <= LONGEST_KEPT)
}

/// The digest of who a request is from.
///
/// # Errors
/// It does not say, or says it in a way that changes between attempts.
pub fn principal(operation: &Operation, incoming: Incoming<'_>) -> Result<Digest, Problem> {
    match operation.principal {
        Principal::None => Ok(Digest::of(b"")),
        Principal::Authorization { any } => {
            let credentials = header(incoming.headers, "authorization").unwrap_or_default();
            authorization(credentials, any)
        }
    }
}

fn authorization(credentials: &str, any: bool) -> Result<Digest, Problem> {
    let credentials = credentials.trim_matches([' ', '\t']);
    let (scheme, rest) = credentials.split_once(' ').unwrap_or(("", credentials));
    let rest = rest.trim_matches([' ', '\t']);
    let lone_scheme = [
        "basic",
        "bearer",
        "digest",
        "dpop",
        "negotiate",
        "signature",
        "token",
    ]
    .iter()
    .any(|scheme| credentials.eq_ignore_ascii_case(scheme));
    if rest.is_empty() || lone_scheme {
        return Err(Problem::detailed(
            Code::PrincipalMissing,
            "this operation needs credentials in the header Authorization",
        ));
    }
    // Scheme names compare without case; what follows them does not.
    let scheme = scheme.to_ascii_lowercase();
    let signing =
        matches!(scheme.as_str(), "signature" | "dpop" | "digest") || scheme.starts_with("aws4-");
    if !any && (signing || looks_like_jwt(rest)) {
        let kind = if signing {
            "signed request"
        } else {
            "JSON Web Token"
        };
        return Err(Problem::detailed(
            Code::PrincipalUnstable,
            format!(
                "a {kind} changes between attempts, so a retry would be a second operation: \
                 this operation needs an opaque credential, or a policy with a principal of \
                 the form jwt:CLAIM or authorization:any"
            ),
        ));
    }
    let mut identity = scheme.into_bytes();
    identity.push(b' ');
    identity.extend_from_slice(rest.as_bytes());
    Ok(Digest::of(&identity))
}

/// Whether a token has the shape of a JWT: base64url segments, the first a JSON object.
fn looks_like_jwt(token: &str) -> bool {
    let segments = token.split('.').count();
    let base64url = token
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'='));
    // `{` is 0x7b: its base64 starts with `e`, and goes on with one of the last 16 letters.
    let object = matches!(
        token.as_bytes(),
        [b'e', b'w'..=b'z' | b'0'..=b'9' | b'-' | b'_', ..]
    );
    matches!(segments, 3 | 5) && base64url && object
}

/// The value of a part; nothing if it is absent or empty.
fn key_value(part: &KeyPart, incoming: Incoming<'_>) -> Result<Option<String>, Problem> {
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
    }
}

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

fn unescape_path(text: &str) -> Vec<u8> {
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

fn missing(part: &KeyPart) -> Problem {
    Problem::detailed(
        Code::KeyMissing,
        format!(
            "this operation needs an idempotency key in the {}",
            part.in_words()
        ),
    )
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
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
        }
    }
}

/// The form by which a principal enters the identity.
impl std::fmt::Display for Principal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Authorization { any: false } => "authorization",
            Self::Authorization { any: true } => "authorization:any",
            Self::None => "none",
        })
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
        }
    }
}
