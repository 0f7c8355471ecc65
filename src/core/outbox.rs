//! The outbox: what the world outside is told about a record, in order, at least once.
//!
//! Owns the notices that wait for their delivery. They are stored in the record, so that they are
//! committed with the transition they tell of, and none is dropped before the sink has taken it.
//! It never sends anything (`shell::events` does) and holds no body.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::identity::{Nonce, ObjectName};
use super::time::{Millis, Span};

/// When a delivery that a crash may have ended is made again.
const AGAIN: Span = Span::seconds(10);
/// The longest pause between two deliveries.
const LONGEST_PAUSE: Span = Span::seconds(300);

/// The notices of a record that wait.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Outbox {
    /// How many notices this life has made.
    pub made: u32,
    /// Those that are not delivered yet, oldest first.
    pub waiting: Vec<Notice>,
    /// How often the delivery has failed since it last succeeded.
    pub failures: u32,
    /// When the next delivery is due, if none is under way.
    pub due: Option<Millis>,
}

/// One notice.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Notice {
    /// The life it is about.
    pub nonce: Nonce,
    /// Its number within that life, from 1.
    pub number: u32,
    /// What happened.
    pub kind: Kind,
    /// When.
    pub at: Millis,
    /// The latest attempt.
    pub attempt: u32,
    /// The state after it.
    pub state: String,
    /// The origin's status, where there is a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether two attempts contradict each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disputed: bool,
    /// Whether it needs a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
}

/// What a notice tells of.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Done.
    Completed,
    /// The reply window has passed.
    Expired,
    /// Failed.
    Failed,
    /// What was unknown is known.
    Resolved,
    /// Nobody knows.
    Unknown,
}

impl Notice {
    /// The notice as the sink gets it.
    #[must_use]
    pub fn document(&self, operation: &str, name: &ObjectName) -> Value {
        let reference = name.reference(self.nonce);
        let mut document = json!({
            "id": format!("{reference}/{}", self.number),
            "type": self.kind.name(),
            "operation": operation,
            "reference": reference,
            "attempt": self.attempt,
            "state": self.state,
            "at": self.at.rfc3339(),
            "disputed": self.disputed,
            "escalated": self.escalated,
        });
        if let (Some(status), Some(members)) = (self.status, document.as_object_mut()) {
            members.insert("status".to_owned(), status.into());
        }
        document
    }
}

impl Kind {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Failed => "failed",
            Self::Resolved => "resolved",
            Self::Unknown => "unknown",
        }
    }
}

impl Outbox {
    /// Adds a notice; its number and its life make its stable id.
    pub fn add(&mut self, notice: Notice) {
        self.made = notice.number;
        self.due = self.due.or_else(|| Some(notice.at.after(AGAIN)));
        self.waiting.push(notice);
    }

    /// When the alarm has to see to a delivery.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        if self.waiting.is_empty() {
            None
        } else {
            self.due
        }
    }

    /// A delivery begins: should it come to nothing, another one is due later.
    pub fn begun(&mut self, now: Millis) {
        self.due = Some(now.after(AGAIN));
    }

    /// Forgets what was delivered: everything up to this notice.
    pub fn delivered(&mut self, nonce: Nonce, number: u32, now: Millis) {
        let through = |notice: &Notice| notice.nonce == nonce && notice.number == number;
        if let Some(at) = self.waiting.iter().position(through) {
            self.waiting.drain(..=at);
        }
        self.failures = 0;
        self.due = (!self.waiting.is_empty()).then(|| now.after(AGAIN));
    }

    /// Puts the next delivery off, longer with every failure.
    pub fn failed(&mut self, now: Millis) {
        self.failures = self.failures.saturating_add(1);
        let pause = 1_000_u64.saturating_mul(1 << self.failures.min(16));
        self.due = Some(now.after(Span(pause.min(LONGEST_PAUSE.0))));
    }
}
