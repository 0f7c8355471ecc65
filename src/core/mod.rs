//! What decides: pure functions over values, without I/O, clock, randomness or panic.

pub mod command;
pub mod policy;
pub mod time;
