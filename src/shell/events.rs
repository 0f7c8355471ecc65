//! The delivery of events.
//!
//! Owns the way from the outbox of a record to the queue. It never decides what is told or when it
//! may be forgotten: it sends what waits, in order, and reports how that went. A crash between a
//! delivery and its report makes the same event, with the same id, come twice.

use std::rc::Rc;

use js_sys::JSON;
use js_sys::futures::JsFuture;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;

use super::{gate, js, log};
use crate::core::identity::ObjectName;
use crate::core::outbox::Notice;
use crate::core::step::Event;

/// The queue that takes the events, where the deployment has one.
const QUEUE: &str = "ONCEGATE_EVENTS";

/// Whether anybody listens.
pub(super) fn wanted(env: &Env) -> bool {
    js::binding(env, QUEUE).is_some()
}

/// Delivers what waits, until nothing does or the queue refuses.
pub(super) async fn deliver(object: Rc<gate::Object>) {
    while let Some((slot, operation, notices)) = object.news() {
        let Some(last) = notices.last().map(|notice| (notice.nonce, notice.number)) else {
            break;
        };
        let event = match send(&object, &operation, &notices).await {
            Ok(()) => Event::Delivered {
                nonce: last.0,
                number: last.1,
            },
            Err(error) => {
                let why = format!("the queue has not taken an event: {}", js::said(&error));
                log::warn(&operation, object.name().as_deref(), &why);
                Event::Undelivered
            }
        };
        let refused = matches!(event, Event::Undelivered);
        match object.transact_in(slot, event) {
            Ok(_) if !refused => {}
            Ok(_) => break,
            Err(fault) => {
                log::fault(&fault);
                break;
            }
        }
    }
    object.delivering.set(false);
}

async fn send(object: &gate::Object, operation: &str, notices: &[Notice]) -> Result<(), JsValue> {
    let queue: js::Queue = js::binding(&object.env, QUEUE)
        .ok_or("there is no queue")?
        .unchecked_into();
    let name = object
        .name()
        .and_then(|name| ObjectName::parse(&name))
        .ok_or("no name")?;
    for notice in notices {
        let message = JSON::parse(&notice.document(operation, &name).to_string())?;
        JsFuture::from(queue.send(&message)?).await?;
    }
    Ok(())
}
