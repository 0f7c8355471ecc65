//! What performs: the Worker around the core.
//!
//! Owns every call of the platform. It never decides: each module loads, asks the core, and does
//! what it is told.

mod admin;
mod admit;
mod attempt;
mod authorize;
mod dress;
mod events;
mod faults;
mod front;
mod gate;
mod http;
mod inspect;
mod js;
mod limit;
mod log;
mod origin;
mod pass;
mod policy;
mod principal;
mod probe;
mod records;
mod seal;
mod store;
mod subtle;
mod waiters;
mod well_known;

pub use gate::Gate;

use worker::{Context, Env, Request, Response, event};

use crate::core::time::Millis;

/// Answers a request of a client.
#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    set_up();
    front::handle(request, &env).await
}

/// Has panics say where they come from; more than the first call does nothing.
fn set_up() {
    console_error_panic_hook::set_once();
}

/// The time, by the clock of the machine that asks.
fn clock() -> Millis {
    let now = js_sys::Date::now();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a clock past 1970 and before the year 285428"
    )]
    Millis(now as u64)
}

/// 64 random bits.
fn random() -> worker::Result<u64> {
    getrandom::u64().map_err(|error| worker::Error::RustError(error.to_string()))
}
