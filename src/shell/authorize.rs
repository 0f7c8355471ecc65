//! Asking the origin whether a caller may still see what is stored.
//!
//! Owns that question: the policy's path of the origin, with everything of the caller's request
//! that is not about its own target and body. It never decides what is given out, and fails closed:
//! only a success allows. A refusal of the origin is passed on as it is.

use js_sys::Object;
use js_sys::futures::JsFuture;
use wasm_bindgen::{JsCast, JsValue};
use worker::{Env, Response};

use super::origin::{self, Call};
use super::waiters::within;
use super::{http, js, policy};
use crate::core::answer::{Problem, Told};
use crate::core::code::Code;
use crate::core::policy::{KeyPart, Operation};
use crate::core::time::Span;
use crate::core::wire::{self, Context};

/// How the question ended, where it did not end well.
pub(super) enum Refusal {
    /// The gate's own answer.
    Problem(Problem),
    /// The origin's.
    Response(Response),
}

/// Asks, where the policy wants it.
pub(super) async fn replay(
    env: &Env,
    operation: &Operation,
    headers: &[(String, String)],
    context: Context<'_>,
) -> Result<(), Refusal> {
    let Some(target) = &operation.authorize_replay else {
        return Ok(());
    };
    let call = Call::new().map_err(|error| unable(&js::said(&error)))?;
    let answer = Box::pin(ask(env, operation, target, headers, &call));
    let response = match within(operation.origin_timeout, answer).await {
        Some(Ok(response)) => response,
        Some(Err(error)) => return Err(unable(&js::said(&error))),
        None => {
            call.end();
            return Err(unable("no answer in time"));
        }
    };
    match response.status() {
        200..=299 => {
            drain(&response);
            Ok(())
        }
        401 | 403 => {
            let refused = refused(&response, context);
            Err(refused.map_or_else(|error| unable(&error.to_string()), Refusal::Response))
        }
        300..=399 => {
            drain(&response);
            let detail = "the origin does not confirm that these credentials may see the answer";
            Err(Refusal::Problem(Problem {
                status: Some(403),
                ..Problem::detailed(Code::PrincipalInvalid, detail)
            }))
        }
        status => {
            drain(&response);
            Err(unable(&format!("an answer with the status {status}")))
        }
    }
}

async fn ask(
    env: &Env,
    operation: &Operation,
    target: &str,
    headers: &[(String, String)],
    call: &Call,
) -> Result<web_sys::Response, JsValue> {
    let policy = policy::valid(env).ok_or("there is no valid policy")?;
    let mut pairs = http::travelling(headers.to_vec());
    pairs.retain(|(name, _)| !of_another(operation, name));
    let init = Object::new();
    js::set(&init, "headers", http::headers(&pairs)?)?;
    js::set(&init, "redirect", "manual")?;
    js::set(&init, "cache", "no-store")?;
    js::set(&init, "encodeResponseBody", "manual")?;
    js::set(&init, "signal", call.signal())?;
    let url = origin::url(&policy.origin, target);
    let promise = origin::dispatch(env, &policy.origin, &url.into(), &init)?;
    Ok(JsFuture::from(promise).await?.unchecked_into())
}

/// Whether a header speaks of the caller's own target, body or key.
fn of_another(operation: &Operation, name: &str) -> bool {
    let key = |part: &KeyPart| matches!(part, KeyPart::Header(known) if known == name);
    matches!(name, "host" | "range" | "accept-encoding" | "expect")
        || ["content-", "if-", "digest", "repr-digest"]
            .iter()
            .any(|it| name.starts_with(it))
        || operation.key.iter().any(key)
}

/// The origin's refusal.
fn refused(response: &web_sys::Response, context: Context<'_>) -> worker::Result<Response> {
    let mut pairs = http::travelling(http::pairs(&response.headers()));
    pairs.retain(|(name, _)| name != "cache-control");
    pairs.extend(wire::marks(Told::Refused, context));
    pairs.push(("Cache-Control".to_owned(), "no-store".to_owned()));
    let stream = response.body();
    let body = stream.as_ref().map_or(http::Body::None, http::Body::Stream);
    http::build(response.status(), &pairs, body)
}

/// An answer whose body nobody reads must not hold its connection.
fn drain(response: &web_sys::Response) {
    if let Some(body) = response.body() {
        let _released = body.cancel();
    }
}

/// The origin could not say.
fn unable(why: &str) -> Refusal {
    worker::console_warn!("the origin could not be asked about a caller: {why}");
    let detail = "the origin could not be asked whether these credentials may see the answer";
    Refusal::Problem(Problem {
        retry_after: Some(Span::seconds(5)),
        ..Problem::detailed(Code::GateUnavailable, detail)
    })
}
