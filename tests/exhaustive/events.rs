//! Every event that can meet a record.

use oncegate::core::identity::{Fence, Nonce};
use oncegate::core::outcome::{Reason, Verdict};
use oncegate::core::record::{Head, Record};
use oncegate::core::recovery::Finding;
use oncegate::core::reply::{Body, Reply};
use oncegate::core::step::{Manner, ProbeOrder};
use oncegate::core::time::Millis;

use crate::policies::SETTLE;
use crate::states::{Seed, reply};

/// An event that can happen again and again.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Alarm,
    Answered {
        fence: Fence,
        verdict: Verdict,
        reply: Option<Reply>,
    },
    Arrived {
        manner: Manner,
        claimant: bool,
        content: Content,
        call_open: bool,
        probe_open: bool,
    },
    Delivered {
        nonce: Nonce,
        number: u32,
    },
    Looked,
    Probed {
        order: ProbeOrder,
        finding: Finding,
        call_open: bool,
    },
    Purged {
        nonce: Nonce,
    },
    Reading {
        fence: Fence,
        head: Head,
    },
    TimedOut {
        fence: Fence,
    },
    Undelivered,
}

/// The command of an arrival, beside the one that records are bound to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Content {
    Malformed,
    Other,
    Same,
}

pub(crate) const VERDICTS: [Verdict; 5] = [
    Verdict::Completed,
    Verdict::Failed,
    Verdict::Retryable,
    Verdict::NotClaimed,
    Verdict::Unknown(Reason::Status(500)),
];

/// A life that is not the record's.
const OTHER_LIFE: Nonce = Nonce(0xdead);

fn fence_of(seed: &Seed) -> Fence {
    let empty = Fence {
        nonce: OTHER_LIFE,
        attempt: 1,
    };
    seed.record.as_ref().map_or(empty, Record::fence)
}

/// The latest attempt, the one before it, the one after it, and one of another life.
fn fences(seed: &Seed) -> Vec<Fence> {
    let latest = fence_of(seed);
    let with = |attempt| Fence { attempt, ..latest };
    let mut fences = vec![
        latest,
        with(latest.attempt + 1),
        Fence {
            nonce: OTHER_LIFE,
            ..latest
        },
    ];
    if latest.attempt > 1 {
        fences.push(with(latest.attempt - 1));
    }
    fences
}

pub(crate) fn arrivals(seed: &Seed) -> Vec<What> {
    let latest = fence_of(seed);
    let stale = Fence {
        nonce: OTHER_LIFE,
        ..latest
    };
    let waited = |fence, gave_up| Manner::Waited { fence, gave_up };
    let mut events = Vec::new();
    for (manner, claimant) in [
        (Manner::First, false),
        (Manner::First, true),
        (Manner::SecondTry, false),
        (Manner::SecondTry, true),
        (waited(latest, false), false),
        (waited(latest, false), true),
        (waited(latest, true), false),
        (waited(latest, true), true),
        (waited(stale, false), false),
        (waited(stale, true), false),
    ] {
        for content in [Content::Same, Content::Other, Content::Malformed] {
            for (call_open, probe_open) in [(false, false), (true, false), (false, true)] {
                events.push(What::Arrived {
                    manner,
                    claimant,
                    content,
                    call_open,
                    probe_open,
                });
            }
        }
    }
    events
}

/// Everything but arrivals.
pub(crate) fn others(seed: &Seed) -> Vec<What> {
    let mut events = vec![What::Alarm, What::Looked, What::Undelivered];
    events.extend(answers(seed));
    events.extend(probes(seed));
    events.extend(heads(seed));
    let timed_out = fences(seed).into_iter();
    events.extend(timed_out.map(|fence| What::TimedOut { fence }));
    let lives = [fence_of(seed).nonce, OTHER_LIFE].into_iter();
    events.extend(lives.map(|nonce| What::Purged { nonce }));
    events.extend(deliveries(seed));
    events
}

fn answers(seed: &Seed) -> Vec<What> {
    let replies = |verdict| {
        let status = match verdict {
            Verdict::Completed => 201,
            Verdict::Failed => 422,
            Verdict::Retryable => 429,
            Verdict::NotClaimed => 401,
            Verdict::Unknown(_) => 500,
        };
        let with = |body| Reply {
            body,
            ..reply(status, "")
        };
        [
            Some(reply(status, "receipt")),
            Some(reply(status, "another receipt")),
            Some(with(Body::Lost)),
            Some(with(Body::TooLarge)),
            Some(with(Body::NotKept)),
            None,
        ]
    };
    let mut events = Vec::new();
    for fence in fences(seed) {
        for verdict in VERDICTS {
            for reply in replies(verdict) {
                events.push(What::Answered {
                    fence,
                    verdict,
                    reply,
                });
            }
        }
    }
    events
}

fn probes(seed: &Seed) -> Vec<What> {
    let since = seed.record.as_ref().map_or(seed.now, |it| it.since);
    let lost = Reply {
        body: Body::Lost,
        ..reply(200, "")
    };
    let findings = [
        Finding::Applied(reply(200, "found")),
        Finding::Applied(lost),
        Finding::Failed(reply(422, "refused")),
        Finding::Inconclusive,
        Finding::NotApplied,
        Finding::Pending,
    ];
    let latest = fence_of(seed);
    let stale = fences(seed).into_iter().skip(1);
    // Sent in time or not for the current question; for every other one, in time.
    let mut orders = vec![
        (latest, since, 0),
        (latest, since, SETTLE - 1),
        (latest, since, SETTLE),
        (latest, Millis(since.0 - 1), SETTLE),
    ];
    orders.extend(stale.map(|fence| (fence, since, SETTLE)));
    let mut events = Vec::new();
    for (fence, since, after) in orders {
        let order = ProbeOrder {
            fence,
            since,
            sent: Millis(since.0 + after),
        };
        for finding in &findings {
            for call_open in [false, true] {
                events.push(What::Probed {
                    order,
                    finding: finding.clone(),
                    call_open,
                });
            }
        }
    }
    events
}

fn heads(seed: &Seed) -> Vec<What> {
    let mut events = Vec::new();
    for fence in fences(seed) {
        for verdict in VERDICTS {
            for Millis(at) in [seed.now, Millis(seed.now.0.saturating_sub(20 * 60_000))] {
                let reply = Reply {
                    body: Body::Lost,
                    ..reply(201, "")
                };
                let head = Head {
                    verdict,
                    reply,
                    at: Millis(at),
                };
                events.push(What::Reading { fence, head });
            }
        }
    }
    events
}

fn deliveries(seed: &Seed) -> Vec<What> {
    let mut events = vec![What::Delivered {
        nonce: OTHER_LIFE,
        number: 1,
    }];
    let waiting = seed.record.iter().filter_map(|it| it.outbox.as_ref());
    for notice in waiting.flat_map(|outbox| &outbox.waiting) {
        let (nonce, number) = (notice.nonce, notice.number);
        events.push(What::Delivered { nonce, number });
    }
    events
}
