//! The origin: it applies an attempt once or not at all, may lose its answer or give it late, and
//! answers its look-up truthfully, though for a while what it has just taken may not show there.

use oncegate::core::identity::Fence;
use oncegate::core::outcome::{Reason, Verdict};
use oncegate::core::reply::{Body, Reply};
use oncegate::core::time::Span;

use crate::actions::Way;
use crate::common::prepared;
use crate::gate::LOST;
use crate::world::{Asked, Call, Fate, Seen, World};

/// How long the look-up may not know of an attempt.
pub(crate) const LAG: Span = Span(40);

fn reply(status: u16, fence: Fence) -> Reply {
    let body = format!("{} of {}.{}", status, fence.nonce.0, fence.attempt);
    prepared::reply(status, Body::whole(body.into_bytes()))
}

/// The receipt of an attempt's effect.
pub(crate) fn receipt(fence: Fence) -> Reply {
    reply(201, fence)
}

/// The refusal of an attempt.
pub(crate) fn refusal(fence: Fence) -> Reply {
    reply(422, fence)
}

/// The ways in which an attempt can be answered, by what became of it. An answer that comes before
/// anybody could look decides what became of it.
pub(crate) fn ways(call: &Call) -> &'static [Way] {
    match call.fate {
        Fate::Applied if call.head => &[Way::Success, Way::BrokenOff],
        Fate::Applied => &[Way::Success, Way::BrokenOff, Way::Relayed, Way::Lost],
        Fate::Without => &[Way::Refused, Way::Busy, Way::Denied, Way::Lost],
        Fate::Open => &[
            Way::Success,
            Way::BrokenOff,
            Way::Refused,
            Way::Busy,
            Way::Denied,
            Way::Relayed,
            Way::Lost,
        ],
    }
}

/// What an answer says about the effect; nothing if it comes from somebody in between.
pub(crate) fn fate(way: Way) -> Option<Fate> {
    match way {
        Way::Success | Way::BrokenOff => Some(Fate::Applied),
        Way::Refused | Way::Busy | Way::Denied => Some(Fate::Without),
        Way::Relayed | Way::Lost => None,
    }
}

pub(crate) fn answer(call: &Call, way: Way) -> (Verdict, Option<Reply>) {
    let fence = call.fence;
    let lost = Reply {
        body: Body::Lost,
        ..receipt(fence)
    };
    match way {
        Way::Success => (Verdict::Completed, Some(receipt(fence))),
        Way::BrokenOff => (Verdict::Completed, Some(lost)),
        Way::Refused => (Verdict::Failed, Some(refusal(fence))),
        Way::Busy => (Verdict::Retryable, Some(reply(429, fence))),
        Way::Denied => (Verdict::NotClaimed, Some(reply(401, fence))),
        Way::Relayed => (
            Verdict::Unknown(Reason::Status(504)),
            Some(reply(504, fence)),
        ),
        Way::Lost => (LOST, None),
    }
}

impl World {
    /// What the look-up may answer now.
    pub(crate) fn views(&self, asked: &Asked) -> Vec<Seen> {
        let mine = |call: &&Call| call.fence.nonce == asked.fence.nonce;
        let mut views = Vec::new();
        let effect = self.effects(asked.fence.nonce.0).next();
        let fresh = self
            .calls
            .iter()
            .filter(mine)
            .any(|call| call.sent.after(LAG) > self.now);
        match effect {
            Some(call) => views.push(Seen::Applied(call.fence)),
            None => views.push(Seen::NotApplied),
        }
        if effect.is_some() && fresh {
            // It does not show yet.
            views.push(Seen::NotApplied);
        }
        let over = |call: Call| call.fate == Fate::Without;
        if effect.is_none() && self.calls.iter().filter(mine).cloned().all(over) {
            views.push(Seen::Failed);
        }
        if self.faults > 0 {
            views.push(Seen::Nothing);
        }
        views
    }

    /// The look-up answers. Once what it shows is complete, "not there" is a promise: the origin
    /// refuses what it was asked about, should it still come.
    pub(crate) fn look_up(&mut self, seen: Seen) {
        let now = self.now;
        let Some(asked) = &mut self.probe else { return };
        asked.seen = Some(seen);
        let fence = asked.fence;
        let named = |call: &&mut Call| {
            call.fence.nonce == fence.nonce && call.fence.attempt <= fence.attempt
        };
        match seen {
            Seen::Nothing => self.faults -= 1,
            Seen::NotApplied => {
                for call in self.calls.iter_mut().filter(named) {
                    if call.fate == Fate::Open && call.sent.after(LAG) <= now {
                        call.fate = Fate::Without;
                    }
                }
            }
            Seen::Applied(_) | Seen::Failed => {}
        }
    }
}
