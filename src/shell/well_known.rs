//! The gate's own pages.
//!
//! Owns the paths under `/.well-known/idempotency` and `/.oncegate`, which never reach the origin.
//! It reads no record itself: the status of an operation is the object's to tell, to the same
//! principal only.

use worker::Response;

use super::front::{Incoming_, call};
use super::waiters::within;
use super::{admin, authorize, http, policy, principal};
use crate::core::admission::{Identified, Incoming, identify, key};
use crate::core::answer::Problem;
use crate::core::code::Code;
use crate::core::envelope::{Ask, Envelope};
use crate::core::identity::{Digest, Nonce, ObjectName, parse_reference};
use crate::core::policy::parse::Loaded;
use crate::core::policy::{Operation, Params, Policy, normalise};
use crate::core::time::Span;
use crate::core::wire::{Message, WELL_KNOWN};

/// Where the operator's pages are.
const ADMIN: &str = "/.oncegate";

/// How long an object may take to tell how far it is.
const PATIENCE: Span = Span::seconds(10);

/// Answers a request for one of the gate's own pages; nothing if it is for another.
pub(super) async fn answer(incoming: &Incoming_<'_>) -> Option<worker::Result<Response>> {
    let path = normalise(incoming.target.path());
    let below = |root: &str| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if below(ADMIN) {
        let rest = path.strip_prefix(ADMIN).unwrap_or_default();
        return Some(admin::answer(incoming, rest).await);
    }
    if !below(WELL_KNOWN) {
        return None;
    }
    let status = path
        .strip_prefix(WELL_KNOWN)
        .and_then(|rest| rest.strip_prefix("/status/"));
    Some(match status {
        Some(name) if incoming.method == "GET" => self::status(incoming, name).await,
        Some(_) => http::response(&method_not_allowed()),
        None => incoming.not_found(),
    })
}

async fn status(incoming: &Incoming_<'_>, name: &str) -> worker::Result<Response> {
    let policy = match policy::loaded(incoming.env) {
        Loaded::Valid(policy) => policy,
        Loaded::Invalid { .. } => {
            return incoming.refuse(None, Problem::of(Code::GateUnavailable));
        }
    };
    let Some(operation) = policy.operation(name) else {
        return incoming.not_found();
    };
    let (name, owner, nonce) = match asked(incoming, policy, operation).await {
        Ok(Some(asked)) => asked,
        Ok(None) => return incoming.not_found(),
        Err(problem) => return incoming.refuse(Some(operation), problem),
    };
    // What is known of an operation is for those who may see its reply.
    let (headers, context) = (&incoming.headers, incoming.context(Some(operation)));
    match authorize::replay(incoming.env, operation, headers, context).await {
        Ok(()) => {}
        Err(authorize::Refusal::Response(response)) => return Ok(response),
        Err(authorize::Refusal::Problem(problem)) => {
            return incoming.refuse(Some(operation), problem);
        }
    }
    let envelope = Envelope {
        operation: operation.name.clone(),
        name,
        owner,
        base: incoming.target.base.clone(),
        counted_as: None,
        ask: Ask::Status(nonce),
    };
    let answer = within(PATIENCE, Box::pin(call(incoming.env, &envelope, &[]))).await;
    incoming.relay(Some(operation), answer)
}

/// Which record is asked for: by its reference, or by the key that it was made with.
async fn asked(
    incoming: &Incoming_<'_>,
    policy: &Policy,
    operation: &Operation,
) -> Result<Option<(ObjectName, Digest, Option<Nonce>)>, Problem> {
    let (query, params) = (incoming.target.query(), Params::default());
    let identifying = Incoming {
        headers: &incoming.headers,
        query,
        params: &params,
        body: None,
    };
    let reference = query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .find_map(|pair| pair.strip_prefix("reference="));
    if let Some(reference) = reference {
        let owner = principal::of(policy, operation, &incoming.headers).await?;
        return Ok(parse_reference(reference)
            .map(|(name, nonce)| (name.clone(), name.owner(&owner), Some(nonce))));
    }
    let key = key(operation, identifying)?.ok_or_else(|| Problem::of(Code::KeyMissing))?;
    let principal = principal::of(policy, operation, &incoming.headers).await?;
    let Identified { name, owner } = identify(operation, identifying, &key, &principal)?;
    Ok(Some((name, owner, None)))
}

fn method_not_allowed() -> Message {
    Message {
        status: 405,
        headers: vec![("Allow".to_owned(), "GET".to_owned())],
        body: Vec::new(),
    }
}
