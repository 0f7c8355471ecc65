//! One attempt at the origin.
//!
//! Owns the life of one call: send, tell the caller when it takes too long, read, record, answer.
//! It never decides what an answer means and never tries again. It is correct because nothing of
//! an answer reaches the caller before `transact` has stored what it means, and because it runs as
//! the object's own task: neither a client that hangs up nor one that was told about a time-out
//! ends it.

use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use wasm_bindgen::JsValue;
use worker::Response;

use super::gate::{self, Object};
use super::origin::{self, Call, Head, Reading};
use super::waiters::{delay, within};
use super::{clock, http, js, log, policy};
use crate::core::answer;
use crate::core::envelope::{self, Envelope};
use crate::core::identity::Fence;
use crate::core::outcome::{self, Reason, Verdict};
use crate::core::policy::Operation;
use crate::core::record;
use crate::core::reply::{Read, Reply, most_kept};
use crate::core::step::{Event, Reaction, Step};
use crate::core::time::{Millis, Span};
use crate::core::wire::{self, Message};

/// How long the body of an answer may take to arrive.
const LONGEST_BODY: Span = Span::seconds(15 * 60);

/// After how long a body counts as slow.
const SLOW_BODY: Span = Span::seconds(1);

/// An attempt, from its claim to its end.
pub(super) struct Attempt {
    pub(super) object: Rc<Object>,
    pub(super) operation: &'static Operation,
    pub(super) envelope: Envelope,
    pub(super) request: envelope::Request,
    pub(super) body: Vec<u8>,
    pub(super) fence: Fence,
    pub(super) claimed_at: Millis,
}

/// What the caller is told.
#[derive(Default)]
pub(super) struct Told {
    /// An answer of the gate's own.
    pub(super) message: Option<Message>,
    /// The origin's answer.
    pub(super) response: Option<Response>,
}

/// The caller, as long as it has not been told anything.
type Caller = Option<oneshot::Sender<Told>>;

impl Attempt {
    /// Makes the attempt.
    pub(super) async fn run(self, teller: oneshot::Sender<Told>) {
        let mut caller = Some(teller);
        super::faults::strike(&self.request.headers, "attempt");
        let head = self.head(&mut caller).await;
        let (head, reading) = match head {
            Ok(head) => {
                let reading = within(LONGEST_BODY, Box::pin(self.read(&head))).await;
                let broke_off = || Reading {
                    read: Read::BrokeOff,
                    stream: None,
                };
                (Some(head), reading.unwrap_or_else(broke_off))
            }
            Err(()) => (
                None,
                Reading {
                    read: Read::BrokeOff,
                    stream: None,
                },
            ),
        };
        self.object.close(self.fence);
        let told = self.settle(head.as_ref(), reading);
        tell(&mut caller, told);
        self.object.wake_waiters();
    }

    /// Sends the command and waits for the head of the answer until the end of the lease. Callers
    /// are told when it takes longer than the origin may; the call stays open.
    async fn head(&self, caller: &mut Caller) -> Result<Head, ()> {
        let lease_until = self.claimed_at.after(self.operation.lease);
        let call = Call::new().map_err(|error| self.failed(&error))?;
        let sent = Box::pin(self.send(&call));
        let answer = match select(sent, delay(self.operation.origin_timeout)).await {
            Either::Left((answer, _)) => answer,
            Either::Right(((), sent)) => {
                let told = self.timed_out();
                tell(caller, told);
                self.object.wake_waiters();
                let Some(answer) = within(lease_until.left(clock()), sent).await else {
                    call.end();
                    return Err(());
                };
                answer
            }
        };
        answer.map_err(|error| self.failed(&error))
    }

    /// Reads the body. If that takes its time, the head is stored and the lease runs on: after a
    /// crash the head still says what happened.
    async fn read(&self, head: &Head) -> Reading {
        let at = clock();
        let half = Span(self.operation.lease.0.div_euclid(2));
        let mut pause = half.min(SLOW_BODY);
        let mut read = Box::pin(head.read(most_kept(&self.operation.keep)));
        loop {
            read = match select(read, delay(pause)).await {
                Either::Left((reading, _)) => return reading,
                Either::Right(((), read)) => read,
            };
            let verdict = self.verdict(head);
            let reply = Reply::keep(
                head.status,
                &head.headers,
                Read::BrokeOff,
                &self.operation.keep,
            );
            let stored = record::Head { verdict, reply, at };
            let event = Event::Reading {
                fence: self.fence,
                head: stored,
            };
            if let Err(fault) = self.object.transact(event) {
                log::fault(&fault);
            }
            pause = half;
        }
    }

    async fn send(&self, call: &Call) -> Result<Head, JsValue> {
        let Some(policy) = policy::valid(&self.object.env) else {
            return Err("there is no valid policy".into());
        };
        let marks = [
            (
                wire::REFERENCE.to_owned(),
                self.envelope.name.reference(self.fence.nonce),
            ),
            (wire::ATTEMPT.to_owned(), self.fence.attempt.to_string()),
        ];
        let env = &self.object.env;
        origin::send(env, &policy.origin, &self.request, &marks, &self.body, call).await
    }

    /// No answer: what the runtime says of the reason is for the log alone, since it cannot tell
    /// a refused connection from a lost one.
    fn failed(&self, error: &JsValue) {
        let why = format!("the call to the origin failed: {}", js::said(error));
        log::warn(
            &self.operation.name,
            Some(self.envelope.name.as_str()),
            &why,
        );
    }

    fn timed_out(&self) -> Told {
        match self.object.transact(Event::TimedOut { fence: self.fence }) {
            Ok(step) => self.answer(step, None, None),
            Err(fault) => {
                log::fault(&fault);
                self.closed()
            }
        }
    }

    /// Records what the answer means, and says what the caller gets.
    fn settle(&self, head: Option<&Head>, reading: Reading) -> Told {
        let (verdict, reply, body) = match head {
            Some(head) => {
                let body = match &reading.read {
                    Read::Whole(body) => Some(body.clone()),
                    Read::BrokeOff | Read::TooLong => None,
                };
                let keep = &self.operation.keep;
                let reply = Reply::keep(head.status, &head.headers, reading.read, keep);
                (self.verdict(head), Some(reply), body)
            }
            None => (Verdict::Unknown(Reason::ConnectionLost), None, None),
        };
        let event = Event::Answered {
            fence: self.fence,
            verdict,
            reply,
        };
        match self.object.transact(event) {
            Ok(step) => {
                let body = match (&body, &reading.stream) {
                    (Some(body), _) => Some(http::Body::Bytes(body)),
                    (None, Some(stream)) => Some(http::Body::Stream(stream)),
                    (None, None) => None,
                };
                self.answer(step, head, body)
            }
            // An answer that could not be recorded is not handed out.
            Err(fault) => {
                log::fault(&fault);
                self.closed()
            }
        }
    }

    fn verdict(&self, head: &Head) -> Verdict {
        let word = head.stated(outcome::OUTCOME_HEADER);
        let stated = word.as_deref().and_then(outcome::stated);
        if word.is_some() && stated.is_none() {
            let what = "the origin's Oncegate-Outcome is none of completed, failed, retry, unknown";
            log::warn(
                &self.operation.name,
                Some(self.envelope.name.as_str()),
                what,
            );
        }
        outcome::classify(head.status, stated, &self.operation.outcomes)
    }

    fn answer(&self, step: Step, head: Option<&Head>, body: Option<http::Body<'_>>) -> Told {
        let reference = gate::reference(&self.envelope, step.record.as_ref());
        let context = gate::context(self.operation, &self.envelope, reference.as_deref(), false);
        match (step.reaction, head) {
            (Reaction::Answer(answer), _) => Told {
                message: Some(wire::message(&answer, context)),
                response: None,
            },
            (Reaction::Deliver(told), Some(head)) => {
                let body = body.unwrap_or(http::Body::None);
                match deliver(head, told, body, context) {
                    Ok(response) => Told {
                        message: None,
                        response: Some(response),
                    },
                    Err(error) => {
                        self.failed(&error.into());
                        self.closed()
                    }
                }
            }
            (
                Reaction::Deliver(_)
                | Reaction::Forward(_)
                | Reaction::Nothing
                | Reaction::Wait { .. },
                _,
            ) => self.closed(),
        }
    }

    fn closed(&self) -> Told {
        let context = gate::context(self.operation, &self.envelope, None, false);
        Told {
            message: Some(gate::closed(context)),
            response: None,
        }
    }
}

/// The origin's own answer, with the gate's marks.
fn deliver(
    head: &Head,
    told: answer::Told,
    body: http::Body<'_>,
    context: wire::Context<'_>,
) -> worker::Result<Response> {
    let mut headers = head.headers.clone();
    headers.extend(wire::marks(told, context));
    let body = if wire::bodiless(head.status) {
        http::Body::None
    } else {
        body
    };
    http::build(head.status, &headers, body)
}

fn tell(caller: &mut Caller, told: Told) {
    if let Some(caller) = caller.take() {
        // A caller that hung up misses its answer; the record has it.
        let _gone = caller.send(told);
    }
}
