//! The states of a record.
//!
//! Owns what each state holds and when it ends by its own time. It never decides a transition
//! (`step` does). The data of a state is in its variant, so that nothing can be asked of a state
//! that it does not have.

use serde::{Deserialize, Serialize};

use super::outcome::{Reason, Verdict};
use super::reply::Reply;
use super::time::Millis;

/// The head of an answer whose body is still coming.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Head {
    /// What it says.
    pub verdict: Verdict,
    /// What can be kept of it, should its body never come to an end.
    pub reply: Reply,
    /// When it came.
    pub at: Millis,
}

/// What is known about an operation.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Done.
    Completed(Settled),
    /// The reply is gone, the key is still remembered.
    Expired {
        /// How it had ended.
        outcome: Outcome,
        /// When the key is forgotten.
        forget_at: Millis,
    },
    /// A final failure: repeats get the same answer.
    FailedReplayable(Settled),
    /// Certainly without effect: the same command may run again.
    FailedRetryable {
        /// When the key is forgotten.
        forget_at: Millis,
    },
    /// Claimed: the command is at the origin or about to be.
    InProgress {
        /// When the outcome counts as unknown.
        lease_until: Millis,
        /// Until when callers wait for the head of the answer.
        answer_until: Millis,
        /// The head, once it has come and its body takes its time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Box<Head>>,
    },
    /// Nobody knows.
    Unknown {
        /// Why.
        reason: Reason,
        /// Until when the attempt's own answer may still come.
        lease_until: Millis,
    },
}

/// A final outcome with its reply.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Settled {
    /// The origin's reply, as far as it is kept.
    pub reply: Reply,
    /// Whether it was put together from what a probe found, and is not the origin's own answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuilt: bool,
    /// When the reply window ends.
    pub reply_until: Millis,
    /// When the key is forgotten.
    pub forget_at: Millis,
}

/// How a settled operation ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With its effect.
    Completed,
    /// Without.
    Failed,
}

impl State {
    /// The name on the wire and in the journal.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed(_) => "completed",
            Self::Expired { .. } => "expired",
            Self::FailedReplayable(_) => "failed_replayable",
            Self::FailedRetryable { .. } => "failed_retryable",
            Self::InProgress { .. } => "in_progress",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// How it ended, in the words of the status route; nothing while it is running.
    #[must_use]
    pub fn outcome(&self) -> Option<&'static str> {
        match self {
            Self::Completed(_)
            | Self::Expired {
                outcome: Outcome::Completed,
                ..
            } => Some("completed"),
            Self::FailedReplayable(_)
            | Self::FailedRetryable { .. }
            | Self::Expired {
                outcome: Outcome::Failed,
                ..
            } => Some("failed"),
            Self::InProgress { .. } => None,
            Self::Unknown { .. } => Some("unknown"),
        }
    }

    /// The tombstone of a settled state; any other stays what it is.
    #[must_use]
    pub fn without_reply(&self) -> Self {
        match self {
            Self::Completed(settled) => Self::Expired {
                outcome: Outcome::Completed,
                forget_at: settled.forget_at,
            },
            Self::FailedReplayable(settled) => Self::Expired {
                outcome: Outcome::Failed,
                forget_at: settled.forget_at,
            },
            Self::Expired { .. }
            | Self::FailedRetryable { .. }
            | Self::InProgress { .. }
            | Self::Unknown { .. } => self.clone(),
        }
    }

    /// When the state ends by its own time; nothing where only evidence can end it.
    #[must_use]
    pub fn ends_at(&self) -> Option<Millis> {
        match self {
            Self::Completed(settled) | Self::FailedReplayable(settled) => {
                Some(settled.reply_until.min(settled.forget_at))
            }
            Self::Expired { forget_at, .. } | Self::FailedRetryable { forget_at } => {
                Some(*forget_at)
            }
            Self::InProgress { lease_until, .. } => Some(*lease_until),
            Self::Unknown { .. } => None,
        }
    }
}
