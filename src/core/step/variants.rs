//! Several commands under one key.
//!
//! Owns the choice of the record that a request is about, where the policy keeps one for every
//! command (`on_mismatch = "separate"`), or did so when they were made: no deploy makes a record
//! disappear. It reads records and changes none. Each record is compared
//! under its own recipe, so that a deploy cannot split one operation in two: a request that cannot
//! be told apart from a record whose recipe is gone is refused, and never taken for a new command.

use super::super::command::Basis;
use super::super::policy::OnMismatch;
use super::super::record::{Record, State};
use super::super::time::Millis;
use super::Arrival;

/// How many records one key may have at a time.
pub const MOST_RECORDS: usize = 100;

/// Which record a request is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// The one in this slot, or a new one there.
    Slot(usize),
    /// None: there are too many, or it cannot be told whether it is one of them.
    Refused,
}

/// Chooses among the records of an object; a slot without one is free.
#[must_use]
pub fn choose(records: &[Option<Record>], arrival: Arrival<'_>, now: Millis) -> Choice {
    let separate = arrival.operation.on_mismatch == OnMismatch::Separate;
    let mut free = None;
    let (mut live, mut ended) = (None, None);
    let mut doubtful = false;
    for (slot, record) in records.iter().enumerate() {
        let Some(record) = record.as_ref().filter(|record| !is_over(record, now)) else {
            free = free.or(Some(slot));
            continue;
        };
        let recipe = &arrival.operation.recipe;
        let judgement = match arrival.fingerprint {
            Ok(fingerprint) => record
                .fingerprint
                .judge(recipe, fingerprint, arrival.command),
            Err(_) => record.fingerprint.judge_malformed(recipe, arrival.command),
        };
        if judgement.is_same() {
            return Choice::Slot(slot);
        }
        match record.state {
            State::Expired { .. } | State::FailedRetryable { .. } => ended = ended.or(Some(slot)),
            State::Completed(_)
            | State::FailedReplayable(_)
            | State::InProgress { .. }
            | State::Unknown { .. } => live = live.or(Some(slot)),
        }
        doubtful |= judgement.basis == Basis::Raw;
    }
    if !separate && let Some(slot) = live.or(ended) {
        // The policy keeps one command for a key now: this is another one, whatever slot that is
        // in. A tombstone, which may be run over, speaks only where nothing else does.
        return Choice::Slot(slot);
    }
    let next = (records.len() < MOST_RECORDS).then_some(records.len());
    match free.or(next) {
        // A malformed body starts nothing anywhere, and is told so by whoever would start it.
        Some(slot) if !doubtful || arrival.fingerprint.is_err() => Choice::Slot(slot),
        Some(_) | None => Choice::Refused,
    }
}

/// Whether the key has forgotten this command by now.
fn is_over(record: &Record, now: Millis) -> bool {
    match &record.state {
        State::Completed(settled) | State::FailedReplayable(settled) => {
            settled.forget_at.passed(now)
        }
        State::Expired { .. }
        | State::FailedRetryable { .. }
        | State::InProgress { .. }
        | State::Unknown { .. } => record.forgotten(now),
    }
}
