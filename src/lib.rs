//! oncegate: an idempotency gate for HTTP APIs that runs at the edge.

pub mod core;
mod shell;
pub use shell::Gate;
