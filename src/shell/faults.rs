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

/// Does nothing in a build that is deployed.
#[cfg(not(feature = "test-switches"))]
pub(super) fn strike(_headers: &[(String, String)], _place: &str) {}
