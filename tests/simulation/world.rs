//! One run: its clock, its queue of what is to come, and what is where.

use std::collections::BTreeMap;

use oncegate::core::identity::{Fence, RequestId};
use oncegate::core::outcome::Verdict;
use oncegate::core::record::Record;
use oncegate::core::recovery::Finding;
use oncegate::core::reply::Reply;
use oncegate::core::step::ProbeOrder;
use oncegate::core::time::{Millis, Span};

use crate::oracle::Oracle;
use crate::origin::Origin;
use crate::policies::{self, Deploy};

/// How many requests the clients of a run make, and in what time.
const REQUESTS: u64 = 40;
const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;
/// More than a run can need: a key that never comes to rest is a failure.
const MOST_TASKS: u32 = 50_000;

/// Numbers that follow from a seed (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.draw() % most.max(1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// A request of a client on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) other: bool,
    pub(crate) second: bool,
}

/// Something that is to come. What belongs to an instance carries its number, and dies with it.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    Send(Request),
    Woken {
        request: Request,
        fence: Fence,
        until: Millis,
        instance: u32,
    },
    Decide {
        fence: Fence,
        other: bool,
        instance: u32,
    },
    Head {
        fence: Fence,
        at: Millis,
        left: u32,
        instance: u32,
    },
    Answer {
        fence: Fence,
        verdict: Verdict,
        reply: Option<Reply>,
        instance: u32,
    },
    TimeOut {
        fence: Fence,
        instance: u32,
    },
    LeaseEnds {
        fence: Fence,
        instance: u32,
    },
    Alarm,
    Look {
        order: ProbeOrder,
        instance: u32,
    },
    Found {
        order: ProbeOrder,
        finding: Finding,
        instance: u32,
    },
    Sink {
        taken: bool,
        instance: u32,
    },
    Crash,
    Deploy,
}

/// A call that this instance has open.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) fence: Fence,
    pub(crate) caller: Option<Request>,
    pub(crate) head: bool,
    pub(crate) timed_out: bool,
}

pub(crate) struct Run {
    pub(crate) dice: Dice,
    pub(crate) now: Millis,
    queue: BTreeMap<(u64, u64), Task>,
    queued: u64,
    pub(crate) deploys: &'static [Deploy],
    pub(crate) deployed: usize,
    /// What is durable.
    pub(crate) store: Option<Vec<u8>>,
    pub(crate) alarm: Option<Millis>,
    /// What an instance has in memory.
    pub(crate) instance: u32,
    pub(crate) open: Vec<Open>,
    pub(crate) waiting: Vec<(Request, Fence, Millis)>,
    pub(crate) probing: bool,
    pub(crate) delivering: bool,
    pub(crate) origin: Origin,
    pub(crate) oracle: Oracle,
    pub(crate) drawn: u64,
    /// Whether things go wrong.
    pub(crate) trouble: bool,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) trace: Vec<String>,
    loud: bool,
    rings: (Millis, u32),
}

impl Run {
    pub(crate) fn new(seed: u64, loud: bool) -> Self {
        let deploys = policies::deploys(seed.is_multiple_of(3));
        let mut dice = Dice(seed);
        let deployed = usize::try_from(dice.below(deploys.len() as u64)).unwrap();
        Self {
            dice,
            now: Millis(1_800_000_000_000),
            queue: BTreeMap::new(),
            queued: 0,
            deploys,
            deployed,
            store: None,
            alarm: None,
            instance: 0,
            open: Vec::new(),
            waiting: Vec::new(),
            probing: false,
            delivering: false,
            origin: Origin::default(),
            oracle: Oracle::default(),
            drawn: 0,
            trouble: true,
            counts: BTreeMap::new(),
            trace: Vec::new(),
            loud,
            rings: (Millis(0), 0),
        }
    }

    /// The whole run: trouble, then peace, in which everything comes to rest.
    pub(crate) fn run(&mut self) {
        let mut at = self.now.0;
        for _ in 0..REQUESTS {
            at += match self.dice.below(10) {
                0..=5 => self.dice.below(3 * SECOND),
                6..=7 => self.dice.below(90 * SECOND),
                8 => self.dice.below(2 * HOUR),
                _ => self.dice.below(40 * HOUR),
            };
            let request = self.next_request();
            self.at(Millis(at), Task::Send(request));
            if self.dice.percent(15) {
                let after = self.dice.below(60 * SECOND);
                self.at(Millis(at + after), Task::Crash);
            }
            if self.dice.percent(12) {
                let after = self.dice.below(100 * SECOND);
                self.at(Millis(at + after), Task::Deploy);
            }
        }
        self.until(Some(Millis(at)));
        self.note("peace".to_owned());
        self.trouble = false;
        self.deployed = self.deploys.len() - 1;
        self.crash();
        // Somebody asks once more, so that what was held is asked about under the last policy.
        self.drawn += 1;
        let last = Request {
            id: RequestId(self.drawn),
            other: false,
            second: false,
        };
        self.at(self.now, Task::Send(last));
        self.until(None);
        assert!(
            self.store.is_none(),
            "not empty in the end: {:#?}",
            self.record()
        );
        self.oracle.at_rest(&self.origin);
    }

    fn next_request(&mut self) -> Request {
        self.drawn += 1;
        Request {
            id: RequestId(self.drawn),
            other: self.dice.percent(12),
            second: false,
        }
    }

    /// Lets happen what is to come, until then or until nothing is.
    fn until(&mut self, end: Option<Millis>) {
        for _ in 0..MOST_TASKS {
            let Some((at, _)) = self.queue.keys().next().copied() else {
                return;
            };
            if end.is_some_and(|end| at > end.0) {
                return;
            }
            let Some((_, task)) = self.queue.pop_first() else {
                return;
            };
            self.now = Millis(at.max(self.now.0));
            self.happen(task);
        }
        panic!("it never comes to rest: {:#?}", self.record());
    }

    pub(crate) fn at(&mut self, at: Millis, task: Task) {
        self.queued += 1;
        self.queue.insert((at.0, self.queued), task);
    }

    pub(crate) fn soon(&mut self, most: u64, task: Task) {
        let after = self.dice.below(most);
        self.at(self.now.after(Span(after)), task);
    }

    pub(crate) fn note(&mut self, what: String) {
        let line = format!("{} {what}", self.now.0);
        if self.loud {
            println!("{line}");
        }
        self.trace.push(line);
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(crate) fn record(&self) -> Option<Record> {
        let bytes = self.store.as_ref()?;
        Some(Record::decode(bytes, |_| None).unwrap())
    }

    fn happen(&mut self, task: Task) {
        let instance = match &task {
            Task::Woken { instance, .. }
            | Task::Head { instance, .. }
            | Task::TimeOut { instance, .. }
            | Task::LeaseEnds { instance, .. }
            | Task::Look { instance, .. }
            | Task::Found { instance, .. }
            | Task::Sink { instance, .. } => Some(*instance),
            _ => None,
        };
        if instance.is_some_and(|instance| instance != self.instance) {
            return;
        }
        let disturbs = matches!(task, Task::Crash | Task::Deploy);
        if disturbs && !self.trouble {
            return;
        }
        match task {
            Task::Send(request) => self.send(request),
            Task::Woken {
                request,
                fence,
                until,
                ..
            } => self.woken(request, fence, until),
            Task::Decide {
                fence,
                other,
                instance,
            } => self.decide(fence, other, instance),
            Task::Head {
                fence, at, left, ..
            } => self.head(fence, at, left),
            Task::Answer {
                fence,
                verdict,
                reply,
                instance,
            } => {
                self.answer(fence, verdict, reply, instance);
            }
            Task::TimeOut { fence, .. } => self.time_out(fence),
            Task::LeaseEnds { fence, .. } => self.lease_ends(fence),
            Task::Alarm => self.ring(),
            Task::Look { order, .. } => self.look(order),
            Task::Found { order, finding, .. } => self.found(order, finding),
            Task::Sink { taken, .. } => self.sink(taken),
            Task::Crash => self.crash(),
            Task::Deploy => {
                self.deployed =
                    usize::try_from(self.dice.below(self.deploys.len() as u64)).unwrap();
                self.note(format!("deploy {}", self.deployed));
                self.crash();
            }
        }
    }

    /// That an alarm does not ring again and again at one moment.
    pub(crate) fn rang(&mut self) {
        let (at, times) = self.rings;
        self.rings = if at == self.now {
            (at, times + 1)
        } else {
            (self.now, 1)
        };
        assert!(
            self.rings.1 <= 5,
            "the alarm rings without end: {:#?}",
            self.record()
        );
    }
}
