//! The state machine: what an event makes of a record.
//!
//! Owns every transition. [`step`] takes the record by value, with the event and the time, and
//! gives back the record to store and what the shell has to do; it performs nothing. It is correct
//! because it is total (every state meets every event), because what has passed by the record's
//! own times is settled before anything else is looked at, and because nothing but evidence of the
//! latest attempt, a success of any attempt of this life, or a probe's verdict makes an unknown
//! outcome known.

mod age;
mod arrive;
mod probe;
mod settle;
mod tell;
mod variants;

pub use variants::{Choice, MOST_RECORDS, choose};

use super::answer::Answer;
use super::command::{Command, Fingerprint, Malformed};
use super::identity::{Digest, Fence, Nonce, RequestId};
use super::outbox::Outbox;
use super::outcome::Verdict;
use super::policy::Operation;
use super::record::{Head, Record};
use super::recovery::{Finding, Kept};
use super::reply::Reply;
use super::time::{Millis, Span};

/// How soon an object looks again at a record whose policy it does not know.
const WITHOUT_POLICY: Span = Span::seconds(3_600);

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
    /// The sink has taken the notices up to this one.
    Delivered {
        /// The life that it is about.
        nonce: Nonce,
        /// Its number.
        number: u32,
    },
    /// Somebody reads the state.
    Looked,
    /// A probe came back.
    Probed {
        /// The attempt that it was sent for.
        order: ProbeOrder,
        /// What it found.
        finding: Finding,
        /// Whether this very instance still has the call of that attempt open.
        call_open: bool,
    },
    /// An operator has what is kept of a settled reply forgotten.
    Purged {
        /// The life.
        nonce: Nonce,
        /// Why.
        reason: &'a str,
    },
    /// The head of an answer came, and its body takes its time: this instance still reads it.
    Reading {
        /// The attempt.
        fence: Fence,
        /// The head.
        head: Head,
    },
    /// No head of an answer within the operation's time-out.
    TimedOut {
        /// The attempt.
        fence: Fence,
    },
    /// The sink has not taken the notices.
    Undelivered,
}

impl Event<'_> {
    /// The life that it is about, where it names one.
    #[must_use]
    pub fn life(&self) -> Option<Nonce> {
        match self {
            Event::Answered { fence, .. }
            | Event::Reading { fence, .. }
            | Event::TimedOut { fence }
            | Event::Arrived(Arrival {
                manner: Manner::Waited { fence, .. },
                ..
            }) => Some(fence.nonce),
            Event::Probed { order, .. } => Some(order.fence.nonce),
            Event::Purged { nonce, .. } => Some(*nonce),
            Event::Alarm
            | Event::Arrived(_)
            | Event::Delivered { .. }
            | Event::Looked
            | Event::Undelivered => None,
        }
    }
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
    /// What to keep of the command for the probe.
    pub kept: &'a [Kept],
    /// Who it is from.
    pub owner: Digest,
    /// The nonce of a new life, if this request starts one.
    pub nonce: Nonce,
    /// Whether this very instance still has an origin call open for the key.
    pub call_open: bool,
    /// Whether this very instance has a probe under way.
    pub probe_open: bool,
    /// Whether anybody listens to the events of this deployment.
    pub events: bool,
    /// Whether what the policy wants encrypted can be encrypted.
    pub secret: bool,
    /// Whether a new key has still to be counted before it may be claimed.
    pub uncounted: bool,
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

/// The moment at which something happens.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The time.
    pub now: Millis,
    /// The policy of the record's operation, where the object knows it.
    pub operation: Option<&'a Operation>,
    /// Random bits, to spread what should not happen everywhere at once.
    pub draw: u64,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// The record as it is now.
    pub record: Option<Record>,
    /// Whether the record has to be stored, or the stored one erased.
    pub save: bool,
    /// When the object has to look at the record again.
    pub wake: Option<Millis>,
    /// What to do for whoever asked, once it is stored.
    pub reaction: Reaction,
    /// The question to put to the origin, once it is stored.
    pub probe: Option<ProbeOrder>,
    /// Whether to deliver what waits in the outbox, once it is stored.
    pub deliver: bool,
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
    /// Count a new key of the principal; if it may have one more, the request arrives again.
    Count,
    /// Pass the origin's own answer on.
    Deliver(super::answer::Told),
    /// Send the command to the origin.
    Forward(Fence),
    /// Nothing.
    Nothing,
    /// Keep the request until the record changes, but no longer than this.
    Wait {
        /// The attempt.
        fence: Fence,
        /// Until when.
        until: Millis,
    },
}

/// A question to the origin, and what its answer will have to match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProbeOrder {
    /// The attempt that it is about.
    pub fence: Fence,
    /// Since when the record has been in its state.
    pub since: Millis,
    /// When it is sent.
    pub sent: Millis,
}

/// Something an operator should be able to read about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Note {
    /// An answer came for a life of the key that is over.
    AnotherLife,
    /// Two attempts contradict each other.
    Disputed,
    /// The outcome has been unknown for so long that it needs a person.
    Escalated,
    /// An attempt ended without a result.
    LeaseLapsed,
    /// The recipe changed its meaning without a new version.
    RecipeChanged,
}

/// Makes of a record and an event the next record and what is to be done.
#[must_use]
pub fn step(record: Option<Record>, event: Event<'_>, moment: Moment<'_>) -> Step {
    let now = moment.now;
    let due = record
        .as_ref()
        .is_some_and(|record| record.delivery_due(now));
    let refused = matches!(event, Event::Undelivered);
    let aged = age::age(record, now);
    let asks = matches!(
        event,
        Event::Alarm
            | Event::Arrived(Arrival {
                manner: Manner::First | Manner::SecondTry,
                ..
            })
    );
    let probe_open = matches!(
        event,
        Event::Arrived(Arrival {
            probe_open: true,
            ..
        })
    );
    let step = match event {
        Event::Alarm => aged.alarm(now),
        Event::Looked => aged.react(Reaction::Nothing),
        Event::Answered {
            fence,
            verdict,
            reply,
        } => settle::answered(aged, fence, verdict, reply, now),
        Event::Arrived(arrival) => arrive::arrived(aged, arrival, now),
        Event::Delivered { nonce, number } => {
            aged.outbox(now, |outbox| outbox.delivered(nonce, number, now))
        }
        Event::Probed {
            order,
            finding,
            call_open,
        } => probe::probed(aged, order, finding, call_open, moment),
        Event::Purged { nonce, reason } => settle::purged(aged, nonce, reason, now),
        Event::Reading { fence, head } => settle::reading(aged, fence, head, moment),
        Event::TimedOut { fence } => settle::timed_out(aged, fence, now),
        Event::Undelivered => aged.outbox(now, |outbox| outbox.failed(now)),
    };
    let mut step = probe::plan(step, moment, asks && !probe_open).wake(moment);
    // At once, unless the sink has refused and its pause goes on.
    let outbox = step
        .record
        .as_ref()
        .and_then(|record| record.outbox.as_ref());
    step.deliver =
        !refused && outbox.is_some_and(|it| !it.waiting.is_empty() && (it.failures == 0 || due));
    step
}

/// A record whose own times have been looked at, and whether that changed it.
struct Aged {
    record: Option<Record>,
    changed: bool,
    notes: Vec<Note>,
}

impl Aged {
    /// A step that leaves the aged record as it is.
    fn react(mut self, reaction: Reaction) -> Step {
        let (record, save) = (self.record.take(), self.changed);
        Step {
            save,
            ..self.become_(record, reaction)
        }
    }

    /// A step to another record, or to none. What is still to be told outside outlives the record
    /// that it is about.
    fn become_(self, record: Option<Record>, reaction: Reaction) -> Step {
        Step {
            record,
            save: true,
            wake: None,
            reaction,
            probe: None,
            deliver: false,
            mismatch: false,
            notes: self.notes,
        }
    }

    /// The alarm: a delivery that is due begins now, and its net is put out anew.
    fn alarm(self, now: Millis) -> Step {
        if self
            .record
            .as_ref()
            .is_some_and(|record| record.delivery_due(now))
        {
            return self.outbox(now, |outbox| outbox.begun(now));
        }
        self.react(Reaction::Nothing)
    }

    /// A step that changes the outbox alone.
    fn outbox(mut self, now: Millis, change: impl FnOnce(&mut Outbox)) -> Step {
        let Some(mut record) = self.record.take() else {
            return self.react(Reaction::Nothing);
        };
        if let Some(outbox) = &mut record.outbox {
            change(outbox);
        }
        let emptied = record.forgotten(now) && !record.has_news();
        self.become_((!emptied).then_some(record), Reaction::Nothing)
    }
}

impl Step {
    /// A request that is refused before it has met a record.
    #[must_use]
    pub fn refused(code: super::code::Code) -> Self {
        let answer = Answer::Problem(super::answer::Problem::of(code));
        let aged = Aged {
            record: None,
            changed: false,
            notes: Vec::new(),
        };
        aged.react(Reaction::Answer(answer))
    }

    /// Puts in when the object has to look at the record again.
    fn wake(mut self, moment: Moment<'_>) -> Self {
        let now = moment.now;
        let Some(record) = &self.record else {
            return self;
        };
        let planned = moment.operation.is_some() || !record.questionable();
        let again = (!planned).then(|| now.after(WITHOUT_POLICY));
        self.wake = [record.wake_at(now, planned), again]
            .into_iter()
            .flatten()
            .min();
        self
    }
}
