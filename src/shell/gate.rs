//! The Durable Object: one per scoped key.
//!
//! Owns the loop of an object: load, step, save and alarm in one synchronous stretch, then perform
//! what the step says. It never decides. It is correct because a claim is stored in the stretch
//! that decides it, before the origin is called (the runtime's output gate holds the call until
//! the write is durable), and because everything that it keeps in memory (waiters, the calls that
//! are open) may be lost without harm.

#![allow(
    missing_docs,
    reason = "the attribute of the Durable Object writes functions without any"
)]

use std::cell::{Cell, RefCell};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use futures_channel::oneshot;
use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::attempt::{Attempt, Told};
use super::store::{Fault, Store};
use super::waiters::{Place, Waiters};
use super::{authorize, clock, events, http, js, limit, log, policy, probe, random, seal};
use crate::core::answer::{Answer, Problem};
use crate::core::code::Code;
use crate::core::command::echo::{self, Echo};
use crate::core::command::{Command, Fingerprint, Malformed};
use crate::core::envelope::{self, Ask, Envelope};
use crate::core::identity::{Fence, Nonce};
use crate::core::policy::{Operation, Statuses};
use crate::core::record::Record;
use crate::core::recovery::Kept;
use crate::core::step::{Arrival, Event, Manner, Reaction, Step};
use crate::core::time::Span;
use crate::core::wire::{self, Context, Message};

/// When to come back with one new key too many: the shorter of the two periods that the runtime's
/// limiter counts by.
const LIMIT_AGAIN: Span = Span::seconds(10);

/// How soon an alarm that failed is tried again.
const ALARM_AGAIN: Span = Span::seconds(30);

/// The Durable Object of one scoped key.
#[durable_object(alarm)]
pub struct Gate {
    object: Rc<Object>,
}

/// What an object has in memory; nothing of it is needed for safety.
pub(super) struct Object {
    pub(super) env: Env,
    state: State,
    pub(super) store: Store,
    waiters: Waiters,
    /// The attempts whose call this very instance still has open.
    open: RefCell<Vec<Fence>>,
    /// The lives that this very instance has a probe under way about.
    probing: RefCell<Vec<Nonce>>,
    /// Whether this very instance is delivering events.
    pub(super) delivering: Cell<bool>,
}

// A panic leaves no half-made change behind: the record is stored in one piece or not at all.
impl UnwindSafe for Gate {}
impl RefUnwindSafe for Gate {}

impl DurableObject for Gate {
    fn new(state: State, env: Env) -> Self {
        super::set_up();
        let store = Store::of(&state);
        let object = Object {
            env,
            state,
            store,
            waiters: Waiters::default(),
            open: RefCell::default(),
            probing: RefCell::default(),
            delivering: Cell::default(),
        };
        Self {
            object: Rc::new(object),
        }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let bytes = request.bytes().await?;
        let Ok((envelope, body)) = Envelope::decode(&bytes) else {
            return unavailable("the front speaks another version of the internal protocol");
        };
        let Some(operation) = policy::operation(&self.object.env, &envelope.operation) else {
            return unavailable("the policy of this object does not know the operation");
        };
        match &envelope.ask {
            Ask::Command(request) => {
                super::faults::strike(&request.headers, "gate");
                super::faults::prepare(&request.headers);
                self.object
                    .clone()
                    .command(operation, &envelope, request, body)
                    .await
            }
            Ask::Purge { nonce, reason } => self.object.purge(&envelope, *nonce, reason),
            Ask::Status(nonce) => self.object.status(&envelope, *nonce),
        }
    }

    async fn alarm(&self) -> worker::Result<Response> {
        if let Err(fault) = self.object.ring() {
            // Never abandoned: an alarm that fails would be dropped after a few attempts.
            log::fault(&fault);
            if let Err(fault) = self.object.store.wake_at(clock().after(ALARM_AGAIN)) {
                log::fault(&fault);
            }
        }
        Response::empty()
    }
}

/// A request on its way through the object.
struct Case<'a> {
    /// The nonce of the life that this request may start.
    nonce: Nonce,
    /// What this request wants to find in its answer.
    echoes: Vec<Echo>,
    kept: &'a [Kept],
    operation: &'static Operation,
    envelope: &'a Envelope,
    request: &'a envelope::Request,
    command: &'a Command<'a>,
    /// Whether a new key of the caller may be claimed without being counted first.
    counted: Cell<bool>,
    fingerprint: Result<&'a Fingerprint, &'a Malformed>,
    body: &'a [u8],
}

impl Object {
    /// The name of this object.
    pub(super) fn name(&self) -> Option<String> {
        self.state.id().name()
    }

    /// Whether the call of an attempt is still open here.
    pub(super) fn is_open(&self, fence: Fence) -> bool {
        self.open.borrow().contains(&fence)
    }

    /// Whether any call of a life is still open here.
    pub(super) fn has_call(&self, nonce: Nonce) -> bool {
        self.open.borrow().iter().any(|fence| fence.nonce == nonce)
    }

    /// Whether a probe about a life is under way here.
    pub(super) fn is_probing(&self, nonce: Nonce) -> bool {
        self.probing.borrow().contains(&nonce)
    }

    /// Notes that a probe about a life begins; false if one is under way.
    pub(super) fn begin_probe(&self, nonce: Nonce) -> bool {
        let begins = !self.is_probing(nonce);
        if begins {
            self.probing.borrow_mut().push(nonce);
        }
        begins
    }

    /// Notes that the probe about a life has ended.
    pub(super) fn end_probe(&self, nonce: Nonce) {
        self.probing
            .borrow_mut()
            .retain(|probing| *probing != nonce);
    }

    /// Runs a task of the object's own, which no client can end.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.state.wait_until(task);
    }

    /// Wakes those who wait for a record: what they wait for may have come.
    pub(super) fn wake_waiters(&self, nonce: Option<Nonce>) {
        self.waiters.wake(nonce);
    }

    /// Marks the call of an attempt as no longer open here.
    pub(super) fn close(&self, fence: Fence) {
        self.open.borrow_mut().retain(|open| *open != fence);
    }

    async fn command(
        self: Rc<Self>,
        operation: &'static Operation,
        envelope: &Envelope,
        request: &envelope::Request,
        body: &[u8],
    ) -> worker::Result<Response> {
        let (path, query) = (request.path.as_str(), query_of(&request.target));
        let command = Command {
            operation: &operation.name,
            method: &request.method,
            path,
            query,
            headers: &request.headers,
            body,
            max_decoded: operation.max_body.saturating_mul(8),
        };
        let fingerprint = operation.recipe.fingerprint(&command);
        let nonce = Nonce(random()?);
        let mut kept = probe::keep(&self.env, operation, request, &command);
        if operation.keep.encrypt {
            let reference = envelope.name.reference(nonce);
            kept = seal::seal_kept(&self.env, &reference, kept).await;
        }
        let case = Case {
            nonce,
            echoes: echo::values(&operation.recipe, &command),
            kept: &kept,
            operation,
            envelope,
            request,
            command: &command,
            counted: Cell::new(!operation.limit || envelope.counted_as.is_none()),
            fingerprint: fingerprint.as_ref(),
            body,
        };
        let manner = if request.second_try {
            Manner::SecondTry
        } else {
            Manner::First
        };
        let (mut step, mut place) = match self.arrive(&case, manner) {
            Ok(arrived) => arrived,
            Err(fault) => return self.closed(&case, &fault),
        };
        if step.reaction == Reaction::Count {
            (step, place) = match self.count(&case, manner).await {
                Ok(arrived) => arrived,
                Err(response) => return response,
            };
        }
        let mut deadline = None;
        while let Reaction::Wait { fence, until } = step.reaction {
            let until = *deadline.get_or_insert(until);
            let Some(seat) = place else { break };
            let gave_up = !seat.wait(until, clock()).await;
            (step, place) = match self.arrive(&case, Manner::Waited { fence, gave_up }) {
                Ok(arrived) => arrived,
                Err(fault) => return self.closed(&case, &fault),
            };
        }
        self.react(&case, step).await
    }

    /// Counts a new key of the caller and lets the request arrive again, if it may have one more.
    async fn count(
        self: &Rc<Self>,
        case: &Case<'_>,
        manner: Manner,
    ) -> Result<(Step, Option<Place>), worker::Result<Response>> {
        let whom = case.envelope.counted_as.as_deref().unwrap_or_default();
        let context = context(case.operation, case.envelope, None, false);
        let refuse = |problem| http::response(&wire::message(&Answer::Problem(problem), context));
        match limit::allows(&self.env, whom).await {
            Ok(true) => {
                case.counted.set(true);
                self.arrive(case, manner)
                    .map_err(|fault| self.closed(case, &fault))
            }
            Ok(false) => Err(refuse(Problem {
                retry_after: Some(LIMIT_AGAIN),
                ..Problem::of(Code::TooManyNewKeys)
            })),
            Err(error) => {
                worker::console_error!("new keys cannot be counted: {}", js::said(&error));
                Err(http::response(&closed(context)))
            }
        }
    }

    /// Lets a request arrive. A place to wait is taken in the same stretch as the decision.
    fn arrive(
        self: &Rc<Self>,
        case: &Case<'_>,
        manner: Manner,
    ) -> Result<(Step, Option<Place>), Fault> {
        let arrival = Arrival {
            operation: case.operation,
            request: case.request.id,
            manner,
            command: case.command,
            fingerprint: case.fingerprint,
            owner: case.envelope.owner,
            nonce: case.nonce,
            kept: case.kept,
            // What depends on the record is put in where that is known.
            call_open: false,
            probe_open: false,
            events: events::wanted(&self.env),
            secret: case.operation.keep.encrypt && seal::newest(&self.env).is_some(),
            uncounted: !case.counted.get(),
        };
        let step = self.transact(Event::Arrived(arrival))?;
        let place = match step.reaction {
            Reaction::Wait { fence, .. } => Some(self.waiters.take_place(fence.nonce)),
            Reaction::Answer(_)
            | Reaction::Count
            | Reaction::Deliver(_)
            | Reaction::Forward(_)
            | Reaction::Nothing => None,
        };
        Ok((step, place))
    }

    async fn react(self: Rc<Self>, case: &Case<'_>, step: Step) -> worker::Result<Response> {
        match step.reaction {
            Reaction::Answer(answer) => {
                let reference = reference(case.envelope, step.record.as_ref());
                let context = context(
                    case.operation,
                    case.envelope,
                    reference.as_deref(),
                    step.mismatch,
                );
                let answer = if answer.gives_away() {
                    let headers = &case.request.headers;
                    match authorize::replay(&self.env, case.operation, headers, context).await {
                        Ok(()) => answer,
                        Err(authorize::Refusal::Problem(problem)) => Answer::Problem(problem),
                        Err(authorize::Refusal::Response(response)) => return Ok(response),
                    }
                } else {
                    answer
                };
                let answer = seal::opened(&self.env, answer, reference.as_deref()).await;
                http::response(&wire::message(&answer, context).echo(&case.echoes))
            }
            Reaction::Forward(fence) => self.forward(case, fence).await,
            Reaction::Count | Reaction::Deliver(_) | Reaction::Nothing | Reaction::Wait { .. } => {
                unavailable("an arrival can not end this way")
            }
        }
    }

    /// Starts the attempt, which outlives this request, and gives its answer to the client.
    async fn forward(self: Rc<Self>, case: &Case<'_>, fence: Fence) -> worker::Result<Response> {
        self.open.borrow_mut().push(fence);
        let (teller, told) = oneshot::channel();
        let attempt = Attempt {
            object: self.clone(),
            operation: case.operation,
            envelope: case.envelope.clone(),
            request: case.request.clone(),
            body: case.body.to_vec(),
            echoes: case.echoes.clone(),
            fence,
            claimed_at: clock(),
        };
        self.spawn(attempt.run(teller));
        match told.await {
            Ok(Told { message, response }) => match (message, response) {
                (_, Some(response)) => Ok(response),
                (Some(message), None) => http::response(&message),
                (None, None) => unavailable("the attempt ended without an answer"),
            },
            Err(_) => unavailable("the attempt ended without an answer"),
        }
    }

    /// The store failed: nothing was forwarded.
    fn closed(&self, case: &Case<'_>, fault: &Fault) -> worker::Result<Response> {
        log::fault(fault);
        http::response(&closed(context(case.operation, case.envelope, None, false)))
    }
}

/// What an answer needs to know about its request.
pub(super) fn context<'a>(
    operation: &'a Operation,
    envelope: &'a Envelope,
    reference: Option<&'a str>,
    mismatch: bool,
) -> Context<'a> {
    Context {
        operation: Some(operation),
        house: &operation.statuses,
        base: &envelope.base,
        reference,
        mismatch,
    }
}

/// The reference of a record in the object that an envelope is for.
pub(super) fn reference(envelope: &Envelope, record: Option<&Record>) -> Option<String> {
    record.map(|record| envelope.name.reference(record.nonce))
}

/// The gate cannot do its work safely; the client may come back with the same key.
pub(super) fn closed(context: Context<'_>) -> Message {
    let problem = Problem {
        retry_after: Some(Span::seconds(5)),
        ..Problem::of(Code::GateUnavailable)
    };
    wire::message(&Answer::Problem(problem), context)
}

/// There is nothing that this caller may see.
pub(super) fn not_found(house: &Statuses, base: &str) -> Message {
    let context = Context {
        operation: None,
        house,
        base,
        reference: None,
        mismatch: false,
    };
    wire::message(&Answer::Problem(Problem::of(Code::RecordNotFound)), context)
}

pub(super) fn unavailable(why: &str) -> worker::Result<Response> {
    worker::console_error!("the gate is closed for this request: {why}");
    // The front makes a problem document of it; no origin can send this header through the gate.
    let closed = [(super::front::CLOSED.to_owned(), "1".to_owned())];
    http::build(503, &closed, http::Body::None)
}

fn query_of(target: &str) -> Option<&str> {
    target.split_once('?').map(|(_, query)| query)
}
