//! What the shell does around `step`: load, step, save and alarm in one piece, then perform. A
//! write can be lost, or be stored and reported as failed; then nothing is performed.

use oncegate::core::answer::{Answer, Told};
use oncegate::core::code::Code;
use oncegate::core::identity::{Fence, Nonce, RequestId};
use oncegate::core::outcome::{Reason, Verdict};
use oncegate::core::record::Head;
use oncegate::core::recovery::Finding;
use oncegate::core::reply::{Body, Reply};
use oncegate::core::step::{Event, Manner, Moment, ProbeOrder, Reaction, Step, step};
use oncegate::core::time::{Millis, Span};

use crate::actions::Way;
use crate::common::prepared::Coming;
use crate::origin;
use crate::world::{Asked, Call, Fate, Final, Model, Phase, Seen, Stored, World};

/// What the storage makes of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Write {
    Works,
    /// Nothing is stored.
    Lost,
    /// It is stored, and the gate is told that it failed.
    Persisted,
}

/// What is further away than this is not waited for.
const HORIZON: Span = Span(1_000);

/// How soon an alarm that failed is tried again.
pub(crate) const ALARM_AGAIN: Span = Span(10);

impl World {
    /// Lets an event happen. Nothing comes back from a write that failed; a fault that could not
    /// have happened, because nothing is written, is no transition of the model.
    fn transact(&mut self, model: &Model, event: Event<'_>, write: Write) -> Result<Step, Failed> {
        let moment = Moment {
            now: self.now,
            operation: Some(model.operation),
            draw: 0,
        };
        let step = step(self.record().cloned(), event, moment);
        if write != Write::Works {
            if !step.save {
                return Err(Failed::Impossible);
            }
            self.faults -= 1;
            if write == Write::Persisted {
                self.persist(&step);
            }
            return Err(Failed::Write);
        }
        if step.save {
            self.persist(&step);
        }
        if let (Some(order), None) = (step.probe, &self.probe) {
            self.probe = Some(Asked {
                fence: order.fence,
                since: order.since,
                sent: order.sent,
                seen: None,
            });
        }
        Ok(step)
    }

    fn persist(&mut self, step: &Step) {
        match &step.record {
            Some(record) => {
                self.store = Some(Stored::new(record.clone()));
                self.alarm = step.wake.or(self.alarm);
            }
            None => {
                self.store = None;
                self.alarm = None;
            }
        }
    }

    fn wake_waiters(&mut self) {
        for client in &mut self.clients {
            if let Phase::Waiting { woken, .. } = &mut client.phase {
                *woken = true;
            }
        }
    }

    /// A request reaches the object; it may have waited there.
    pub(crate) fn arrive(
        &mut self,
        model: &Model,
        client: usize,
        request: RequestId,
        manner: Manner,
        write: Write,
    ) -> bool {
        let second = match (&self.clients[client].phase, manner) {
            (Phase::Waiting { second, .. }, _) => *second,
            (_, manner) => manner == Manner::SecondTry,
        };
        let waited_until = match &self.clients[client].phase {
            Phase::Waiting { until, .. } => Some(*until),
            _ => None,
        };
        self.drawn += 1;
        let coming = Coming {
            request,
            manner,
            nonce: Nonce(self.drawn),
            call_open: self.calls.iter().any(|call| call.heard),
            probe_open: self.probe.is_some(),
            events: false,
        };
        let arrival = model.command(client).arrival(model.operation, coming);
        let step = match self.transact(model, Event::Arrived(arrival), write) {
            Ok(step) => step,
            Err(Failed::Impossible) => return false,
            Err(Failed::Write) => {
                self.clients[client].phase = Phase::Idle;
                return true;
            }
        };
        if !matches!(step.reaction, Reaction::Forward(_)) {
            self.drawn -= 1;
        }
        match step.reaction {
            Reaction::Forward(fence) => {
                self.calls.push(Call {
                    fence,
                    other: model.sends_other(client),
                    sent: self.now,
                    fate: Fate::Open,
                    heard: true,
                    caller: Some(client),
                    head: false,
                    timed_out: false,
                });
                self.clients[client].phase = Phase::Calling { request, second };
            }
            Reaction::Wait { fence, until } => {
                self.clients[client].phase = Phase::Waiting {
                    request,
                    second,
                    fence,
                    until: waited_until.unwrap_or(until),
                    woken: false,
                };
            }
            Reaction::Answer(answer) => self.tell(model, Some(client), &answer),
            Reaction::Count | Reaction::Deliver(_) | Reaction::Nothing => {
                panic!("an arrival ends otherwise")
            }
        }
        true
    }

    /// A client gets an answer that the gate makes or gives from the record.
    fn tell(&mut self, model: &Model, client: Option<usize>, answer: &Answer) {
        let Some(client) = client else { return };
        let done = match answer {
            Answer::Replay { reply, .. } => {
                let nonce = self.record().unwrap().nonce;
                self.give(model, client, nonce, reply);
                true
            }
            Answer::Acknowledge { .. } => true,
            Answer::Problem(problem) => matches!(
                problem.code,
                Code::KeyReused | Code::Duplicate | Code::KeyExpired | Code::ReplyUnavailable
            ),
            Answer::Pending { .. } => false,
        };
        self.clients[client].phase = if done { Phase::Done } else { Phase::Idle };
    }

    fn give(&mut self, model: &Model, client: usize, nonce: Nonce, reply: &Reply) {
        let Body::Whole(body) = &reply.body else {
            panic!("given without its body");
        };
        let claimed = self.calls.iter().find(|call| call.fence.nonce == nonce);
        let stranger = claimed.is_some_and(|call| call.other != model.sends_other(client));
        self.finals.push(Final {
            nonce: nonce.0,
            status: reply.status,
            body: body.to_vec(),
            stranger,
        });
        self.finals.sort();
        self.finals.dedup();
    }

    /// An attempt's own answer, or the end of its connection, reaches the gate.
    pub(crate) fn answered(&mut self, model: &Model, call: usize, way: Way, write: Write) -> bool {
        let Call { fence, caller, .. } = self.calls[call];
        let (verdict, reply) = origin::answer(&self.calls[call], way);
        let fate = origin::fate(way);
        self.calls[call].fate = fate.unwrap_or(self.calls[call].fate);
        let event = Event::Answered {
            fence,
            verdict,
            reply: reply.clone(),
        };
        self.calls[call].heard = false;
        self.calls[call].caller = None;
        let step = match self.transact(model, event, write) {
            Ok(step) => step,
            Err(Failed::Impossible) => return false,
            // An answer that could not be recorded is not handed out.
            Err(Failed::Write) => {
                self.leave(caller);
                self.wake_waiters();
                return true;
            }
        };
        match (step.reaction, caller) {
            (Reaction::Answer(answer), caller) => self.tell(model, caller, &answer),
            (Reaction::Deliver(Told::Executed), Some(client)) => {
                let reply = reply.unwrap();
                let last = matches!(verdict, Verdict::Completed | Verdict::Failed);
                if last {
                    self.give(model, client, fence.nonce, &reply);
                }
                let done = verdict == Verdict::Completed;
                let done = done || (last && model.failures_are_final());
                self.clients[client].phase = if done { Phase::Done } else { Phase::Idle };
            }
            (Reaction::Deliver(_), caller) => self.leave(caller),
            (reaction, _) => panic!("an answer ends in {reaction:?}"),
        }
        self.wake_waiters();
        true
    }

    fn leave(&mut self, client: Option<usize>) {
        if let Some(client) = client {
            self.clients[client].phase = Phase::Idle;
        }
    }

    /// The head of a success came, and its body takes its time.
    pub(crate) fn head(&mut self, model: &Model, call: usize, write: Write) -> bool {
        let fence = self.calls[call].fence;
        let head = Head {
            verdict: Verdict::Completed,
            reply: Reply {
                body: Body::Lost,
                ..origin::receipt(fence)
            },
            at: self.now,
        };
        self.calls[call].head = true;
        self.calls[call].fate = Fate::Applied;
        let step = self.transact(model, Event::Reading { fence, head }, write);
        !matches!(step, Err(Failed::Impossible))
    }

    /// The callers are told that it takes too long.
    pub(crate) fn timed_out(&mut self, model: &Model, call: usize, write: Write) -> bool {
        let Call { fence, caller, .. } = self.calls[call];
        self.calls[call].timed_out = true;
        self.calls[call].caller = None;
        match self.transact(model, Event::TimedOut { fence }, write) {
            Ok(Step {
                reaction: Reaction::Answer(answer),
                ..
            }) => self.tell(model, caller, &answer),
            Ok(step) => panic!("a time-out ends in {:?}", step.reaction),
            Err(Failed::Impossible) => return false,
            Err(Failed::Write) => self.leave(caller),
        }
        self.wake_waiters();
        true
    }

    pub(crate) fn probe_returns(&mut self, model: &Model, write: Write) -> bool {
        let Some(Asked {
            fence,
            since,
            sent,
            seen: Some(seen),
        }) = self.probe.take()
        else {
            return false;
        };
        let event = Event::Probed {
            order: ProbeOrder { fence, since, sent },
            finding: finding(fence, seen),
            call_open: self.is_open(fence),
        };
        let step = self.transact(model, event, write);
        self.wake_waiters();
        !matches!(step, Err(Failed::Impossible))
    }

    fn is_open(&self, fence: Fence) -> bool {
        self.calls
            .iter()
            .any(|call| call.heard && call.fence == fence)
    }

    pub(crate) fn rings(&mut self, model: &Model, write: Write) -> bool {
        let alarm = self.alarm.take();
        let early = alarm.is_none_or(|at| at > self.now);
        match self.transact(model, Event::Alarm, write) {
            Ok(step) if step.save => self.wake_waiters(),
            Ok(step) => self.alarm = step.wake,
            Err(Failed::Impossible) => return false,
            Err(Failed::Write) => self.alarm = Some(self.now.after(ALARM_AGAIN)),
        }
        // One that rings before its time does not take the place of the one that is set.
        if early && self.store.is_some() {
            self.alarm = self.alarm.into_iter().chain(alarm).min();
        }
        true
    }

    /// The instance dies; so does all that it has in memory.
    pub(crate) fn crash(&mut self) {
        self.faults -= 1;
        self.probe = None;
        for call in &mut self.calls {
            call.heard = false;
            call.caller = None;
        }
        for client in &mut self.clients {
            client.phase = match client.phase {
                Phase::Calling { request, second }
                | Phase::Waiting {
                    request, second, ..
                } => {
                    if second {
                        Phase::Idle
                    } else {
                        Phase::Again(request)
                    }
                }
                _ => continue,
            };
        }
    }

    /// The next moment at which anything can change by time.
    pub(crate) fn next_moment(&self, model: &Model) -> Option<Millis> {
        let record = self.record().into_iter().flat_map(|record| {
            let state = record.state.ends_at();
            let next = record.plan.and_then(|plan| plan.next);
            [state, next, record.plan.map(|plan| plan.escalate_at)]
        });
        let calls = self.calls.iter().filter(|it| it.fate == Fate::Open);
        let calls = calls.flat_map(|call| {
            let impatient = call.heard && !call.timed_out;
            let patience = impatient.then(|| call.sent.after(Span(20)));
            let shows = model.asks().then(|| call.sent.after(origin::LAG));
            [patience, shows].into_iter().flatten()
        });
        let waits = self.clients.iter().filter_map(|client| match client.phase {
            Phase::Waiting { until, .. } => Some(until),
            _ => None,
        });
        record
            .flatten()
            .chain(calls)
            .chain(waits)
            .chain(self.alarm)
            .filter(|at| *at > self.now && *at < self.now.after(HORIZON))
            .min()
    }
}

/// Why a step did not come to its end.
enum Failed {
    Impossible,
    Write,
}

fn finding(asked: Fence, seen: Seen) -> Finding {
    match seen {
        Seen::Applied(fence) => Finding::Applied(origin::receipt(fence)),
        Seen::Failed => Finding::Failed(origin::refusal(asked)),
        Seen::NotApplied => Finding::NotApplied,
        Seen::Nothing => Finding::Inconclusive,
    }
}

pub(crate) const LOST: Verdict = Verdict::Unknown(Reason::ConnectionLost);
