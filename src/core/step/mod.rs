//! The state machine: what an event makes of a record.
//!
//! Owns every transition. [`step`] takes the record by value, with the event and the time, and
//! gives back the record to store and what the shell has to do; it performs nothing. It is correct
//! because it is total (every state meets every event), because what has passed by the record's
//! own times is settled before anything else is looked at, and because nothing but evidence of the
//! latest attempt, or a success of any attempt of this life, makes an unknown outcome known.

mod arrive;
mod settle;

use super::answer::Answer;
use super::command::{Command, Fingerprint, Malformed};
use super::identity::{Digest, Fence, Nonce, RequestId};
use super::outcome::{Reason, Verdict};
use super::policy::Operation;
use super::record::{Outcome, Record, State};
use super::reply::Reply;
use super::time::Millis;

/// Something that happened to one operation.
#[derive(Debug)]
pub enum Event<'a> {
    /// The object's alarm.
    Alarm,
    /// The origin answered an attempt, or its connection broke.
    Answered {
        /// Which attempt it speaks for.
        fence: Fence,
        /// What it says.
        verdict: Verdict,
        /// What came with it, if a head came.
        reply: Option<Reply>,
    },
    /// A client's request, or one that has waited for another.
    Arrived(Arrival<'a>),
    /// Somebody reads the state.
    Looked,
    /// No head of an answer within the operation's time-out.
    TimedOut {
        /// The attempt.
        fence: Fence,
    },
}

/// A request at the object.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The policy of the operation.
    pub operation: &'a Operation,
    /// The request.
    pub request: RequestId,
    /// How it comes.
    pub manner: Manner,
    /// The command, to judge it under an older recipe where the record asks for it.
    pub command: &'a Command<'a>,
    /// The command's fingerprint under the current recipe. A body that is malformed under it may
    /// still be a retry of a record that was claimed under an earlier one.
    pub fingerprint: Result<&'a Fingerprint, &'a Malformed>,
    /// Who it is from.
    pub owner: Digest,
    /// The nonce of a new life, if this request starts one.
    pub nonce: Nonce,
    /// Whether this very instance still has an origin call open for the key.
    pub call_open: bool,
}

/// How a request comes to the object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Manner {
    /// For the first time.
    First,
    /// The front asks once more, because its first call to the object failed.
    SecondTry,
    /// It has waited for an attempt.
    Waited {
        /// The attempt.
        fence: Fence,
        /// Whether its time to wait is over.
        gave_up: bool,
    },
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// The record as it is now.
    pub record: Option<Record>,
    /// Whether the record has to be stored, or the stored one erased.
    pub save: bool,
    /// What to do once it is stored.
    pub reaction: Reaction,
    /// Whether the request is another command than the recorded one, answered all the same.
    pub mismatch: bool,
    /// What the log should say.
    pub notes: Vec<Note>,
}

/// What to do once the record is stored.
#[derive(Debug, PartialEq)]
pub enum Reaction {
    /// Give this answer.
    Answer(Answer),
    /// Pass the origin's own answer on.
    Deliver(super::answer::Told),
    /// Send the command to the origin.
    Forward(Fence),
    /// Nothing.
    Nothing,
    /// Keep the request until the attempt has ended, but no longer than this.
    Wait {
        /// The attempt.
        fence: Fence,
        /// Until when.
        until: Millis,
    },
}

/// Something an operator should be able to read about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Note {
    /// An answer came for a life of the key that is over.
    AnotherLife,
    /// Two attempts contradict each other.
    Disputed,
    /// An attempt ended without a result.
    LeaseLapsed,
    /// The recipe changed its meaning without a new version.
    RecipeChanged,
}

/// Makes of a record and an event the next record and what is to be done.
#[must_use]
pub fn step(record: Option<Record>, event: Event<'_>, now: Millis) -> Step {
    let aged = age(record, now);
    match event {
        Event::Alarm | Event::Looked => aged.react(Reaction::Nothing),
        Event::Answered {
            fence,
            verdict,
            reply,
        } => settle::answered(aged, fence, verdict, reply, now),
        Event::Arrived(arrival) => arrive::arrived(aged, arrival, now),
        Event::TimedOut { fence } => settle::timed_out(aged, fence, now),
    }
}

/// A record whose own times have been looked at, and whether that changed it.
struct Aged {
    record: Option<Record>,
    changed: bool,
    notes: Vec<Note>,
}

impl Aged {
    /// A step that leaves the aged record as it is.
    fn react(self, reaction: Reaction) -> Step {
        Step {
            record: self.record,
            save: self.changed,
            reaction,
            mismatch: false,
            notes: self.notes,
        }
    }

    /// A step to another record, or to none.
    fn become_(self, record: Option<Record>, reaction: Reaction) -> Step {
        Step {
            record,
            save: true,
            reaction,
            mismatch: false,
            notes: self.notes,
        }
    }
}

/// Lets a record become what its own times say it is by now.
fn age(mut record: Option<Record>, now: Millis) -> Aged {
    let mut changed = false;
    let mut notes = Vec::new();
    while let Some(current) = record.take() {
        if !current.state.wake_at().is_some_and(|wake| wake.passed(now)) {
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
    let expired = |forget_at: Millis, outcome| State::Expired { outcome, forget_at };
    let state = match &record.state {
        State::InProgress { lease_until, .. } => {
            notes.push(Note::LeaseLapsed);
            let lease_until = *lease_until;
            match record.late.take() {
                Some(reply) => return Some(settle::late_decides(record, reply, now)),
                None => State::Unknown {
                    reason: Reason::LeaseLapsed,
                    lease_until,
                },
            }
        }
        State::Completed(settled) => expired(settled.forget_at, Outcome::Completed),
        State::FailedReplayable(settled) => expired(settled.forget_at, Outcome::Failed),
        State::Expired { .. } | State::FailedRetryable { .. } => return None,
        State::Unknown { .. } => return Some(record),
    };
    let what = state.name();
    Some(record.moved(state, what, now))
}
