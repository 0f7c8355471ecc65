//! What decides: pure functions over values, without I/O, clock, randomness or panic.

#![forbid(unsafe_code)]
#![deny(clippy::arithmetic_side_effects)]

pub mod admission;
pub mod answer;
pub mod code;
pub mod command;
pub mod cors;
pub mod discovery;
pub mod envelope;
pub mod head;
pub mod identity;
pub mod jwt;
pub mod key;
pub mod keys;
pub mod outbox;
pub mod outcome;
pub mod pages;
pub mod parts;
pub mod policy;
pub mod principal;
pub mod record;
pub mod recovery;
pub mod reply;
pub mod state;
pub mod step;
pub mod stored;
pub mod time;
pub mod wire;
