//! The gate's own pages.
//!
//! Owns the paths under `/.well-known/idempotency`, which never reach the origin. It reads no
//! record itself: the status of an operation is the object's to tell, to the same principal only.

use worker::Response;

use super::front::{Incoming_, call, invalid_policy};
use super::waiters::within;
use super::{authorize, http, policy, principal};
use crate::core::admission::{Identified, Incoming, identify, key};
use crate::core::answer::Problem;
use crate::core::code::Code;
use crate::core::envelope::{Ask, Envelope};
use crate::core::identity::{Digest, Nonce, ObjectName, parse_reference};
use crate::core::policy::parse::Loaded;
use crate::core::policy::{Operation, Params, Policy};
use crate::core::time::Span;
use crate::core::wire::Message;
use crate::core::{discovery, pages};

/// How long an object may take to tell how far it is.
const PATIENCE: Span = Span::seconds(10);

/// Answers a request for one of the gate's own pages, by what stands behind their root.
pub(super) async fn answer(incoming: &Incoming_<'_>, page: &str) -> worker::Result<Response> {
    if !matches!(incoming.method.as_str(), "GET" | "HEAD") {
        return http::response(&method_not_allowed());
    }
    let loaded = policy::loaded(incoming.env);
    if let Some(name) = page.strip_prefix("/status/") {
        return status(incoming, name).await;
    }
    if page == "/problems" {
        return http::response(&pages::problems());
    }
    if let Some(name) = page.strip_prefix("/problems/") {
        let Some(code) = Code::from_wire(name) else {
            return incoming.not_found();
        };
        let policy = policy::valid(incoming.env);
        let page = pages::problem(code, policy, loaded.statuses(), wants_json(incoming));
        return http::response(&page);
    }
    match loaded {
        Loaded::Valid(policy) if page.is_empty() => {
            http::response(&discovery::document(policy, &incoming.target.base))
        }
        Loaded::Invalid { .. } if page.is_empty() => incoming.refuse(None, invalid_policy()),
        Loaded::Valid(_) | Loaded::Invalid { .. } => incoming.not_found(),
    }
}

/// Whether a client asks for JSON rather than for a page.
fn wants_json(incoming: &Incoming_<'_>) -> bool {
    let mut headers = incoming.headers.iter();
    let accept = headers.find(|(name, _)| name == "accept");
    accept.is_some_and(|(_, value)| value.contains("json") && !value.contains("html"))
}

async fn status(incoming: &Incoming_<'_>, name: &str) -> worker::Result<Response> {
    let policy = match policy::loaded(incoming.env) {
        Loaded::Valid(policy) => policy,
        Loaded::Invalid { .. } => {
            return incoming.refuse(None, invalid_policy());
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
        headers: vec![("Allow".to_owned(), "GET, HEAD".to_owned())],
        body: Vec::new(),
    }
}
