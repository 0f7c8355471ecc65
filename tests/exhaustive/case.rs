//! One case: a record, an event, a policy and a time.

use std::fmt;

use oncegate::core::identity::{Nonce, RequestId};
use oncegate::core::policy::Operation;
use oncegate::core::record::Record;
use oncegate::core::step::{Event, Moment, Step, step};
use oncegate::core::time::Millis;

use crate::common::prepared::{Coming, Prepared};
use crate::common::{OTHER, SAME};
use crate::events::{Content, What};
use crate::policies;
use crate::states::Seed;

/// The nonce that a new life would take.
pub(crate) const FRESH: Nonce = Nonce(0xf00d);
/// A request that no record knows.
pub(crate) const STRANGER: RequestId = RequestId(0x5717);

pub(crate) struct Case<'a> {
    pub(crate) seed: &'a Seed,
    /// The record as its own times have made it by now.
    pub(crate) aged: Option<&'a Record>,
    pub(crate) operation: Option<&'static Operation>,
    pub(crate) what: &'a What,
    pub(crate) now: Millis,
    pub(crate) commands: &'a Commands,
}

/// The three commands, which all policies here judge alike.
pub(crate) struct Commands {
    same: Prepared,
    other: Prepared,
    malformed: Prepared,
}

impl Commands {
    pub(crate) fn new() -> Self {
        let operation = policies::reconcile();
        Self {
            same: Prepared::new(operation, SAME),
            other: Prepared::new(operation, OTHER),
            malformed: Prepared::new(operation, b"{\"amount\":"),
        }
    }

    fn get(&self, content: Content) -> &Prepared {
        match content {
            Content::Same => &self.same,
            Content::Other => &self.other,
            Content::Malformed => &self.malformed,
        }
    }
}

impl Case<'_> {
    pub(crate) fn step(&self) -> Step {
        let moment = Moment {
            now: self.now,
            operation: self.operation,
            draw: 0,
        };
        step(self.seed.record.clone(), self.event(), moment)
    }

    fn event(&self) -> Event<'_> {
        match self.what {
            What::Alarm => Event::Alarm,
            What::Answered {
                fence,
                verdict,
                reply,
            } => Event::Answered {
                fence: *fence,
                verdict: *verdict,
                reply: reply.clone(),
            },
            What::Arrived {
                manner,
                claimant,
                content,
                call_open,
                probe_open,
            } => {
                let claimed_by = self.seed.record.as_ref().map(|it| it.claimed_by);
                let coming = Coming {
                    request: claimed_by.filter(|_| *claimant).unwrap_or(STRANGER),
                    manner: *manner,
                    nonce: FRESH,
                    call_open: *call_open,
                    probe_open: *probe_open,
                    events: *call_open,
                };
                let command = self.commands.get(*content);
                Event::Arrived(command.arrival(self.operation.unwrap(), coming))
            }
            What::Delivered { nonce, number } => Event::Delivered {
                nonce: *nonce,
                number: *number,
            },
            What::Looked => Event::Looked,
            What::Probed {
                order,
                finding,
                call_open,
            } => Event::Probed {
                order: *order,
                finding: finding.clone(),
                call_open: *call_open,
            },
            What::Purged { nonce } => Event::Purged {
                nonce: *nonce,
                reason: "a person asked for it",
            },
            What::Reading { fence, head } => Event::Reading {
                fence: *fence,
                head: head.clone(),
            },
            What::TimedOut { fence } => Event::TimedOut { fence: *fence },
            What::Undelivered => Event::Undelivered,
        }
    }

    /// The record that the key is bound to by now: none once it is forgotten.
    pub(crate) fn known(&self) -> Option<&Record> {
        self.aged.filter(|record| !record.forgotten(self.now))
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} at {:?}", self.seed.name, self.now)?;
        writeln!(f, "event: {:?}", self.what)?;
        match self.operation {
            None => writeln!(f, "policy: none")?,
            Some(it) => writeln!(
                f,
                "policy: {:?} {:?} {:?} {:?} {:?}",
                it.on_repeat, it.on_mismatch, it.while_running, it.recovery, it.after_expiry
            )?,
        }
        write!(f, "record: {:#?}", self.seed.record)
    }
}

/// What the record's own times make of it: nobody has a policy, nobody asks anything.
pub(crate) fn aged(record: Option<&Record>, now: Millis) -> Option<Record> {
    let moment = Moment {
        now,
        operation: None,
        draw: 0,
    };
    step(record.cloned(), Event::Looked, moment).record
}

/// A record after a way through the storage.
pub(crate) fn stored_and_read(record: &Record) -> Record {
    Record::decode(&record.encode().unwrap(), |_| None).unwrap()
}
