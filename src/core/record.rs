//! The record of one operation: everything the gate knows about a key.
//!
//! Owns the life of a key around its state (`state`), and the journal. It never decides a transition (`step` does), knows
//! no stored form (`stored` does) and never touches storage (`shell::store` does). A transition
//! writes its line in the journal and its notice in the outbox by itself, so that none is
//! forgotten.

use serde::{Deserialize, Serialize};

use super::command::Fingerprint;
use super::identity::{Digest, Fence, Nonce, RequestId};
use super::outbox::{Kind, Notice, Outbox};
use super::policy::{Keep, OnRepeat, Operation};
use super::recovery::Kept;
use super::reply::{Body, Reply};
pub use super::state::{Head, Outcome, Settled, State};
use super::time::{Millis, Span};

/// How many transitions the journal remembers.
const JOURNAL_LENGTH: usize = 50;

/// One life of a key.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Record {
    /// The operation, by its policy name.
    pub operation: String,
    /// Which life of the key this is.
    pub nonce: Nonce,
    /// The latest attempt, from 1.
    pub attempt: u32,
    /// The client request that claimed this attempt.
    pub claimed_by: RequestId,
    /// Who may look at it.
    pub owner: Digest,
    /// The command that the key is bound to.
    pub fingerprint: Fingerprint,
    /// How long what comes of it is kept, so that no policy is needed to end it.
    pub lifetimes: Lifetimes,
    /// Whether an attempt before the latest may still have had an effect.
    pub unresolved: bool,
    /// Whether two attempts contradict each other.
    pub disputed: bool,
    /// Whether it has been unknown for so long that it needs a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
    /// What was kept of the command for the probe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
    /// When the origin is asked next, where it can be asked and there is something to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// What is still to be told outside, where anybody listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbox: Option<Outbox>,
    /// The success of an earlier attempt that came during the latest: it decides if that fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Reply>,
    /// What is known.
    pub state: State,
    /// Since when.
    pub since: Millis,
    /// The latest transitions, oldest first.
    pub journal: Vec<Entry>,
}

/// How long a settled operation is kept, from when it settles.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Lifetimes {
    /// The reply window.
    pub reply: Span,
    /// The memory of the key.
    pub tombstone: Span,
}

/// When the origin is asked what became of a command.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Plan {
    /// How many probes were sent.
    pub sent: u32,
    /// When the next one is due; never, once a receipt was asked for often enough.
    pub next: Option<Millis>,
    /// When a person is needed, if it is not settled before.
    pub escalate_at: Millis,
}

/// One transition.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Entry {
    /// When.
    pub at: Millis,
    /// During which attempt.
    pub attempt: u32,
    /// What happened, in a word.
    pub what: String,
}

impl Lifetimes {
    /// The lifetimes of an operation. A minimal guard keeps nothing to replay, so that its reply
    /// window is its memory.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        let Keep {
            for_, tombstone, ..
        } = operation.keep;
        let reply = match operation.on_repeat {
            OnRepeat::Replay => for_,
            OnRepeat::Acknowledge | OnRepeat::Refuse => tombstone,
        };
        Self { reply, tombstone }
    }

    /// A reply that settles now.
    #[must_use]
    pub fn settle(self, reply: Reply, now: Millis) -> Settled {
        Settled {
            reply,
            rebuilt: false,
            reply_until: now.after(self.reply),
            forget_at: now.after(self.tombstone),
        }
    }
}

impl Record {
    /// What an answer must match to speak for the latest attempt.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence {
            nonce: self.nonce,
            attempt: self.attempt,
        }
    }

    /// The record after a transition, with its line in the journal and its notice in the outbox.
    #[must_use]
    pub fn moved(mut self, state: State, what: &str, now: Millis) -> Self {
        let kind = match (&self.state, &state) {
            (_, State::InProgress { .. }) => None,
            (_, State::Expired { .. }) => Some(Kind::Expired),
            (_, State::Unknown { .. }) => Some(Kind::Unknown),
            (State::Unknown { .. }, _) => Some(Kind::Resolved),
            (_, State::Completed(_)) => Some(Kind::Completed),
            (_, State::FailedReplayable(_) | State::FailedRetryable { .. }) => Some(Kind::Failed),
        };
        self.state = state;
        self.since = now;
        self.plan = None;
        self.escalated = false;
        if let Some(kind) = kind {
            self.tell(kind, now);
        }
        self.noted(what, now)
    }

    /// Puts a notice of the present state into the outbox, where anybody listens.
    pub fn tell(&mut self, kind: Kind, now: Millis) {
        let status = match &self.state {
            State::Completed(settled) | State::FailedReplayable(settled) => {
                Some(settled.reply.status)
            }
            State::Expired { .. }
            | State::FailedRetryable { .. }
            | State::InProgress { .. }
            | State::Unknown { .. } => None,
        };
        let state = self.state.name().to_owned();
        let (nonce, attempt) = (self.nonce, self.attempt);
        let (disputed, escalated) = (self.disputed, self.escalated);
        if let Some(outbox) = &mut self.outbox {
            let number = outbox.made.saturating_add(1);
            let at = now;
            outbox.add(Notice {
                nonce,
                number,
                kind,
                at,
                attempt,
                state,
                status,
                disputed,
                escalated,
            });
        }
    }

    /// Whether a delivery has to begin, or to begin again.
    #[must_use]
    pub fn delivery_due(&self, now: Millis) -> bool {
        let due = self.outbox.as_ref().and_then(Outbox::due);
        due.is_some_and(|due| due.passed(now))
    }

    /// Whether something is still to be told outside.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.outbox
            .as_ref()
            .is_some_and(|outbox| !outbox.waiting.is_empty())
    }

    /// Whether the key is forgotten, and the record is here for its outbox alone.
    #[must_use]
    pub fn forgotten(&self, now: Millis) -> bool {
        match self.state {
            State::Expired { forget_at, .. } | State::FailedRetryable { forget_at } => {
                forget_at.passed(now)
            }
            State::Completed(_)
            | State::FailedReplayable(_)
            | State::InProgress { .. }
            | State::Unknown { .. } => false,
        }
    }

    /// Whether there is something that a probe could find out.
    #[must_use]
    pub fn questionable(&self) -> bool {
        match &self.state {
            State::Unknown { .. } => true,
            State::Completed(settled) => settled.reply.body == Body::Lost,
            State::Expired { .. }
            | State::FailedReplayable(_)
            | State::FailedRetryable { .. }
            | State::InProgress { .. } => false,
        }
    }

    /// When the object has to look at it again; nothing where only evidence can move it. Without
    /// its policy nothing comes of its plan.
    #[must_use]
    pub fn wake_at(&self, now: Millis, planned: bool) -> Option<Millis> {
        let plan = self.plan.filter(|_| planned);
        let state = self.state.ends_at().filter(|_| !self.forgotten(now));
        let probe = plan.and_then(|plan| plan.next);
        let unknown = matches!(self.state, State::Unknown { .. });
        let escalation = plan
            .filter(|_| unknown && !self.escalated)
            .map(|plan| plan.escalate_at);
        let delivery = self.outbox.as_ref().and_then(Outbox::due);
        [state, probe, escalation, delivery]
            .into_iter()
            .flatten()
            .min()
    }

    /// The journal after something that changed no state.
    #[must_use]
    pub fn noted(mut self, what: &str, now: Millis) -> Self {
        let surplus = self
            .journal
            .len()
            .saturating_sub(JOURNAL_LENGTH.saturating_sub(1));
        self.journal.drain(..surplus);
        self.journal.push(Entry {
            at: now,
            attempt: self.attempt,
            what: what.to_owned(),
        });
        self
    }

    /// Forgets headers and bodies of what is kept; the statuses stay.
    pub fn forget_replies(&mut self) {
        for reply in self.replies_mut() {
            reply.headers = Vec::new();
            reply.body = Body::NotKept;
            reply.seal = None;
        }
    }

    /// The replies that are kept, in the order of the stored form.
    pub(super) fn replies(&self) -> impl Iterator<Item = &Reply> {
        let settled = match &self.state {
            State::Completed(settled) | State::FailedReplayable(settled) => Some(&settled.reply),
            State::Expired { .. }
            | State::FailedRetryable { .. }
            | State::InProgress { .. }
            | State::Unknown { .. } => None,
        };
        settled.into_iter().chain(&self.late)
    }

    /// The same, to put their bodies in or out.
    pub(super) fn replies_mut(&mut self) -> impl Iterator<Item = &mut Reply> {
        let settled = match &mut self.state {
            State::Completed(settled) | State::FailedReplayable(settled) => {
                Some(&mut settled.reply)
            }
            State::Expired { .. }
            | State::FailedRetryable { .. }
            | State::InProgress { .. }
            | State::Unknown { .. } => None,
        };
        settled.into_iter().chain(&mut self.late)
    }
}
