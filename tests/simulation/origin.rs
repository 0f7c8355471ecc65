//! The origin: a ledger of effects, answers that may be lost or late, and a look-up that is
//! truthful, though what was taken a moment ago may not show there.

use oncegate::core::identity::Fence;
use oncegate::core::outcome::{Reason, Verdict};
use oncegate::core::recovery::Finding;
use oncegate::core::reply::{Body, Reply};
use oncegate::core::step::ProbeOrder;
use oncegate::core::time::{Millis, Span};

use crate::common::prepared;
use crate::world::{Run, Task};

/// How long the look-up may not know of an attempt.
const LAG: Span = Span::seconds(60);

#[derive(Default)]
pub(crate) struct Origin {
    /// Every effect, and whether it was the other command's.
    pub(crate) ledger: Vec<(Fence, bool)>,
    /// What was sent and when; whether it was refused for good.
    attempts: Vec<Attempt>,
}

struct Attempt {
    fence: Fence,
    sent: Millis,
    decided: bool,
    refused: bool,
}

fn reply(status: u16, fence: Fence) -> Reply {
    let body = format!("{status} of {}.{}", fence.nonce.0, fence.attempt);
    prepared::reply(status, Body::whole(body.into_bytes()))
}

/// The receipt of an attempt's effect.
pub(crate) fn receipt(fence: Fence) -> Reply {
    reply(201, fence)
}

impl Origin {
    pub(crate) fn sent(&mut self, fence: Fence, sent: Millis) {
        self.attempts.push(Attempt {
            fence,
            sent,
            decided: false,
            refused: false,
        });
    }

    fn effect(&self, fence: Fence) -> Option<Fence> {
        let mut effects = self.ledger.iter().map(|(effect, _)| *effect);
        effects.find(|effect| effect.nonce == fence.nonce)
    }

    /// What the look-up answers at a time; "not there" is a promise once it cannot be the lag.
    fn look_up(&mut self, order: ProbeOrder, now: Millis, stale: bool) -> Finding {
        let named = |it: &&mut Attempt| {
            it.fence.nonce == order.fence.nonce && it.fence.attempt <= order.fence.attempt
        };
        let fresh = self
            .attempts
            .iter_mut()
            .filter(named)
            .any(|it| it.sent.after(LAG) > now);
        match self.effect(order.fence) {
            Some(effect) if !(fresh && stale) => Finding::Applied(receipt(effect)),
            _ if fresh => Finding::NotApplied,
            Some(_) => Finding::NotApplied,
            None => {
                for attempt in self.attempts.iter_mut().filter(named) {
                    attempt.decided = true;
                }
                let refused = |it: &Attempt| it.fence == order.fence && it.refused;
                if self.attempts.iter().any(refused) {
                    Finding::Failed(reply(422, order.fence))
                } else {
                    Finding::NotApplied
                }
            }
        }
    }
}

impl Run {
    /// The origin makes something of an attempt, once, and answers or not.
    pub(crate) fn decide(&mut self, fence: Fence, other: bool, instance: u32) {
        let fate = self.dice.below(100);
        let Some(attempt) = self.origin.attempts.iter_mut().find(|it| it.fence == fence) else {
            return;
        };
        if attempt.decided {
            return;
        }
        attempt.decided = true;
        if fate < 70 {
            self.origin.ledger.push((fence, other));
            self.note(format!("effect of {fence:?}"));
            self.answer_success(fence, instance);
            return;
        }
        attempt.refused = (70..82).contains(&fate);
        let (verdict, status) = match fate {
            70..82 => (Verdict::Failed, 422),
            82..90 => (Verdict::Retryable, 429),
            90..94 => (Verdict::NotClaimed, 401),
            _ => (Verdict::Unknown(Reason::Status(500)), 500),
        };
        let reply = Some(reply(status, fence));
        if self.dice.percent(80) {
            let task = Task::Answer {
                fence,
                verdict,
                reply,
                instance,
            };
            self.soon(2_000, task);
        }
    }

    fn answer_success(&mut self, fence: Fence, instance: u32) {
        let receipt = receipt(fence);
        let lost = Reply {
            body: Body::Lost,
            ..receipt.clone()
        };
        let (verdict, reply) = match self.dice.below(100) {
            0..55 => (Verdict::Completed, Some(receipt)),
            55..63 => (Verdict::Completed, Some(lost)),
            63..75 => (
                Verdict::Unknown(Reason::Status(504)),
                Some(reply(504, fence)),
            ),
            75..87 => (Verdict::Unknown(Reason::ConnectionLost), None),
            87..95 => {
                let left = u32::try_from(self.dice.below(12)).unwrap();
                let task = Task::Head {
                    fence,
                    at: self.now,
                    left,
                    instance,
                };
                self.at(self.now, task);
                return;
            }
            _ => return,
        };
        let task = Task::Answer {
            fence,
            verdict,
            reply,
            instance,
        };
        self.soon(10_000, task);
    }

    pub(crate) fn look(&mut self, order: ProbeOrder) {
        let (silent, stale) = (self.dice.percent(15), self.dice.percent(50));
        let finding = if silent && self.trouble {
            Finding::Inconclusive
        } else {
            self.origin.look_up(order, self.now, stale)
        };
        let instance = self.instance;
        let most = if self.dice.percent(10) {
            100_000
        } else {
            3_000
        };
        let task = Task::Found {
            order,
            finding,
            instance,
        };
        self.soon(most, task);
    }
}
