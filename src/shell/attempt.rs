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
use web_sys::ReadableStream;
use worker::Response;

use super::gate::{self, Object};
use super::origin::{self, Call, Head, Reading, read_up_to};
use super::store::Fault;
use super::waiters::{delay, within};
use super::{clock, http, js, log, policy, seal};
use crate::core::answer::{self, Answer, Problem};
use crate::core::code::Code;
use crate::core::command::echo::Echo;
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
    /// What the request wants to find in an answer of the gate.
    pub(super) echoes: Vec<Echo>,
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
        let head = self.head(&mut caller).await.ok();
        let reading = match &head {
            Some(head) => {
                let reading = Box::pin(self.body(head, &mut caller));
                within(LONGEST_BODY, reading).await
            }
            None => None,
        };
        let reading = reading.unwrap_or(Reading {
            read: Read::BrokeOff,
            stream: None,
        });
        let told = self.settle(head.as_ref(), reading).await;
        tell(&mut caller, told);
        self.object.wake_waiters(Some(self.fence.nonce));
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
                let told = self.timed_out().await;
                tell(caller, told);
                self.object.wake_waiters(Some(self.fence.nonce));
                let Some(answer) = within(lease_until.left(clock()), sent).await else {
                    call.end();
                    return Err(());
                };
                answer
            }
        };
        answer.map_err(|error| self.failed(&error))
    }

    /// Reads the body. Where the policy streams, a success goes to the caller as it comes, once
    /// its head is stored.
    async fn body(&self, head: &Head, caller: &mut Caller) -> Reading {
        let most = most_kept(&self.operation.keep);
        let streams = self.operation.stream && self.verdict(head) == Verdict::Completed;
        let Some((ours, theirs)) = streams.then(|| head.split()).flatten() else {
            return self.hold_on(head, head.read(most)).await;
        };
        if let Some(told) = self.pass_on(head, &theirs) {
            tell(caller, told);
        } else {
            let _nobody_reads_it = theirs.cancel();
        }
        let read = async {
            Reading {
                read: read_up_to(&ours, most).await,
                stream: None,
            }
        };
        self.hold_on(head, read).await
    }

    /// Waits for a body. If that takes its time, the head is stored and the lease runs on: after a
    /// crash the head still says what happened.
    async fn hold_on(&self, head: &Head, read: impl Future<Output = Reading>) -> Reading {
        let half = Span(self.operation.lease.0.div_euclid(2));
        let mut pause = half.min(SLOW_BODY);
        let mut read = Box::pin(read);
        loop {
            read = match select(read, delay(pause)).await {
                Either::Left((reading, _)) => return reading,
                Either::Right(((), read)) => read,
            };
            if let Err(fault) = self.keep_head(head) {
                log::fault(&fault);
            }
            pause = half;
        }
    }

    /// The answer for the caller while its body comes, if its head could be stored.
    fn pass_on(&self, head: &Head, stream: &ReadableStream) -> Option<Told> {
        let step = match self.keep_head(head) {
            Ok(step) => step,
            Err(fault) => {
                log::fault(&fault);
                return None;
            }
        };
        let record = step
            .record
            .as_ref()
            .filter(|record| record.fence() == self.fence)?;
        matches!(
            record.state,
            record::State::InProgress { head: Some(_), .. }
        )
        .then(|| {
            let reference = gate::reference(&self.envelope, Some(record));
            let context =
                gate::context(self.operation, &self.envelope, reference.as_deref(), false);
            let body = http::Body::Stream(stream);
            self.deliver(head, answer::Told::Executed, body, context)
        })
    }

    /// Stores the head of an answer whose body is still coming.
    fn keep_head(&self, head: &Head) -> Result<Step, Fault> {
        let reply = self.unsealed(head, Read::BrokeOff);
        // What cannot be sealed in this stretch is not kept.
        let hidden = self.operation.keep.encrypt;
        let reply = Reply {
            headers: if hidden { Vec::new() } else { reply.headers },
            ..reply
        };
        let (verdict, at) = (self.verdict(head), head.at);
        let head = record::Head { verdict, reply, at };
        self.object.transact(Event::Reading {
            fence: self.fence,
            head,
        })
    }

    fn unsealed(&self, head: &Head, read: Read) -> Reply {
        Reply::keep(head.status, &head.headers, read, &self.operation.keep)
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

    async fn timed_out(&self) -> Told {
        match self.object.transact(Event::TimedOut { fence: self.fence }) {
            Ok(step) => self.answer(step, None, None).await,
            Err(fault) => {
                log::fault(&fault);
                self.closed()
            }
        }
    }

    /// Records what the answer means, and says what the caller gets.
    async fn settle(&self, head: Option<&Head>, reading: Reading) -> Told {
        let (verdict, reply, body) = match head {
            Some(head) => {
                // A status that no client can be given is as good as a body that broke off.
                let read = if (200..=599).contains(&head.status) {
                    reading.read
                } else {
                    Read::BrokeOff
                };
                let body = match &read {
                    Read::Whole(body) => Some(body.clone()),
                    Read::BrokeOff | Read::TooLong => None,
                };
                let mut reply = self.unsealed(head, read);
                if self.operation.keep.encrypt {
                    let reference = self.envelope.name.reference(self.fence.nonce);
                    reply = seal::seal_reply(&self.object.env, &reference, reply).await;
                }
                (self.verdict(head), Some(reply), body)
            }
            None => (Verdict::Unknown(Reason::ConnectionLost), None, None),
        };
        let event = Event::Answered {
            fence: self.fence,
            verdict,
            reply,
        };
        let stored = self.object.transact(event);
        // Not before: while its answer is on the way to the record, nothing may run in its place.
        self.object.close(self.fence);
        match stored {
            Ok(step) => {
                let body = match (&body, &reading.stream) {
                    (Some(body), _) => Some(http::Body::Bytes(body)),
                    (None, Some(stream)) => Some(http::Body::Stream(stream)),
                    (None, None) => None,
                };
                self.answer(step, head, body).await
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

    async fn answer(&self, step: Step, head: Option<&Head>, body: Option<http::Body<'_>>) -> Told {
        let reference = gate::reference(&self.envelope, step.record.as_ref());
        let context = gate::context(self.operation, &self.envelope, reference.as_deref(), false);
        match (step.reaction, head) {
            (Reaction::Answer(answer), _) => {
                let answer = seal::opened(&self.object.env, answer, reference.as_deref()).await;
                Told {
                    message: Some(wire::message(&answer, context).echo(&self.echoes)),
                    response: None,
                }
            }
            (Reaction::Deliver(told), Some(head)) => {
                self.deliver(head, told, body.unwrap_or(http::Body::None), context)
            }
            (
                Reaction::Count
                | Reaction::Deliver(_)
                | Reaction::Forward(_)
                | Reaction::Nothing
                | Reaction::Wait { .. },
                _,
            ) => self.closed(),
        }
    }

    /// The origin's own answer, with the gate's marks. One that the runtime cannot pass on (a
    /// status outside 200 to 599) is recorded all the same.
    fn deliver(
        &self,
        head: &Head,
        told: answer::Told,
        body: http::Body<'_>,
        context: wire::Context<'_>,
    ) -> Told {
        let mut headers = head.headers.clone();
        headers.extend(wire::marks(told, context));
        if policy::valid(&self.object.env).is_some_and(|policy| policy.server_timing) {
            let took = head.at.left(self.claimed_at).0;
            let entry = format!("oncegate-origin;dur={took}");
            headers.push(("Server-Timing".to_owned(), entry));
        }
        let body = if wire::bodiless(head.status) {
            http::Body::None
        } else {
            body
        };
        match http::build(head.status, &headers, body) {
            Ok(response) => Told {
                message: None,
                response: Some(response),
            },
            Err(error) => {
                self.failed(&error.into());
                let problem = Problem {
                    told,
                    retry_after: Some(Span::seconds(5)),
                    ..Problem::detailed(
                        Code::OriginUnreachable,
                        "the origin's answer cannot be passed on",
                    )
                };
                let message = wire::message(&Answer::Problem(problem), context);
                Told {
                    message: Some(message),
                    response: None,
                }
            }
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

fn tell(caller: &mut Caller, told: Told) {
    if let Some(caller) = caller.take() {
        // A caller that hung up misses its answer; the record has it.
        let _gone = caller.send(told);
    }
}
