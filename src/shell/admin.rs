//! What an operator may do.
//!
//! Owns the paths under `/.oncegate`: closed, as if they were not there, unless the deployment has
//! the secret `ONCEGATE_ADMIN_TOKEN` and the request carries it. It changes no record itself; every
//! action names its reason, which goes into the record's journal.
//!
//! `POST /.oncegate/purge` with `{"operation", "reference", "reason"}` has the reply of a settled
//! operation forgotten at once. The key is still remembered until its tombstone ends.

use serde_json::Value;
use worker::Response;

use super::front::{Incoming_, call};
use super::origin::read_up_to;
use super::waiters::within;
use super::{http, js, policy};
use crate::core::envelope::{Ask, Envelope};
use crate::core::identity::{Digest, Nonce, ObjectName, parse_reference};
use crate::core::reply::Read;
use crate::core::time::Span;
use crate::core::wire::Message;

/// The secret of the operators.
const TOKEN: &str = "ONCEGATE_ADMIN_TOKEN";
/// The longest request of an operator, in bytes.
const LONGEST: usize = 16 << 10;
/// The longest reason, in characters.
const LONGEST_REASON: usize = 500;
/// How long an object may take.
const PATIENCE: Span = Span::seconds(10);

/// Answers a request below `/.oncegate`.
pub(super) async fn answer(incoming: &Incoming_<'_>, path: &str) -> worker::Result<Response> {
    if !is_operator(incoming) {
        return incoming.not_found();
    }
    match (incoming.method.as_str(), path) {
        ("POST", "/purge") => purge(incoming).await,
        (_, "/purge") => http::response(&refused(405, "this is a POST")),
        _ => incoming.not_found(),
    }
}

/// Whether the request carries the token. What is compared are digests, so that the time it takes
/// tells nothing of the token.
fn is_operator(incoming: &Incoming_<'_>) -> bool {
    let token = js::binding(incoming.env, TOKEN).and_then(|token| token.as_string());
    let given = incoming
        .headers
        .iter()
        .find(|(name, _)| name == "authorization")
        .and_then(|(_, value)| value.strip_prefix("Bearer "));
    match (token.filter(|token| !token.is_empty()), given) {
        (Some(token), Some(given)) => Digest::of(token.as_bytes()) == Digest::of(given.as_bytes()),
        _ => false,
    }
}

async fn purge(incoming: &Incoming_<'_>) -> worker::Result<Response> {
    let asked = match read(incoming).await {
        Ok(asked) => asked,
        Err(why) => return http::response(&refused(400, why)),
    };
    let known = policy::operation(incoming.env, &asked.operation);
    if known.is_none() {
        return incoming.not_found();
    }
    let envelope = Envelope {
        operation: asked.operation,
        owner: asked.name.owner(&Digest::of(b"")),
        name: asked.name,
        base: incoming.target.base.clone(),
        counted_as: None,
        ask: Ask::Purge {
            nonce: asked.nonce,
            reason: asked.reason,
        },
    };
    let answer = within(PATIENCE, Box::pin(call(incoming.env, &envelope, &[]))).await;
    incoming.relay(None, answer)
}

struct Asked {
    operation: String,
    name: ObjectName,
    nonce: Nonce,
    reason: String,
}

async fn read(incoming: &Incoming_<'_>) -> Result<Asked, &'static str> {
    let body = incoming
        .request
        .inner()
        .body()
        .ok_or("the body is a JSON object")?;
    let Read::Whole(body) = read_up_to(&body, LONGEST).await else {
        return Err("the body is a JSON object of at most 16 KiB");
    };
    let body: Value = serde_json::from_slice(&body).map_err(|_| "the body is a JSON object")?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let operation = text("operation").ok_or("operation: the name of an operation")?;
    let (name, nonce) = text("reference")
        .and_then(parse_reference)
        .ok_or("reference: the Oncegate-Reference of the operation")?;
    let reason = text("reason")
        .filter(|reason| !reason.trim().is_empty() && reason.chars().count() <= LONGEST_REASON)
        .ok_or("reason: why, in 1 to 500 characters")?;
    Ok(Asked {
        operation: operation.to_owned(),
        name,
        nonce,
        reason: reason.to_owned(),
    })
}

fn refused(status: u16, why: &str) -> Message {
    let document = serde_json::json!({ "title": "Not done", "status": status, "detail": why });
    Message {
        status,
        headers: vec![
            (
                "Content-Type".to_owned(),
                "application/problem+json".to_owned(),
            ),
            ("Cache-Control".to_owned(), "no-store".to_owned()),
        ],
        body: document.to_string().into_bytes(),
    }
}
