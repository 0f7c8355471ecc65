//! oncegate: an idempotency gate for HTTP APIs that runs at the edge.

#[cfg(feature = "cli")]
pub mod cli;
pub mod core;
mod shell;
pub use shell::Gate;
