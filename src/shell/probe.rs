//! Probes: asking the origin what became of a command.
//!
//! Owns sending the question and reading the answer. It never decides what a finding makes of the
//! record, and a probe that fails in any way is a finding that decides nothing. It is safe to ask:
//! the question is a GET, it carries the gate's own credentials and never the client's.

use std::rc::Rc;

use js_sys::Object;
use js_sys::futures::JsFuture;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;

use super::gate;
use super::origin::{self, Call, read_up_to};
use super::waiters::within;
use super::{http, js, log, policy, seal};
use crate::core::admission::{Incoming, placeholder};
use crate::core::command::Command;
use crate::core::envelope;
use crate::core::identity::ObjectName;
use crate::core::policy::{Found, Operation, Recovery};
use crate::core::record::Record;
use crate::core::recovery::{Finding, Kept, Placeholder};
use crate::core::reply::{READ_AHEAD, Read};
use crate::core::step::{Event, ProbeOrder};
use crate::core::wire;

/// The secret that the gate asks with.
const SECRET: &str = "ONCEGATE_PROBE_AUTHORIZATION";

/// What has to be kept of a command, so that the origin can be asked about it later.
pub(super) fn keep(
    env: &Env,
    operation: &Operation,
    request: &envelope::Request,
    command: &Command<'_>,
) -> Vec<Kept> {
    let Recovery::Reconcile(reconcile) = &operation.recovery else {
        return Vec::new();
    };
    let path = request.target.split('?').next().unwrap_or_default();
    let found = policy::valid(env).map(|policy| policy.find(&request.method, path));
    let Some(Found::Operation(_, params)) = found else {
        return Vec::new();
    };
    // A value of the body is the same however the body is compressed.
    let content = command.content().ok();
    let incoming = Incoming {
        headers: &request.headers,
        query: command.query,
        params: &params,
        body: content.as_deref(),
    };
    let value = |it: &Placeholder| {
        let value = placeholder(it, operation, incoming)?;
        Some((it.to_string(), value))
    };
    reconcile.placeholders().filter_map(value).collect()
}

/// Sends a probe and lets its finding happen to the record.
pub(super) async fn run(object: Rc<gate::Object>, record: Record, order: ProbeOrder) {
    let finding = ask(&object, &record, order).await.unwrap_or_else(|why| {
        log::warn(
            &record.operation,
            object.name().as_deref(),
            &format!("a probe failed: {why}"),
        );
        Finding::Inconclusive
    });
    object.end_probe(order.fence.nonce);
    let call_open = object.is_open(order.fence);
    if let Err(fault) = object.transact(Event::Probed {
        order,
        finding,
        call_open,
    }) {
        log::fault(&fault);
    }
    object.wake_waiters(Some(order.fence.nonce));
}

async fn ask(object: &gate::Object, record: &Record, order: ProbeOrder) -> Result<Finding, String> {
    let policy = policy::valid(&object.env).ok_or("there is no valid policy")?;
    let operation = policy
        .operation(&record.operation)
        .ok_or("the operation is gone")?;
    let Recovery::Reconcile(reconcile) = &operation.recovery else {
        return Err("the operation is not asked about any more".to_owned());
    };
    let name = object
        .name()
        .and_then(|name| ObjectName::parse(&name))
        .ok_or("no name")?;
    let reference = name.reference(order.fence.nonce);
    let kept = seal::open_kept(&object.env, &reference, &record.kept).await;
    let target = reconcile
        .target(&reference, &kept)
        .ok_or("a value of its target was not kept with the claim")?;
    let call = Call::new().map_err(|error| js::said(&error))?;
    let init = question(object, order, &reference, &call).map_err(|error| js::said(&error))?;
    let url = JsValue::from(origin::url(&policy.origin, &target));
    let answer = Box::pin(async {
        let promise = origin::dispatch(&object.env, &policy.origin, &url, &init)?;
        let response: web_sys::Response = JsFuture::from(promise).await?.unchecked_into();
        let body = match response.body() {
            Some(body) => read_up_to(&body, READ_AHEAD).await,
            None => Read::Whole(Vec::new()),
        };
        Ok::<_, JsValue>((response.status(), body))
    });
    match within(patience(operation), answer).await {
        Some(Ok((status, Read::Whole(body)))) => {
            let finding = reconcile.read(status, &body, &reference, &kept);
            Ok(kept_finding(object, operation, &reference, finding).await)
        }
        Some(Ok((_, Read::BrokeOff | Read::TooLong))) => Err("its answer broke off".to_owned()),
        Some(Err(error)) => Err(js::said(&error)),
        None => {
            call.end();
            Err("no answer in time".to_owned())
        }
    }
}

/// A finding as it may be kept.
async fn kept_finding(
    object: &gate::Object,
    operation: &Operation,
    reference: &str,
    finding: Finding,
) -> Finding {
    let keep = &operation.keep;
    let finding = match finding {
        Finding::Applied(reply) => Finding::Applied(reply.kept(keep)),
        Finding::Failed(reply) => Finding::Failed(reply.kept(keep)),
        Finding::Inconclusive | Finding::NotApplied | Finding::Pending => finding,
    };
    if !keep.encrypt {
        return finding;
    }
    match finding {
        Finding::Applied(reply) => {
            Finding::Applied(seal::seal_reply(&object.env, reference, reply).await)
        }
        Finding::Failed(reply) => {
            Finding::Failed(seal::seal_reply(&object.env, reference, reply).await)
        }
        Finding::Inconclusive | Finding::NotApplied | Finding::Pending => finding,
    }
}

/// A probe has as long as a command.
fn patience(operation: &Operation) -> crate::core::time::Span {
    operation.origin_timeout
}

fn question(
    object: &gate::Object,
    order: ProbeOrder,
    reference: &str,
    call: &Call,
) -> Result<Object, JsValue> {
    let mut pairs = vec![
        ("Accept".to_owned(), "application/json".to_owned()),
        (wire::REFERENCE.to_owned(), reference.to_owned()),
        (wire::ATTEMPT.to_owned(), order.fence.attempt.to_string()),
    ];
    let secret = js::binding(&object.env, SECRET).and_then(|secret| secret.as_string());
    pairs.extend(secret.map(|secret| ("Authorization".to_owned(), secret)));
    let init = Object::new();
    js::set(&init, "method", "GET")?;
    js::set(&init, "headers", http::headers(&pairs)?)?;
    js::set(&init, "redirect", "manual")?;
    js::set(&init, "cache", "no-store")?;
    js::set(&init, "signal", call.signal())?;
    Ok(init)
}
