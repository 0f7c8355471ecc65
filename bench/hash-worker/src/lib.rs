//! The command hash as the gate computes it, callable from a measuring Worker.
//!
//! Owns the two entries below and nothing else: what is measured is the core's own code, with the
//! default recipe. A body is copied into the wasm memory with every call, as it is in the gate.

use oncegate::core::command::{Command, Recipe};
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};

/// A class, because that is what the build keeps of the exports that are no handlers.
#[wasm_bindgen]
pub struct CommandHash;

#[wasm_bindgen]
impl CommandHash {
    /// The digest of a command with this JSON body.
    ///
    /// # Errors
    /// If the body is malformed.
    pub fn fingerprint(body: &[u8]) -> Result<Vec<u8>, JsError> {
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        let command = Command {
            operation: "create_payment",
            method: "POST",
            path: "/v1/payments",
            query: None,
            headers: &headers,
            body,
            max_decoded: body.len(),
        };
        let fingerprint = Recipe::default().fingerprint(&command);
        fingerprint
            .map(|found| found.digest.to_vec())
            .map_err(|fault| JsError::new(&fault.detail))
    }

    /// The memory of the wasm instance.
    #[must_use]
    pub fn memory() -> JsValue {
        wasm_bindgen::memory()
    }
}
