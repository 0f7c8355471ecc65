//! What the gate answers, before it is put on the wire.
//!
//! Owns the closed list of answers that a decision can end in. It knows no status, header or
//! preset (`wire` does), so that a decision can be read and tested without them.

use super::code::Code;
use super::reply::Reply;
use super::time::{Millis, Span};

/// The value of `Oncegate-State`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Told {
    /// The status of the first answer, for the sender of a duplicate.
    Acknowledged,
    /// Forwarded without protection.
    Bypassed,
    /// The origin's first answer.
    Executed,
    /// The reply window has passed.
    Expired,
    /// The first request is still running.
    InProgress,
    /// Refused by the gate.
    Refused,
    /// The stored answer.
    Replayed,
    /// Nobody knows the outcome.
    Unknown,
}

/// An answer that the gate makes or gives from the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What tells the sender of a duplicate that it is done, and nothing of the first answer but
    /// its status.
    Acknowledge {
        /// The stored status, or the policy's.
        status: u16,
    },
    /// Come back later: 202, or the status that the policy chose.
    Pending {
        /// [`Code::InProgress`] or [`Code::OutcomeUnknown`].
        code: Code,
        /// When to come back.
        retry_after: Span,
    },
    /// A problem document.
    Problem(Problem),
    /// The stored reply.
    Replay {
        /// What is stored.
        reply: Reply,
        /// When it was recorded.
        recorded: Millis,
        /// [`Told::Executed`] for the request that claimed it, else [`Told::Replayed`].
        told: Told,
    },
}

/// A gate-made error.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Which one.
    pub code: Code,
    /// What `Oncegate-State` says.
    pub told: Told,
    /// The status, where the situation and not the code decides it.
    pub status: Option<u16>,
    /// What happened, for people; the code's own words where nothing more is known.
    pub detail: Option<String>,
    /// When to come back, where coming back can help.
    pub retry_after: Option<Span>,
    /// The status and the location of a reply that is not kept.
    pub original: Option<Original>,
}

/// What is still known of a reply whose body is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Original {
    /// The origin's status.
    pub status: u16,
    /// The origin's `Location`.
    pub location: Option<String>,
}

impl Told {
    /// The value on the wire.
    #[must_use]
    pub fn wire(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged",
            Self::Bypassed => "bypassed",
            Self::Executed => "executed",
            Self::Expired => "expired",
            Self::InProgress => "in-progress",
            Self::Refused => "refused",
            Self::Replayed => "replayed",
            Self::Unknown => "unknown",
        }
    }
}

impl Answer {
    /// Whether it tells what came of somebody's earlier request: not the answer to the request
    /// that started it, and none that says only that the key is taken or the command under way.
    #[must_use]
    pub fn gives_away(&self) -> bool {
        match self {
            Self::Acknowledge { .. } => true,
            Self::Pending { .. } => false,
            Self::Problem(problem) => {
                let told = problem.told == Told::Executed;
                let settled = [Code::Duplicate, Code::KeyExpired, Code::ReplyUnavailable];
                !told && settled.contains(&problem.code)
            }
            Self::Replay { told, .. } => *told != Told::Executed,
        }
    }
}

impl Problem {
    /// A refusal without anything more to say than its code.
    #[must_use]
    pub fn of(code: Code) -> Self {
        Self {
            code,
            told: Told::Refused,
            status: None,
            detail: None,
            retry_after: None,
            original: None,
        }
    }

    /// The same with what happened, in words.
    #[must_use]
    pub fn detailed(code: Code, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..Self::of(code)
        }
    }
}
