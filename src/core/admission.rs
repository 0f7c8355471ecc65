//! What a request must show before any state is touched: its key and its scope.
//!
//! Owns how they come together, with the principal, to the name of an object. It reads no state,
//! and what it refuses has left no trace anywhere. The key comes first, since it costs nothing to
//! look at; who the request is from may have to be found out elsewhere (`principal`).

use super::answer::Problem;
use super::command::{Pointer, source};
use super::identity::{Digest, Identity, ObjectName};
use super::parts;
use super::policy::{KeyPart, Operation, Params, ScopePart, WhenAbsent};
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
    /// The body without its content codings; nothing if it was not read, or there is none.
    pub body: Option<&'a [u8]>,
}

/// Where a request belongs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identified {
    /// The object.
    pub name: ObjectName,
    /// Whose the record is.
    pub owner: Digest,
}

/// The key of a request, read and found well-formed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Key(Vec<String>);

/// Reads the key; nothing if there is none and the policy lets such requests pass.
///
/// # Errors
/// It is missing or cannot be read in one way only.
pub fn key(operation: &Operation, incoming: Incoming<'_>) -> Result<Option<Key>, Problem> {
    let mut values = Vec::with_capacity(operation.key.len());
    for part in &operation.key {
        match parts::value(part, incoming)? {
            Some(value) => values.push(value),
            None if operation.when_absent == WhenAbsent::Pass => return Ok(None),
            None => return Err(parts::missing(part)),
        }
    }
    Ok(Some(Key(values)))
}

/// Puts operation, scope and key together.
///
/// # Errors
/// A part of the scope cannot be read in one way only.
pub fn identify(
    operation: &Operation,
    incoming: Incoming<'_>,
    key: &Key,
    principal: &Digest,
) -> Result<Identified, Problem> {
    let mut identity = Identity::of(&operation.name);
    // Objects of one name in two jurisdictions are two objects.
    if let Some(jurisdiction) = &operation.placement.jurisdiction {
        identity.part("jurisdiction", Some(jurisdiction.as_bytes()));
    }
    for part in &operation.scope {
        match part {
            ScopePart::Principal => {
                let form = format!("principal {}", operation.principal);
                identity.part(&form, Some(&principal.0));
            }
            ScopePart::Value(part) => {
                let value = parts::value(part, incoming)?;
                identity.part(&part.to_string(), value.as_deref().map(str::as_bytes));
            }
        }
    }
    for (part, value) in operation.key.iter().zip(&key.0) {
        identity.part(&part.to_string(), Some(value.as_bytes()));
    }
    let name = identity.name();
    let owner = name.owner(principal);
    Ok(Identified { name, owner })
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
) -> Option<String> {
    let value = match placeholder {
        Placeholder::Body(pointer) => scalar(incoming.body?, pointer),
        Placeholder::Key => {
            let value = |part: &KeyPart| match part {
                // As the client spelled it, not as it enters the identity.
                KeyPart::Body(pointer) => scalar(incoming.body?, pointer),
                KeyPart::Header(_) | KeyPart::Path(_) | KeyPart::Query(_) => {
                    parts::value(part, incoming).ok().flatten()
                }
            };
            let values = operation.key.iter().map(value);
            values
                .collect::<Option<Vec<_>>>()
                .map(|values| values.join(","))
        }
        Placeholder::Path(name) => {
            String::from_utf8(parts::unescape_path(incoming.params.get(name)?)).ok()
        }
        // It is the record's, not the request's.
        Placeholder::Reference => None,
    };
    value.filter(|value| value.len() <= LONGEST_KEPT)
}

/// The text of a value of a JSON body: the text of a string, a number as the client spelled it.
fn scalar(body: &[u8], pointer: &Pointer) -> Option<String> {
    let text = source(body, pointer)?;
    match serde_json::from_slice(text).ok()? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => {
            String::from_utf8(text.to_vec()).ok()
        }
        serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
            None
        }
    }
}
