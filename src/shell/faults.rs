//! Faults that a request can ask for, in a build for tests only.
//!
//! Owns the switch `test-switches`: without that feature nothing here does anything. The tests use
//! it to show that a panic costs one request and nothing else.

/// The header that asks for a panic, and where.
#[cfg(feature = "test-switches")]
const PANIC: &str = "test-panic";

/// Panics if the request asks for it here.
#[cfg(feature = "test-switches")]
#[expect(clippy::panic, reason = "a panic is what the test is about")]
pub(super) fn strike(headers: &[(String, String)], place: &str) {
    if headers
        .iter()
        .any(|(name, value)| name == PANIC && value == place)
    {
        panic!("a test asked for a panic in the {place}");
    }
}

#[cfg(feature = "test-switches")]
thread_local! {
    /// The chunk whose writing fails next.
    static FAILING: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
}

/// The header that asks for the writing of a chunk to fail, by its number.
#[cfg(feature = "test-switches")]
const FAIL_CHUNK: &str = "test-fail-chunk";

/// Remembers that a chunk shall fail, if the request asks for it.
#[cfg(feature = "test-switches")]
pub(super) fn prepare(headers: &[(String, String)]) {
    let chunk = headers.iter().find(|(name, _)| name == FAIL_CHUNK);
    if let Some(chunk) = chunk.and_then(|(_, value)| value.parse().ok()) {
        FAILING.set(Some(chunk));
    }
}

/// Does nothing in a build that is deployed.
#[cfg(not(feature = "test-switches"))]
pub(super) fn prepare(_headers: &[(String, String)]) {}

/// Fails for the chunk that a test has asked for, once.
#[cfg(feature = "test-switches")]
pub(super) fn write_chunk(number: usize) -> Result<(), wasm_bindgen::JsValue> {
    if FAILING.get() == Some(number) {
        FAILING.set(None);
        return Err("a test asked for this chunk to fail".into());
    }
    Ok(())
}

/// Does nothing in a build that is deployed.
#[cfg(not(feature = "test-switches"))]
#[expect(clippy::unnecessary_wraps, reason = "the test build can fail here")]
pub(super) fn write_chunk(_number: usize) -> Result<(), wasm_bindgen::JsValue> {
    Ok(())
}

/// Does nothing in a build that is deployed.
#[cfg(not(feature = "test-switches"))]
pub(super) fn strike(_headers: &[(String, String)], _place: &str) {}
