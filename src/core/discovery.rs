//! What the gate tells everybody about itself.
//!
//! Owns the document at `/.well-known/idempotency`: what a client must know to use the protected
//! operations rightly, in the words of the policy. It is written member by member, so that nothing
//! gets out because it was added to the policy: no origin, no probe and no secret is named here.

use serde_json::{Map, Value};

use super::code::{Code, Retry};
use super::pages::{advice, kept, status};
use super::policy::{KeyPart, OnRepeat, Operation, Policy, WhileRunning};
use super::time::Span;
use super::wire::{Message, WELL_KNOWN, facts, meaning, text};

const HEADER_KEY: &str =
    "1 to 255 printable ASCII characters: a bare word, or a quoted string (RFC 9651)";
const OTHER_KEY: &str = "1 to 255 bytes, counted with escapes";
const BODY_KEY: &str =
    "a JSON pointer (RFC 6901) to a text, a number, true or false of at most 255 characters";

/// The document of a policy, for a client that has reached the gate at this base.
#[must_use]
pub fn document(policy: &Policy, base: &str) -> Message {
    let mut all = Map::new();
    let operations = policy.operations.iter().map(|it| operation(it, base));
    put(&mut all, "operations", operations.collect::<Value>());
    let mut problems = Map::new();
    for code in Code::ALL {
        let facts = facts(code, policy.statuses.status(code), meaning(code));
        put(&mut problems, code.wire(), facts);
    }
    put(&mut all, "problems", problems);
    let mut retry = Map::new();
    for class in [
        Retry::SameKey,
        Retry::NewKey,
        Retry::Never,
        Retry::AfterFixing,
    ] {
        put(&mut retry, class.wire(), advice(class));
    }
    put(&mut all, "retry", retry);
    let problem = format!("{base}{WELL_KNOWN}/problems/{{code}}");
    put(&mut all, "problem_url", problem);
    kept(200, "application/json", text(&Value::Object(all)), &[])
}

fn operation(operation: &Operation, base: &str) -> Value {
    let mut of = Map::new();
    put(&mut of, "name", operation.name.as_str());
    put(&mut of, "match", texts(&operation.routes));
    put(&mut of, "principal", operation.principal.to_string());
    put(&mut of, "scope", texts(&operation.scope));
    let key = operation.key.iter().map(part);
    put(&mut of, "key", key.collect::<Value>());
    for (field, word) in operation.words() {
        if !word.is_empty() {
            put(&mut of, field, word);
        }
    }
    put(&mut of, "max_body", operation.max_body);
    put(&mut of, "windows_ms", windows(operation));
    let mut statuses = Map::new();
    for code in Code::ALL {
        put(&mut statuses, code.wire(), status(operation, code));
    }
    put(&mut of, "statuses", statuses);
    let url = format!("{base}{WELL_KNOWN}/status/{}{{?reference}}", operation.name);
    put(&mut of, "status_url", url);
    Value::Object(of)
}

/// Where a part of the key goes, and how it is written.
fn part(part: &KeyPart) -> Value {
    let (place, name, syntax) = match part {
        KeyPart::Header(name) => ("header", name.clone(), HEADER_KEY),
        KeyPart::Query(name) => ("query", name.clone(), OTHER_KEY),
        KeyPart::Path(name) => ("path", name.clone(), OTHER_KEY),
        KeyPart::Body(pointer) => ("body", pointer.to_string(), BODY_KEY),
    };
    let mut part = Map::new();
    put(&mut part, "in", place);
    put(&mut part, "name", name);
    put(&mut part, "syntax", syntax);
    Value::Object(part)
}

/// How long things last, by the field of the policy. A reply that is never given out has no window.
fn windows(operation: &Operation) -> Map<String, Value> {
    let mut windows = Map::new();
    let mut last = |field, Span(ms): Span| put(&mut windows, field, ms);
    if operation.on_repeat == OnRepeat::Replay {
        last("keep.for", operation.keep.for_);
    }
    last("keep.tombstone", operation.keep.tombstone);
    last("lease", operation.lease);
    last("origin_timeout", operation.origin_timeout);
    if let WhileRunning::Wait { for_, .. } = operation.while_running {
        last("while_running.for", for_);
    }
    windows
}

fn put(map: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    map.insert(name.to_owned(), value.into());
}

fn texts<T: ToString>(items: &[T]) -> Value {
    items.iter().map(ToString::to_string).collect()
}
