//! Every state that a record can be in, each reached by a real sequence of events.

use oncegate::core::identity::Fence;
use oncegate::core::outcome::{Reason, Verdict};
use oncegate::core::record::{Head, Record};
use oncegate::core::recovery::Finding;
use oncegate::core::reply::{Body, Read, Reply};
use oncegate::core::step::{Event, ProbeOrder};
use oncegate::core::time::Millis;

use crate::common::prepared;
use crate::common::{SAME, World, whole};
use crate::policies;

/// A record with the time at which it came to be so.
#[derive(Clone)]
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) record: Option<Record>,
    pub(crate) now: Millis,
}

/// What the sequences are built from, under one policy.
struct Past {
    world: World,
    first: Fence,
}

impl Past {
    fn new(world: &World) -> Self {
        let mut world = world.clone();
        world.arrive(SAME);
        let first = world.fence();
        Self { world, first }
    }

    fn answer(mut self, status: u16, read: Read) -> Self {
        let fence = self.world.fence();
        self.world.answer(fence, status, read);
        self
    }

    fn lose(mut self) -> Self {
        let fence = self.world.fence();
        self.world.lose(fence);
        self
    }

    fn word(mut self, verdict: Verdict) -> Self {
        let fence = self.world.fence();
        let reply = Some(reply(200, "said"));
        self.world.apply(Event::Answered {
            fence,
            verdict,
            reply,
        });
        self
    }

    fn claim(mut self) -> Self {
        self.world.arrive(SAME);
        self
    }

    fn later(mut self, seconds: u64) -> Self {
        self.world.later(seconds).apply(Event::Looked);
        self
    }

    fn alarm(mut self, seconds: u64) -> Self {
        self.world.later(seconds).apply(Event::Alarm);
        self
    }

    fn timed_out(mut self) -> Self {
        let fence = self.world.fence();
        self.world.later(30).apply(Event::TimedOut { fence });
        self
    }

    fn head(mut self, verdict: Verdict) -> Self {
        let fence = self.world.fence();
        let head = Head {
            verdict,
            reply: Reply {
                body: Body::Lost,
                ..reply(201, "")
            },
            at: self.world.now,
        };
        self.world.apply(Event::Reading { fence, head });
        self
    }

    fn late_success(mut self) -> Self {
        let first = self.first;
        self.world.answer(first, 201, whole("first receipt"));
        self
    }

    fn probed(mut self, finding: Finding) -> Self {
        self.world.later(100);
        let record = self.world.record.as_ref().unwrap();
        let order = ProbeOrder {
            fence: record.fence(),
            since: record.since,
            sent: self.world.now,
        };
        self.world.apply(Event::Probed {
            order,
            finding,
            call_open: false,
        });
        self
    }
}

/// A reply with a body.
pub(crate) fn reply(status: u16, body: &str) -> Reply {
    prepared::reply(status, Body::whole(body.as_bytes().to_vec()))
}

type Script = (&'static str, fn(Past) -> Past);

/// What can happen to an attempt under any policy.
const COMMON: &[Script] = &[
    ("running", |past| past),
    ("running, head of a success", |past| {
        past.head(Verdict::Completed)
    }),
    ("running, head of a failure", |past| {
        past.head(Verdict::Failed)
    }),
    ("running, head of a retryable", |past| {
        past.head(Verdict::Retryable)
    }),
    ("running, head of a 401", |past| {
        past.head(Verdict::NotClaimed)
    }),
    ("running, head of an unknown", |past| {
        past.head(Verdict::Unknown(Reason::Status(500)))
    }),
    ("running again", |past| past.answer(429, whole("")).claim()),
    ("completed", |past| past.answer(201, whole("receipt"))),
    ("completed, lost", |past| past.answer(201, Read::BrokeOff)),
    ("completed, too large", |past| {
        past.answer(201, Read::TooLong)
    }),
    ("completed, disputed", |past| {
        let past = past.answer(201, whole("receipt"));
        past.answer(201, whole("other receipt"))
    }),
    ("failed", |past| past.answer(422, whole("no"))),
    ("failed, lost", |past| past.answer(422, Read::BrokeOff)),
    ("retryable", |past| past.answer(429, whole("slow"))),
    ("retryable after a second attempt", |past| {
        past.answer(429, whole("")).claim().answer(401, whole(""))
    }),
    ("unknown by status", |past| past.answer(500, whole("oops"))),
    ("unknown, connection lost", Past::lose),
    ("unknown, said so", |past| {
        past.word(Verdict::Unknown(Reason::OriginSaid))
    }),
    ("unknown, lease lapsed", |past| past.later(61)),
    ("unknown, lapsed by the alarm", |past| past.alarm(60)),
    ("unknown, timed out", Past::timed_out),
    ("unknown, asked once", |past| past.lose().alarm(2)),
    ("unknown, asked often", |past| past.lose().alarm(2).alarm(5)),
    ("unknown, escalated", |past| past.lose().alarm(100)),
    ("expired, completed", |past| {
        past.answer(201, whole("receipt")).later(3_600)
    }),
    ("expired, failed", |past| {
        past.answer(422, whole("no")).later(3_601)
    }),
    ("forgotten, completed", |past| {
        past.answer(201, whole("receipt")).later(7_200)
    }),
    ("forgotten, retryable", |past| {
        past.answer(429, whole("")).later(7_300)
    }),
];

/// What needs a policy that runs an unknown outcome again.
const RERUN: &[Script] = &[
    ("running, unresolved", |past| past.lose().claim()),
    ("running, unresolved, head of a failure", |past| {
        past.lose().claim().head(Verdict::Failed)
    }),
    ("running, late success", |past| {
        past.lose().claim().late_success()
    }),
    ("running, late success, head of a failure", |past| {
        past.lose().claim().late_success().head(Verdict::Failed)
    }),
    ("unknown, refused while unresolved", |past| {
        past.lose().claim().answer(422, whole("no"))
    }),
    ("unknown, unresolved, lost", |past| {
        past.lose().claim().lose()
    }),
    ("completed, late success disputed", |past| {
        past.lose().claim().late_success().answer(422, whole("no"))
    }),
    ("completed, second attempt", |past| {
        past.lose().claim().answer(201, whole("second"))
    }),
];

/// What needs a policy that asks the origin.
const RECONCILE: &[Script] = &[
    ("completed by a probe", |past| {
        past.lose().probed(Finding::Applied(reply(200, "found")))
    }),
    ("failed by a probe", |past| {
        past.lose().probed(Finding::Failed(reply(422, "refused")))
    }),
    ("retryable by a probe", |past| {
        past.lose().probed(Finding::NotApplied)
    }),
    ("completed, lost, asked", |past| {
        past.answer(201, Read::BrokeOff).alarm(2)
    }),
    ("unknown again after a probe", |past| {
        past.lose().probed(Finding::NotApplied).claim().lose()
    }),
];

/// A new life in the tombstone of another, which still has something to tell.
const NEW_LIFE: &[Script] = &[
    ("a new life", |past| new_life(past)),
    ("a new life, completed", |past| {
        new_life(past).answer(201, whole("another receipt"))
    }),
    ("a new life, erased", |past| {
        new_life(past).answer(401, whole("who?"))
    }),
];

fn new_life(past: Past) -> Past {
    let mut past = past.answer(201, whole("receipt"));
    past.world.later(7_200).arrive(SAME);
    past.first = past.world.fence();
    past
}

/// What is still to be told outside.
const OUTBOXES: [&str; 4] = ["nobody listens", "news", "the sink refused", "told"];

/// Every seed, none of them twice.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = vec![Seed {
        name: "none".to_owned(),
        record: None,
        now: Millis(1_000_000),
    }];
    let births = ["hold", "rerun", "reconcile", "guard"].into_iter();
    for (birth, operation) in births.zip(policies::recoveries()) {
        for outbox in OUTBOXES {
            let mut world = World::of(operation);
            world.events = outbox != "nobody listens";
            let special: &[Script] = match birth {
                "rerun" => RERUN,
                "reconcile" => RECONCILE,
                _ => &[],
            };
            for (name, script) in COMMON.iter().chain(special).chain(NEW_LIFE) {
                let past = script(Past::new(&world));
                let record = told(past.world.record, outbox, past.world.now);
                let known = seeds.iter().any(|seed| same(&seed.record, &record));
                if !known {
                    seeds.push(Seed {
                        name: format!("{name} ({birth}, {outbox})"),
                        record,
                        now: past.world.now,
                    });
                }
            }
        }
    }
    seeds
}

/// The same record, journal and the numbers of requests aside.
fn same(one: &Option<Record>, other: &Option<Record>) -> bool {
    let bare = |record: &Option<Record>| {
        record.clone().map(|record| Record {
            journal: Vec::new(),
            ..record
        })
    };
    bare(one) == bare(other)
}

fn told(record: Option<Record>, outbox: &str, now: Millis) -> Option<Record> {
    let mut record = record?;
    let newest = record.outbox.as_ref().and_then(|it| it.waiting.last());
    let newest = newest.map(|notice| (notice.nonce, notice.number));
    if let (Some(outbox), "the sink refused") = (&mut record.outbox, outbox) {
        outbox.failed(now);
    } else if let (Some(outbox), Some((nonce, number)), "told") =
        (&mut record.outbox, newest, outbox)
    {
        outbox.delivered(nonce, number, now);
        if record.forgotten(now) {
            return None;
        }
    }
    Some(record)
}
