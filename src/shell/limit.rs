//! The limit on new keys.
//!
//! Owns the question to the runtime's rate limiter, by its binding. It never decides which key is
//! new. It fails closed: a limit that the policy wants and nobody can look at allows nothing.

use js_sys::Object;
use js_sys::futures::JsFuture;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::js;

const BINDING: &str = "ONCEGATE_LIMIT";

#[wasm_bindgen]
extern "C" {
    type Limiter;

    #[wasm_bindgen(method, catch)]
    fn limit(this: &Limiter, options: &Object) -> Result<js_sys::Promise, JsValue>;
}

/// Counts one more new key of somebody; false if it is one too many.
pub(super) async fn allows(env: &Env, whom: &str) -> Result<bool, JsValue> {
    let limiter = js::binding(env, BINDING).ok_or("the binding ONCEGATE_LIMIT is missing")?;
    let options = Object::new();
    js::set(&options, "key", whom)?;
    let counted = limiter.unchecked_into::<Limiter>().limit(&options)?;
    Ok(js::flagged(&JsFuture::from(counted).await?, "success"))
}
