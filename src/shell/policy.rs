//! The policy of this deployment.
//!
//! Owns reading the variables of the Worker, once in the life of an isolate: they can not change
//! within it. It never judges them (`core::policy` does), and logs every fault that it found.

use std::cell::OnceCell;

use js_sys::{JSON, Object};
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;

use crate::core::policy::parse::{Loaded, is_variable, parse};
use crate::core::policy::{Operation, Policy};

thread_local! {
    static LOADED: OnceCell<&'static Loaded> = const { OnceCell::new() };
}

/// The policy, valid or not.
pub(super) fn loaded(env: &Env) -> &'static Loaded {
    LOADED.with(|cell| *cell.get_or_init(|| Box::leak(Box::new(read(env)))))
}

/// The policy, if it is valid.
pub(super) fn valid(env: &Env) -> Option<&'static Policy> {
    match loaded(env) {
        Loaded::Valid(policy) => Some(policy),
        Loaded::Invalid { .. } => None,
    }
}

/// An operation of a valid policy.
pub(super) fn operation(env: &Env, name: &str) -> Option<&'static Operation> {
    valid(env)?.operation(name)
}

fn read(env: &Env) -> Loaded {
    let object: &Object = env.unchecked_ref();
    let mut names: Vec<String> = Object::keys(object)
        .iter()
        .filter_map(|it| it.as_string())
        .collect();
    names.sort();
    let globals = value(object, "ONCEGATE");
    let operations = names
        .into_iter()
        .filter(|name| is_variable(name) && name != "ONCEGATE")
        // What is no JSON is no table either: it must close its routes, not leave them open.
        .map(|name| {
            let value = value(object, &name).unwrap_or_default();
            (name, value)
        })
        .collect();
    let loaded = parse(globals, operations);
    if let Loaded::Invalid { errors, .. } = &loaded {
        for error in errors {
            worker::console_error!("invalid policy: {error}");
        }
    }
    loaded
}

/// A variable as JSON; nothing if it is none.
fn value(env: &Object, name: &str) -> Option<Value> {
    let value: JsValue = js_sys::Reflect::get(env, &name.into()).ok()?;
    let text = JSON::stringify(&value).ok()?.as_string()?;
    serde_json::from_str(&text).ok()
}
