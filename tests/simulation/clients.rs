//! The clients and the front: requests come, wait, are answered, and come once more after a call
//! to the object that failed.

use oncegate::core::answer::Answer;
use oncegate::core::identity::Fence;
use oncegate::core::step::{Manner, Reaction, Step};
use oncegate::core::time::Millis;

use crate::world::{Request, Run, Task};

impl Run {
    pub(crate) fn send(&mut self, request: Request) {
        self.note(format!("{request:?}"));
        let manner = if request.second {
            Manner::SecondTry
        } else {
            Manner::First
        };
        let step = self.arrive(request, manner);
        self.react(request, step, None);
    }

    /// A request that waits is looked at again, or its time is over.
    pub(crate) fn woken(&mut self, request: Request, fence: Fence, until: Millis) {
        let place = (request, fence, until);
        if !self.waiting.contains(&place) {
            return;
        }
        self.waiting.retain(|it| *it != place);
        let gave_up = until.passed(self.now);
        let step = self.arrive(request, Manner::Waited { fence, gave_up });
        self.react(request, step, Some(until));
    }

    fn react(&mut self, request: Request, step: Option<Step>, waited: Option<Millis>) {
        let Some(step) = step else { return };
        match step.reaction {
            Reaction::Forward(fence) => {
                assert!(waited.is_none(), "a waiter takes over");
                if self.trouble && self.dice.percent(5) {
                    // Between the claim and the call.
                    self.crash();
                } else {
                    self.forward(fence, request);
                }
            }
            Reaction::Wait { fence, until } => {
                let until = waited.unwrap_or(until);
                self.waiting.push((request, fence, until));
                let instance = self.instance;
                let task = Task::Woken {
                    request,
                    fence,
                    until,
                    instance,
                };
                self.at(until, task);
            }
            Reaction::Answer(answer) => self.tell(request, &answer),
            reaction => panic!("an arrival ends in {reaction:?}"),
        }
    }

    /// A client gets an answer of the gate's own, or the stored one.
    pub(crate) fn tell(&mut self, request: Request, answer: &Answer) {
        if let Answer::Replay { reply, .. } = answer {
            let nonce = self.record().unwrap().nonce;
            self.oracle.told(nonce, reply, request.other, &self.origin);
        }
        // Who is told to come back comes back, as long as there is trouble.
        if matches!(answer, Answer::Pending { .. }) && self.trouble && self.dice.percent(40) {
            self.drawn += 1;
            let id = oncegate::core::identity::RequestId(self.drawn);
            let again = Request {
                id,
                second: false,
                ..request
            };
            self.soon(60_000, Task::Send(again));
        }
    }

    pub(crate) fn wake_waiters(&mut self) {
        let instance = self.instance;
        for (request, fence, until) in self.waiting.clone() {
            let task = Task::Woken {
                request,
                fence,
                until,
                instance,
            };
            self.soon(50, task);
        }
    }
}
