//! A record and its clock, for tests of the state machine.
#![allow(
    dead_code,
    missing_docs,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "each test uses a part of it, and a test may fail"
)]

pub mod prepared;

use oncegate::core::answer::{Answer, Told};
use oncegate::core::command::Command;
use oncegate::core::identity::{Digest, Fence, Identity, Nonce, RequestId};
use oncegate::core::outcome::{self, Reason, Verdict};
use oncegate::core::policy::Operation;
use oncegate::core::policy::parse::{Loaded, parse};
use oncegate::core::record::{Record, State};
use oncegate::core::reply::{Read, Reply};
use oncegate::core::step::{Arrival, Event, Manner, Moment, Reaction, Step, step};
use oncegate::core::time::{Millis, Span};
use oncegate::core::wire::{Context, Message, message};
use serde_json::{Value, json};

/// An operation of a policy that sets some fields.
pub fn operation(fields: Value) -> &'static Operation {
    let mut operation = json!({
        "name": "create_payment",
        "match": "POST /v1/payments",
        "principal": "authorization",
    });
    for (name, value) in fields.as_object().unwrap() {
        operation[name] = value.clone();
    }
    let globals = json!({ "origin": "https://origin.example", "operations": [operation] });
    match parse(Some(globals), Vec::new()) {
        Loaded::Valid(policy) => &Box::leak(Box::new(policy)).operations[0],
        Loaded::Invalid { errors, .. } => panic!("{errors:?}"),
    }
}

/// The body that tests mean by "the same command".
pub const SAME: &[u8] = br#"{"amount":"10.00"}"#;
/// Another one.
pub const OTHER: &[u8] = br#"{"amount":"100.00"}"#;

/// One key, its record and the time.
#[derive(Clone)]
pub struct World {
    pub operation: &'static Operation,
    pub record: Option<Record>,
    pub now: Millis,
    /// Whether this instance still has a call open.
    pub call_open: bool,
    /// Whether this instance has a probe under way.
    pub probe_open: bool,
    /// Whether anybody listens to events.
    pub events: bool,
    /// Whether there is a secret to encrypt with.
    pub secret: bool,
    /// Whether new keys have to be counted.
    pub uncounted: bool,
    drawn: u64,
}

impl World {
    pub fn new(fields: Value) -> Self {
        Self::of(operation(fields))
    }

    pub fn of(operation: &'static Operation) -> Self {
        Self {
            operation,
            record: None,
            now: Millis(1_000_000),
            call_open: false,
            probe_open: false,
            events: false,
            secret: true,
            uncounted: false,
            drawn: 0,
        }
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.drawn
    }

    pub fn later(&mut self, seconds: u64) -> &mut Self {
        self.now = self.now.after(Span::seconds(seconds));
        self
    }

    /// A new request with a body.
    pub fn arrive(&mut self, body: &[u8]) -> Step {
        let request = RequestId(self.draw());
        self.arrive_as(request, Manner::First, body)
    }

    pub fn arrive_as(&mut self, request: RequestId, manner: Manner, body: &[u8]) -> Step {
        let mut world = self.clone();
        let step = self.with_arrival(request, manner, body, |arrival| {
            world.apply(Event::Arrived(arrival))
        });
        self.record = world.record;
        step
    }

    /// Does something with a request.
    pub fn with_arrival<T>(
        &mut self,
        request: RequestId,
        manner: Manner,
        body: &[u8],
        act: impl FnOnce(Arrival<'_>) -> T,
    ) -> T {
        let nonce = Nonce(self.draw());
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        let command = Command {
            operation: &self.operation.name,
            method: "POST",
            path: "/v1/payments",
            query: None,
            headers: &headers,
            body,
            max_decoded: 1 << 20,
        };
        let fingerprint = self.operation.recipe.fingerprint(&command);
        let arrival = Arrival {
            operation: self.operation,
            request,
            manner,
            command: &command,
            fingerprint: fingerprint.as_ref(),
            owner: Digest::of(b"owner"),
            kept: &[],
            nonce,
            call_open: self.call_open,
            probe_open: self.probe_open,
            events: self.events,
            secret: self.secret,
            uncounted: self.uncounted,
        };
        act(arrival)
    }

    /// The origin answers an attempt with a status and a body.
    pub fn answer(&mut self, fence: Fence, status: u16, read: Read) -> Step {
        let verdict = outcome::classify(status, None, &self.operation.outcomes);
        let reply = Reply::keep(status, &[], read, &self.operation.keep);
        self.apply(Event::Answered {
            fence,
            verdict,
            reply: Some(reply),
        })
    }

    pub fn lose(&mut self, fence: Fence) -> Step {
        let verdict = Verdict::Unknown(Reason::ConnectionLost);
        self.apply(Event::Answered {
            fence,
            verdict,
            reply: None,
        })
    }

    pub fn apply(&mut self, event: Event<'_>) -> Step {
        let moment = Moment {
            now: self.now,
            operation: Some(self.operation),
            draw: 0,
        };
        let step = step(self.record.take(), event, moment);
        self.record = step.record.clone();
        step
    }

    pub fn fence(&self) -> Fence {
        self.record.as_ref().unwrap().fence()
    }

    pub fn state(&self) -> &'static str {
        self.record
            .as_ref()
            .map_or("none", |record| record.state.name())
    }

    pub fn settled(&self) -> &State {
        &self.record.as_ref().unwrap().state
    }

    /// What a step comes to on the wire, in a few words.
    pub fn words(&self, step: &Step) -> String {
        let mark = if step.mismatch { " mismatch" } else { "" };
        match &step.reaction {
            Reaction::Answer(answer) => format!("{}{mark}", short(&self.wire(answer, step))),
            Reaction::Count => "count".to_owned(),
            Reaction::Deliver(told) => format!("deliver {}", told.wire()),
            Reaction::Forward(fence) => format!("forward {}", fence.attempt),
            Reaction::Nothing => "nothing".to_owned(),
            Reaction::Wait { until, .. } => {
                format!("wait {}s{mark}", until.left(self.now).0 / 1_000)
            }
        }
    }

    pub fn wire(&self, answer: &Answer, step: &Step) -> Message {
        let name = Identity::of("test").name();
        let reference = step
            .record
            .as_ref()
            .map(|record| name.reference(record.nonce));
        let context = Context {
            operation: Some(self.operation),
            house: &self.operation.statuses,
            base: "https://gate.example",
            reference: reference.as_deref(),
            mismatch: step.mismatch,
        };
        message(answer, context)
    }
}

/// A whole body.
pub fn whole(text: &str) -> Read {
    Read::Whole(text.as_bytes().to_vec())
}

/// Status, state, and the code or the body.
pub fn short(message: &Message) -> String {
    let header = |name: &str| {
        message
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    };
    let code = serde_json::from_slice::<Value>(&message.body)
        .ok()
        .and_then(|document| document["code"].as_str().map(str::to_owned));
    let body = String::from_utf8_lossy(&message.body).into_owned();
    let state = header("oncegate-state").unwrap_or("-");
    let rest = match code {
        Some(code) => format!(" {code}"),
        None if state == Told::Replayed.wire() || state == Told::Executed.wire() => {
            format!(" {body}")
        }
        None => String::new(),
    };
    format!("{} {state}{rest}", message.status)
}

/// How a record came to be; the time is right after it.
pub fn world(fields: &Value, past: &str) -> World {
    let mut world = World::new(fields.clone());
    if past == "none" {
        return world;
    }
    world.arrive(SAME);
    let fence = world.fence();
    match past {
        "running" => {}
        "completed" => drop(world.answer(fence, 201, whole("receipt"))),
        "lost" => drop(world.answer(fence, 201, Read::BrokeOff)),
        "too_large" => drop(world.answer(fence, 201, Read::TooLong)),
        "failed" => drop(world.answer(fence, 422, whole("no"))),
        "retryable" => drop(world.answer(fence, 429, whole("slow down"))),
        "unknown" => drop(world.answer(fence, 500, whole("oops"))),
        "expired" => {
            world.answer(fence, 201, whole("receipt"));
            world.later(24 * 3_600);
        }
        "forgotten" => {
            world.answer(fence, 201, whole("receipt"));
            world.later(30 * 24 * 3_600);
        }
        other => panic!("{other}"),
    }
    world
}
