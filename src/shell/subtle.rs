//! The runtime's WebCrypto.
//!
//! Owns the bindings and nothing that uses them. Every call that can throw is caught.

use js_sys::{Array, Object, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `crypto.subtle`.
    pub(super) type Subtle;

    #[wasm_bindgen(method, catch, js_name = importKey)]
    pub(super) fn import_key(
        this: &Subtle,
        format: &str,
        key: &JsValue,
        algorithm: &JsValue,
        extractable: bool,
        usages: &Array,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = deriveKey)]
    pub(super) fn derive_key(
        this: &Subtle,
        algorithm: &Object,
        base: &JsValue,
        derived: &Object,
        extractable: bool,
        usages: &Array,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(super) fn encrypt(
        this: &Subtle,
        algorithm: &Object,
        key: &JsValue,
        text: &Uint8Array,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(super) fn decrypt(
        this: &Subtle,
        algorithm: &Object,
        key: &JsValue,
        text: &Uint8Array,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(super) fn verify(
        this: &Subtle,
        algorithm: &Object,
        key: &JsValue,
        signature: &Uint8Array,
        text: &Uint8Array,
    ) -> Result<Promise, JsValue>;
}

/// The one that the runtime has.
pub(super) fn subtle() -> Result<Subtle, JsValue> {
    let crypto = js_sys::Reflect::get(&js_sys::global(), &"crypto".into())?;
    Ok(js_sys::Reflect::get(&crypto, &"subtle".into())?.unchecked_into())
}
