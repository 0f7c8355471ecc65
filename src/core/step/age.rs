//! What time alone makes of a record.
//!
//! Owns the ends of leases, reply windows and tombstones. They come by the record's own times,
//! whoever looks first, and whether or not an alarm has run. An unknown outcome has no such end.

use super::super::outcome::Reason;
use super::super::record::{Record, State};
use super::super::time::Millis;
use super::{Aged, Note, Reaction, settle};

/// Lets a record become what its own times say it is by now.
pub(super) fn age(mut record: Option<Record>, now: Millis) -> Aged {
    let mut changed = false;
    let mut notes = Vec::new();
    while let Some(current) = record.take() {
        let ended = current.state.ends_at().is_some_and(|end| end.passed(now));
        if !ended || (current.forgotten(now) && current.has_news()) {
            // Forgotten, but not emptied before the outbox is.
            record = Some(current);
            break;
        }
        changed = true;
        record = pass(current, &mut notes, now);
    }
    Aged {
        record,
        changed,
        notes,
    }
}

/// The state after the one whose time has passed.
fn pass(mut record: Record, notes: &mut Vec<Note>, now: Millis) -> Option<Record> {
    let state = match &mut record.state {
        State::InProgress { head: Some(_), .. } => return head_decides(record, notes, now),
        State::InProgress {
            lease_until,
            head: None,
            ..
        } => {
            notes.push(Note::LeaseLapsed);
            let lease_until = *lease_until;
            match record.late.take() {
                Some(reply) => {
                    notes.push(Note::Disputed);
                    return Some(settle::late_decides(record, reply, now));
                }
                None => State::Unknown {
                    reason: Reason::LeaseLapsed,
                    lease_until,
                },
            }
        }
        settled @ (State::Completed(_) | State::FailedReplayable(_)) => settled.without_reply(),
        State::Expired { .. } | State::FailedRetryable { .. } => return None,
        State::Unknown { .. } => return Some(record),
    };
    let what = state.name();
    Some(record.moved(state, what, now))
}

/// The head of an answer came, its body never ended: the head's outcome, with the reply lost.
fn head_decides(record: Record, notes: &mut Vec<Note>, now: Millis) -> Option<Record> {
    let fence = record.fence();
    let State::InProgress {
        head: Some(head), ..
    } = &record.state
    else {
        return Some(record);
    };
    let (verdict, reply) = (head.verdict, head.reply.clone());
    let aged = Aged {
        record: Some(record),
        changed: true,
        notes: Vec::new(),
    };
    let step = settle::answered(aged, fence, verdict, Some(reply), now);
    debug_assert!(step.reaction != Reaction::Nothing);
    notes.extend(step.notes);
    step.record
}
