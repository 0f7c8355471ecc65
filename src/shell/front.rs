//! The front: what happens to a request before it reaches its object.
//!
//! Owns the path of a request: match the operation, read what identifies it, read its body, call
//! the object. It never calls the origin for a protected operation and never decides about a
//! record. Whatever it refuses has touched no object. If the call to the object fails, it asks once
//! more under the same request id, which the record of the claim knows, so that its own second try
//! is never taken for a second request.

use js_sys::Uint8Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{RequestInit, RequestRedirect};
use worker::{Env, Request, Response};

use super::admit::{Admitted, Stop, admit};
use super::dress::Dress;
use super::waiters::within;
use super::{admin, faults, http, js, pass, policy, random, well_known};
use crate::core::admission::Identified;
use crate::core::answer::{Answer, Problem, Told};
use crate::core::code::Code;
use crate::core::cors::Page;
use crate::core::envelope::{self, Ask, Envelope};
use crate::core::identity::RequestId;
use crate::core::policy::parse::Loaded;
use crate::core::policy::{
    Found, Operation, Origin, Params, Policy, Unmatched, WhileRunning, normalise,
};
use crate::core::time::Span;
use crate::core::wire::{self, Context};

/// The header by which an object says that it could not do its work safely.
pub(super) const CLOSED: &str = "oncegate-internal-closed";

/// What the object may take beyond waiting and the origin.
const MARGIN: Span = Span::seconds(5);

/// A request as the front sees it.
pub(super) struct Incoming_<'a> {
    pub(super) env: &'a Env,
    pub(super) request: &'a Request,
    pub(super) method: String,
    pub(super) target: http::Target,
    pub(super) headers: Vec<(String, String)>,
}

/// Where the operator's pages are.
const ADMIN: &str = "/.oncegate";

/// Where a request belongs.
enum Way<'a> {
    /// A protected operation.
    Operation(&'static Policy, &'static Operation, Params),
    /// One of the gate's own pages, by the path below their root.
    Page(&'a str),
    /// The origin, unprotected.
    Pass(&'static Origin),
    /// Nowhere.
    Refused(Problem),
}

/// Answers a request.
pub(super) async fn handle(request: Request, env: &Env) -> worker::Result<Response> {
    let started = super::clock();
    let raw = request.inner();
    let incoming = Incoming_ {
        env,
        request: &request,
        method: raw.method(),
        target: http::Target::of(&raw.url()),
        headers: http::pairs(&raw.headers()),
    };
    faults::strike(&incoming.headers, "front");
    let path = normalise(incoming.target.path());
    if let Some(rest) = below(&path, ADMIN) {
        return admin::answer(&incoming, rest).await;
    }
    let loaded = policy::loaded(env);
    let page = loaded
        .cors()
        .map(|cors| Page::of(cors, &incoming.method, &incoming.headers));
    // A preflight is about the request that it asks for, whatever an OPTIONS would be itself.
    let asked = page.as_ref().and_then(Page::asked);
    let way = match below(&path, wire::WELL_KNOWN) {
        Some(rest) => Way::Page(rest),
        None => way(
            loaded,
            asked.unwrap_or(&incoming.method),
            incoming.target.path(),
        ),
    };
    let mut dress = Dress {
        page,
        ..Dress::default()
    };
    let response = match (way, asked) {
        (Way::Pass(origin), _) => match pass::through(&incoming, origin).await {
            Ok(response) => return Ok(response),
            Err(error) => incoming.unreachable(&error)?,
        },
        (Way::Operation(_, operation, _), Some(_)) => return dress.preflight(&operation.key),
        (Way::Page(_) | Way::Refused(_), Some(_)) => return dress.preflight(&[]),
        (Way::Operation(policy, operation, params), None) => {
            dress.kept = &operation.keep.headers;
            dress.since = policy.server_timing.then_some(started);
            protected(&incoming, policy, operation, &params).await?
        }
        (Way::Page(rest), None) => well_known::answer(&incoming, rest).await?,
        (Way::Refused(problem), None) => incoming.refuse(None, problem)?,
    };
    dress.put_on(response)
}

/// What stands behind a root in a path that is there or below.
fn below<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    path.strip_prefix(root)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Finds where a request belongs.
fn way(loaded: &'static Loaded, method: &str, path: &str) -> Way<'static> {
    let (found, origin, unmatched) = match loaded {
        Loaded::Valid(policy) => {
            let found = match policy.find(method, path) {
                Found::Operation(operation, params) => {
                    return Way::Operation(policy, operation, params);
                }
                Found::Ambiguous => Found::Ambiguous,
                Found::Unmatched => Found::Unmatched,
            };
            (found, &policy.origin, policy.unmatched)
        }
        Loaded::Invalid {
            routes: Some(guarded),
            ..
        } => {
            let found = guarded.find(method, path);
            (found, &guarded.origin, guarded.unmatched)
        }
        Loaded::Invalid { routes: None, .. } => return Way::Refused(invalid_policy()),
    };
    match (found, unmatched) {
        (Found::Operation((), _), _) => Way::Refused(invalid_policy()),
        (Found::Ambiguous, _) => Way::Refused(Problem::of(Code::TargetAmbiguous)),
        (Found::Unmatched, Unmatched::Pass) => Way::Pass(origin),
        (Found::Unmatched, Unmatched::Refuse) => Way::Refused(Problem::of(Code::TargetUnmatched)),
    }
}

pub(super) fn invalid_policy() -> Problem {
    let problem = Problem::detailed(
        Code::GateUnavailable,
        "the policy of this gate is not valid; its log says why",
    );
    Problem {
        retry_after: Some(Span::seconds(60)),
        ..problem
    }
}

async fn protected(
    incoming: &Incoming_<'_>,
    policy: &Policy,
    operation: &'static Operation,
    params: &Params,
) -> worker::Result<Response> {
    let (body, admitted) = match admit(incoming, policy, operation, params).await? {
        Ok(admitted) => admitted,
        Err(Stop::Problem(problem)) => return incoming.refuse(Some(operation), problem),
        Err(Stop::Bypass(body)) => {
            let marks = wire::marks(Told::Bypassed, incoming.context(Some(operation)));
            return match pass::marked(incoming, &policy.origin, &marks, body).await {
                Ok(response) => Ok(response),
                Err(error) => incoming.unreachable(&error),
            };
        }
    };
    let Admitted {
        identified: Identified { name, owner },
        counted_as,
    } = admitted;
    let id = RequestId(random()?);
    let ask = |second_try| {
        Ask::Command(Box::new(envelope::Request {
            id,
            second_try,
            method: incoming.method.clone(),
            target: incoming.target.target.clone(),
            path: normalise(incoming.target.path()),
            headers: http::travelling(incoming.headers.clone()),
        }))
    };
    let mut envelope = Envelope {
        operation: operation.name.clone(),
        name,
        owner,
        base: incoming.target.base.clone(),
        counted_as,
        ask: ask(false),
    };
    let deadline = deadline(operation);
    let mut answer = within(deadline, Box::pin(call(incoming.env, &envelope, &body))).await;
    if let Some(Err(error)) = &answer {
        worker::console_warn!("a call to an object failed: {}", js::said(error));
        // An overloaded object is not helped by asking again.
        if !js::flagged(error, "overloaded") {
            envelope.ask = ask(true);
            answer = within(deadline, Box::pin(call(incoming.env, &envelope, &body))).await;
        }
    }
    incoming.relay(Some(operation), answer)
}

/// How long the object may take: to wait for another request, then for the origin.
fn deadline(operation: &Operation) -> Span {
    let waiting = match operation.while_running {
        WhileRunning::Wait { for_, .. } => for_,
        WhileRunning::Conflict | WhileRunning::Pending => Span(0),
    };
    let Span(origin) = operation.origin_timeout;
    Span(waiting.0.saturating_add(origin).saturating_add(MARGIN.0))
}

/// Calls an object, through a stub of its own: one that has failed stays broken.
pub(super) async fn call(env: &Env, envelope: &Envelope, body: &[u8]) -> Result<Response, JsValue> {
    let bytes = envelope
        .encode(body)
        .map_err(|_| JsValue::from("the envelope is too large"))?;
    let stub = stub(env, envelope)?;
    let init = RequestInit::new();
    init.set_method("POST");
    // A redirect of the origin is the client's to follow, not the front's.
    init.set_redirect(RequestRedirect::Manual);
    init.set_body(&Uint8Array::from(bytes.as_slice()));
    let request = web_sys::Request::new_with_str_and_init("https://gate/", &init)?;
    stub.fetch_with_request(request.into())
        .await
        .map_err(JsValue::from)
}

/// A stub of an object, in the place that the policy of its operation says.
fn stub(env: &Env, envelope: &Envelope) -> worker::Result<worker::Stub> {
    let name = envelope.name.as_str();
    let operation = policy::operation(env, &envelope.operation);
    let placement = operation.map(|operation| operation.placement);
    let placement = placement.unwrap_or_default();
    let mut objects = env.durable_object("GATE")?;
    if let Some(jurisdiction) = placement.jurisdiction {
        let raw: &js::Namespace = objects.as_ref().unchecked_ref();
        objects = match raw.jurisdiction(jurisdiction) {
            Ok(within) => within.unchecked_into(),
            // The runtime on a laptop has no jurisdictions; the identity has, and so the name.
            Err(error) if js::said(&error).contains("not implemented in workerd") => objects,
            Err(error) => return Err(error.into()),
        };
    }
    match placement.hint {
        Some(hint) => objects.get_by_name_with_location_hint(name, hint),
        None => objects.get_by_name(name),
    }
}

impl Incoming_<'_> {
    pub(super) fn context<'a>(&'a self, operation: Option<&'a Operation>) -> Context<'a> {
        Context {
            operation,
            house: policy::loaded(self.env).statuses(),
            base: &self.target.base,
            reference: None,
            mismatch: false,
        }
    }

    /// There is nothing that this caller may see.
    pub(super) fn not_found(&self) -> worker::Result<Response> {
        let house = policy::loaded(self.env).statuses();
        http::response(&super::gate::not_found(house, &self.target.base))
    }

    pub(super) fn refuse(
        &self,
        operation: Option<&Operation>,
        problem: Problem,
    ) -> worker::Result<Response> {
        http::response(&wire::message(
            &Answer::Problem(problem),
            self.context(operation),
        ))
    }

    /// Passes on what an object answered, if it did.
    pub(super) fn relay(
        &self,
        operation: Option<&Operation>,
        answer: Option<Result<Response, JsValue>>,
    ) -> worker::Result<Response> {
        match answer {
            Some(Ok(response)) if !response.headers().has(CLOSED)? => Ok(response),
            closed => {
                if let Some(Err(error)) = closed {
                    worker::console_error!("a call to an object failed: {}", js::said(&error));
                }
                http::response(&super::gate::closed(self.context(operation)))
            }
        }
    }

    /// An unprotected request did not reach the origin: there is no key and no operation, and
    /// whether to send it again is the client's own business.
    fn unreachable(&self, error: &JsValue) -> worker::Result<Response> {
        worker::console_warn!(
            "an unprotected call to the origin failed: {}",
            js::said(error)
        );
        let problem = Problem::detailed(
            Code::OriginUnreachable,
            "the connection to the origin was refused or lost; this request is not protected, \
             and what became of it is not known",
        );
        self.refuse(None, problem)
    }
}
