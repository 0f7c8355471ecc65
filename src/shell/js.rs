//! The few calls of the runtime that the `worker` crate does not bind, or binds unsafely.
//!
//! Owns the bindings and nothing that uses them. Every call that can throw is caught here, so that
//! no exception can pass through the module and leave a request unanswered.

use js_sys::{Object, Promise};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A Durable Object's storage.
    #[derive(Clone)]
    pub(super) type Storage;

    /// The synchronous key-value interface of a storage: its calls belong to the stretch of code
    /// they are made in, and are committed with it.
    #[wasm_bindgen(method, getter, catch)]
    pub(super) fn kv(this: &Storage) -> Result<SyncKv, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    pub(super) fn set_alarm(this: &Storage, at: f64) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = deleteAll)]
    pub(super) fn delete_all(this: &Storage) -> Result<Promise, JsValue>;

    /// The synchronous key-value interface.
    #[derive(Clone)]
    pub(super) type SyncKv;

    #[wasm_bindgen(method, catch)]
    pub(super) fn get(this: &SyncKv, key: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(super) fn put(this: &SyncKv, key: &str, value: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(super) fn delete(this: &SyncKv, key: &str) -> Result<bool, JsValue>;

    /// Something that answers HTTP requests: a service binding or a Durable Object.
    pub(super) type Fetcher;

    #[wasm_bindgen(method, catch, js_name = fetch)]
    pub(super) fn call(
        this: &Fetcher,
        request: &JsValue,
        init: &Object,
    ) -> Result<Promise, JsValue>;

    /// The objects of a class.
    pub(super) type Namespace;

    #[wasm_bindgen(method, catch)]
    pub(super) fn jurisdiction(this: &Namespace, name: &str) -> Result<JsValue, JsValue>;

    /// A queue, as its producers see it.
    pub(super) type Queue;

    #[wasm_bindgen(method, catch)]
    pub(super) fn send(this: &Queue, message: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_name = fetch)]
    pub(super) fn fetch(request: &JsValue, init: &Object) -> Result<Promise, JsValue>;
}

/// Sets a property of an options object; a failure to do so is a failure of the call.
pub(super) fn set(object: &Object, name: &str, value: impl Into<JsValue>) -> Result<(), JsValue> {
    js_sys::Reflect::set(object, &name.into(), &value.into()).map(drop)
}

/// Whether an exception carries a flag, as the runtime's own exceptions do.
pub(super) fn flagged(error: &JsValue, flag: &str) -> bool {
    js_sys::Reflect::get(error, &flag.into()).is_ok_and(|value| value.is_truthy())
}

/// A binding or a variable of the Worker, if it has it.
pub(super) fn binding(env: &worker::Env, name: &str) -> Option<JsValue> {
    let value = js_sys::Reflect::get(env, &name.into()).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}

/// What an exception says, in one line.
pub(super) fn said(error: &JsValue) -> String {
    let message = js_sys::Reflect::get(error, &"message".into()).ok();
    let text = message
        .and_then(|it| it.as_string())
        .or_else(|| error.as_string());
    text.unwrap_or_else(|| "no reason given".to_owned())
        .replace(['\r', '\n'], " ")
}
