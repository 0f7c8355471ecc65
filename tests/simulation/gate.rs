//! The gate as the shell drives it: load, step, save, alarm, perform; and what a crash takes.

use oncegate::core::identity::{Fence, Nonce};
use oncegate::core::outcome::{Reason, Verdict};
use oncegate::core::policy::{Operation, Recovery};
use oncegate::core::record::{Head, State};
use oncegate::core::recovery::Finding;
use oncegate::core::reply::{Body, Reply};
use oncegate::core::step::{Event, Manner, Moment, Note, ProbeOrder, Reaction, Step, step};
use oncegate::core::time::{Millis, Span};

use crate::common::prepared::Coming;
use crate::origin;
use crate::policies::Deploy;
use crate::world::{Open, Request, Run, Task};

const LEASE: Span = Span::seconds(60);
const PATIENCE: Span = Span::seconds(30);
const ALARM_AGAIN: Span = Span::seconds(30);

impl Run {
    pub(crate) fn deploy(&self) -> &'static Deploy {
        &self.deploys[self.deployed]
    }

    pub(crate) fn operation(&self) -> &'static Operation {
        self.deploy().operation
    }

    /// Lets an event happen; nothing comes back if the write, or the instance after it, failed.
    pub(crate) fn transact(&mut self, event: Event<'_>) -> Option<Step> {
        let moment = Moment {
            now: self.now,
            operation: Some(self.operation()),
            draw: self.dice.draw(),
        };
        let before = self.record();
        let step = step(before.clone(), event, moment);
        let broken = self.trouble && step.save && self.dice.percent(6);
        let kept = !broken || self.dice.percent(50);
        if step.save && kept {
            self.persist(&step);
            let reruns = self.reruns();
            self.oracle
                .stored(before.as_ref(), step.record.as_ref(), reruns);
        }
        if broken {
            self.count(if kept {
                "write persisted"
            } else {
                "write lost"
            });
            self.note(format!("a write fails, kept: {kept}"));
            if self.dice.percent(50) {
                self.crash();
            }
            return None;
        }
        if let Some(record) = &step.record {
            let name = record.state.name();
            self.count(name);
        }
        if step.notes.contains(&Note::Disputed) {
            self.count("disputed");
        }
        self.follow_up(&step);
        Some(step)
    }

    fn persist(&mut self, step: &Step) {
        let Some(record) = &step.record else {
            (self.store, self.alarm) = (None, None);
            return;
        };
        self.store = Some(record.encode().unwrap());
        if let Some(at) = step.wake {
            self.set_alarm(at);
        }
    }

    fn set_alarm(&mut self, at: Millis) {
        self.alarm = Some(at);
        let late = if self.dice.percent(20) {
            self.dice.below(40_000)
        } else {
            0
        };
        self.at(at.max(self.now).after(Span(late)), Task::Alarm);
    }

    fn follow_up(&mut self, step: &Step) {
        let instance = self.instance;
        if let Some(order) = step.probe.filter(|_| !self.probing) {
            self.probing = true;
            self.soon(5_000, Task::Look { order, instance });
        }
        if step.deliver && !self.delivering {
            self.delivering = true;
            let taken = !self.trouble || self.dice.percent(70);
            self.soon(3_000, Task::Sink { taken, instance });
        }
    }

    pub(crate) fn arrive(&mut self, request: Request, manner: Manner) -> Option<Step> {
        self.drawn += 1;
        let coming = Coming {
            request: request.id,
            manner,
            nonce: Nonce(self.drawn),
            call_open: !self.open.is_empty(),
            probe_open: self.probing,
            events: true,
        };
        let deploy = self.deploy();
        let command = if request.other {
            &deploy.other
        } else {
            &deploy.same
        };
        let arrival = command.arrival(deploy.operation, coming);
        self.transact(Event::Arrived(arrival))
    }

    /// Sends the claimed command to the origin.
    pub(crate) fn forward(&mut self, fence: Fence, request: Request) {
        let instance = self.instance;
        self.note(format!("attempt {fence:?} for {:?}", request.id));
        self.open.push(Open {
            fence,
            caller: Some(request),
            head: false,
            timed_out: false,
        });
        let other = request.other;
        let after = match self.dice.below(10) {
            0..=6 => self.dice.below(5_000),
            7..=8 => self.dice.below(80_000),
            _ => self.dice.below(3 * 3_600_000),
        };
        let decide = Task::Decide {
            fence,
            other,
            instance,
        };
        self.origin.sent(fence, self.now);
        self.at(self.now.after(Span(after)), decide);
        self.at(self.now.after(PATIENCE), Task::TimeOut { fence, instance });
        self.at(self.now.after(LEASE), Task::LeaseEnds { fence, instance });
    }

    fn call(&mut self, fence: Fence) -> Option<&mut Open> {
        self.open.iter_mut().find(|call| call.fence == fence)
    }

    /// The head of a success came; its body takes its time, and may never end.
    pub(crate) fn head(&mut self, fence: Fence, at: Millis, left: u32) {
        let Some(call) = self.call(fence) else { return };
        call.head = true;
        let head = Head {
            verdict: Verdict::Completed,
            reply: Reply {
                body: Body::Lost,
                ..origin::receipt(fence)
            },
            at,
        };
        self.note(format!("head of {fence:?}"));
        self.transact(Event::Reading { fence, head });
        let instance = self.instance;
        let next = self.now.after(Span(20_000));
        if left > 0 {
            let left = left - 1;
            let task = Task::Head {
                fence,
                at,
                left,
                instance,
            };
            self.at(next, task);
        } else {
            let broken = self.dice.percent(30);
            let body = origin::receipt(fence).body;
            let reply = Reply {
                body: if broken { Body::Lost } else { body },
                ..origin::receipt(fence)
            };
            let task = Task::Answer {
                fence,
                verdict: Verdict::Completed,
                reply: Some(reply),
                instance,
            };
            self.soon(15_000, task);
        }
    }

    /// The answer of an attempt. One that a dead instance waited for reaches nobody, or, as late
    /// evidence and seldom, the next instance.
    pub(crate) fn answer(
        &mut self,
        fence: Fence,
        verdict: Verdict,
        reply: Option<Reply>,
        instance: u32,
    ) {
        let heard = instance == self.instance && self.call(fence).is_some();
        if !heard && !self.dice.percent(30) {
            return;
        }
        let caller = self.call(fence).and_then(|call| call.caller.take());
        self.open.retain(|call| call.fence != fence || !heard);
        self.note(format!("answer of {fence:?}: {verdict:?}, heard: {heard}"));
        let step = self.transact(Event::Answered {
            fence,
            verdict,
            reply: reply.clone(),
        });
        if self.dice.percent(4) {
            // The same answer once more, much later.
            let task = Task::Answer {
                fence,
                verdict,
                reply: reply.clone(),
                instance,
            };
            self.soon(7_200_000, task);
        }
        if let (Some(step), Some(caller)) = (step, caller) {
            match step.reaction {
                Reaction::Answer(answer) => self.tell(caller, &answer),
                Reaction::Deliver(_) => {
                    let done = matches!(verdict, Verdict::Completed | Verdict::Failed)
                        && !matches!(
                            step.record.as_ref().map(|it| &it.state),
                            Some(State::Unknown { .. })
                        );
                    if let (Some(reply), true) = (&reply, done) {
                        self.oracle
                            .told(fence.nonce, reply, caller.other, &self.origin);
                    }
                }
                reaction => panic!("an answer ends in {reaction:?}"),
            }
        }
        self.wake_waiters();
    }

    pub(crate) fn time_out(&mut self, fence: Fence) {
        let Some(call) = self.call(fence) else { return };
        if call.head || call.timed_out {
            return;
        }
        call.timed_out = true;
        call.caller = None;
        self.note(format!("time-out of {fence:?}"));
        self.transact(Event::TimedOut { fence });
        self.wake_waiters();
    }

    /// The instance gives a call up, unless it reads its body.
    pub(crate) fn lease_ends(&mut self, fence: Fence) {
        let reading = self.call(fence).is_none_or(|call| call.head);
        if !reading {
            let lost = Verdict::Unknown(Reason::ConnectionLost);
            self.answer(fence, lost, None, self.instance);
        }
    }

    pub(crate) fn ring(&mut self) {
        let Some(at) = self.alarm.filter(|at| at.passed(self.now)) else {
            return;
        };
        self.rang();
        self.alarm = None;
        self.note(format!("alarm of {}", at.0));
        match self.transact(Event::Alarm) {
            Some(step) if step.save => self.wake_waiters(),
            Some(step) => {
                if let Some(at) = step.wake {
                    self.set_alarm(at);
                }
            }
            None if self.alarm.is_none() && self.store.is_some() => {
                let again = self.now.after(ALARM_AGAIN);
                self.set_alarm(again);
            }
            None => {}
        }
    }

    pub(crate) fn found(&mut self, order: ProbeOrder, finding: Finding) {
        self.probing = false;
        let call_open = self.call(order.fence).is_some();
        self.note(format!("probe of {:?}: {finding:?}", order.fence));
        if finding == Finding::NotApplied {
            self.count("not there");
        }
        self.transact(Event::Probed {
            order,
            finding,
            call_open,
        });
        self.wake_waiters();
    }

    /// The sink takes what waits, or not; the gate may die between that and its report.
    pub(crate) fn sink(&mut self, taken: bool) {
        self.delivering = false;
        let outbox = self.record().and_then(|record| record.outbox);
        let waiting = outbox.map(|outbox| outbox.waiting).unwrap_or_default();
        let Some(last) = waiting.last() else { return };
        let (nonce, number) = (last.nonce, last.number);
        if !taken {
            self.transact(Event::Undelivered);
            return;
        }
        self.oracle.delivered(&waiting);
        self.transact(Event::Delivered { nonce, number });
    }

    /// The instance ends, and with it what it has in memory.
    pub(crate) fn crash(&mut self) {
        self.count("crash");
        self.note("crash".to_owned());
        self.instance += 1;
        self.probing = false;
        self.delivering = false;
        let calls = std::mem::take(&mut self.open);
        let callers = calls.into_iter().filter_map(|call| call.caller);
        let waiting = std::mem::take(&mut self.waiting);
        let waiting = waiting.into_iter().map(|(request, _, _)| request);
        let again: Vec<Request> = callers.chain(waiting).filter(|it| !it.second).collect();
        for request in again {
            let second = Request {
                second: true,
                ..request
            };
            self.soon(500, Task::Send(second));
        }
        // What is durable is looked at again: the platform delivers an alarm that is due.
        if let Some(at) = self.alarm {
            self.set_alarm(at);
        }
    }

    /// Whether this deploy runs an outcome that nobody knows again.
    pub(crate) fn reruns(&self) -> bool {
        self.operation().recovery == Recovery::Rerun
    }
}
