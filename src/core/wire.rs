//! Answers in HTTP.
//!
//! Owns the names, statuses and documents that clients see: the headers of every answer on a
//! protected operation, problem documents (RFC 9457), the pending document, the replay and the
//! status of an operation. It decides nothing. Gate-made answers hold nothing of a stored body, no
//! hash and not what differed, because nothing of those is ever passed in here.

use serde_json::{Map, Value, json};

use super::answer::{Answer, Problem, Told};
use super::code::Code;
use super::command::echo::{Echo, patch};
use super::policy::{Operation, Preset, Statuses};
use super::record::Record;
use super::reply::{Body, Reply};
use super::time::{Millis, Span};

/// The header that says what the gate did.
pub const STATE: &str = "Oncegate-State";
/// The header that names the operation.
pub const REFERENCE: &str = "Oncegate-Reference";
/// The header that numbers the attempt for the origin.
pub const ATTEMPT: &str = "Oncegate-Attempt";
/// Where the gate's own pages are.
pub const WELL_KNOWN: &str = "/.well-known/idempotency";

/// A response that the gate makes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body; empty where the status has none.
    pub body: Vec<u8>,
}

impl Message {
    /// The same with the values that a retry wants to find in it, wherever it has a place for them.
    /// What described the bytes before is dropped, or weakened, if they are others now.
    #[must_use]
    pub fn echo(self, echoes: &[Echo]) -> Self {
        if echoes.is_empty() {
            return self;
        }
        let body = patch(&self.body, echoes);
        if body == self.body {
            return self;
        }
        let of_bytes = ["content-digest", "content-md5", "digest", "repr-digest"];
        let mut headers = self.headers;
        headers.retain(|(name, _)| !of_bytes.iter().any(|it| name.eq_ignore_ascii_case(it)));
        for (_, value) in headers
            .iter_mut()
            .filter(|(name, _)| name.eq_ignore_ascii_case("etag"))
        {
            if value.starts_with('"') {
                value.insert_str(0, "W/");
            }
        }
        Self {
            headers,
            body,
            ..self
        }
    }
}

/// What an answer needs to know about its request.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The operation, once it is known.
    pub operation: Option<&'a Operation>,
    /// The status of answers where no operation is concerned.
    pub house: &'a Statuses,
    /// Scheme and authority by which the client reached the gate.
    pub base: &'a str,
    /// The reference of the record, where there is one.
    pub reference: Option<&'a str>,
    /// Whether the request is another command than the recorded one, answered all the same.
    pub mismatch: bool,
}

impl Context<'_> {
    fn statuses(&self) -> &Statuses {
        self.operation
            .map_or(self.house, |operation| &operation.statuses)
    }

    fn preset(&self) -> Preset {
        self.statuses().preset()
    }

    /// The URL at which the status of the record can be read.
    fn status_url(&self) -> Option<String> {
        let name = &self.operation?.name;
        Some(match self.reference {
            Some(reference) => {
                format!(
                    "{}{WELL_KNOWN}/status/{name}?reference={reference}",
                    self.base
                )
            }
            None => format!("{}{WELL_KNOWN}/status/{name}", self.base),
        })
    }
}

/// Puts an answer on the wire.
#[must_use]
pub fn message(answer: &Answer, context: Context<'_>) -> Message {
    match answer {
        Answer::Acknowledge { status } => acknowledged(*status, context),
        Answer::Pending { code, retry_after } => pending(*code, *retry_after, context),
        Answer::Problem(it) => problem(it, context),
        Answer::Replay {
            reply,
            recorded,
            told,
        } => replay(reply, *recorded, *told, context),
    }
}

/// The headers that every answer on a protected operation carries.
#[must_use]
pub fn marks(told: Told, context: Context<'_>) -> Vec<(String, String)> {
    let mut headers = vec![header(STATE, told.wire())];
    headers.extend(
        context
            .reference
            .map(|reference| header(REFERENCE, reference)),
    );
    if told == Told::Replayed {
        headers.push(header("Idempotency-Replayed", "true"));
        if context.preset() == Preset::Stripe {
            headers.push(header("Idempotent-Replayed", "true"));
        }
    }
    if context.mismatch {
        headers.push(header("Oncegate-Mismatch", "true"));
    }
    headers
}

/// Whether a status has no body whatever its headers say.
#[must_use]
pub fn bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

/// The status of an operation, for its own principal.
#[must_use]
pub fn status(record: &Record, reference: &str) -> Message {
    let document = json!({
        "operation": record.operation,
        "reference": reference,
        "state": record.state.name(),
        "outcome": record.state.outcome(),
        "attempt": record.attempt,
        "since": record.since.rfc3339(),
    });
    let headers = vec![
        header("Content-Type", "application/json"),
        header("Cache-Control", "no-store"),
        header(REFERENCE, reference),
    ];
    Message {
        status: 200,
        headers,
        body: text(&document),
    }
}

fn replay(reply: &Reply, recorded: Millis, told: Told, context: Context<'_>) -> Message {
    let mut headers = reply.headers.clone();
    headers.extend(marks(told, context));
    headers.extend(
        recorded
            .rfc3339()
            .map(|at| header("Oncegate-Recorded", &at)),
    );
    headers.push(header("Cache-Control", "no-store"));
    let body = match &reply.body {
        Body::Whole(body) if !bodiless(reply.status) => body.to_vec(),
        Body::Whole(_) | Body::Lost | Body::NotKept | Body::TooLarge => Vec::new(),
    };
    Message {
        status: reply.status,
        headers,
        body,
    }
}

fn acknowledged(status: u16, context: Context<'_>) -> Message {
    let mut headers = marks(Told::Acknowledged, context);
    headers.push(header("Cache-Control", "no-store"));
    let mut body = Vec::new();
    let written = context.operation.map(|operation| &operation.acknowledge);
    if let Some(written) = written.filter(|it| !bodiless(status) && !it.body.is_empty()) {
        let kind = written.content_type.as_deref();
        headers.push(header(
            "Content-Type",
            kind.unwrap_or("text/plain; charset=utf-8"),
        ));
        body = written.body.clone().into_bytes();
    }
    Message {
        status,
        headers,
        body,
    }
}

fn pending(code: Code, retry_after: Span, context: Context<'_>) -> Message {
    let told = if code == Code::OutcomeUnknown {
        Told::Unknown
    } else {
        Told::InProgress
    };
    let status = context.statuses().status(code);
    if status >= 400 {
        let problem_ = Problem {
            told,
            retry_after: Some(retry_after),
            ..Problem::of(code)
        };
        return problem(&problem_, context);
    }
    let status_url = context.status_url();
    let mut document = Map::new();
    document.insert("state".into(), told.wire().into());
    document.extend(
        context
            .reference
            .map(|it| ("reference".to_owned(), Value::from(it))),
    );
    document.extend(
        status_url
            .clone()
            .map(|url| ("status_url".to_owned(), Value::from(url))),
    );
    let mut headers = vec![header("Content-Type", "application/json")];
    headers.extend(status_url.map(|url| header("Location", &url)));
    headers.extend(advice(code, Some(retry_after)));
    headers.extend(marks(told, context));
    Message {
        status,
        headers,
        body: text(&Value::Object(document)),
    }
}

fn problem(problem: &Problem, context: Context<'_>) -> Message {
    let code = problem.code;
    let status = problem
        .status
        .unwrap_or_else(|| context.statuses().status(code));
    let detail = problem.detail.as_deref().unwrap_or_else(|| meaning(code));
    let mut document = facts(code, status, detail);
    let kind = format!("{}{WELL_KNOWN}/problems/{}", context.base, code.wire());
    document.insert("type".into(), kind.into());
    document.extend(
        context
            .reference
            .map(|it| ("reference".to_owned(), Value::from(it))),
    );
    if let Some(original) = &problem.original {
        document.insert("original_status".into(), original.status.into());
        document.extend(
            original
                .location
                .as_deref()
                .map(|it| ("location".to_owned(), it.into())),
        );
    }
    let described = format!("<{}{WELL_KNOWN}>; rel=\"describedby\"", context.base);
    let mut headers = vec![
        header("Content-Type", "application/problem+json"),
        header("Link", &described),
    ];
    if context.preset() == Preset::Stripe {
        document.insert("error".into(), stripe_error(code, status, detail));
        let again = code.retry() == super::code::Retry::SameKey;
        headers.push(header(
            "Stripe-Should-Retry",
            if again { "true" } else { "false" },
        ));
    }
    if status == 401 {
        // RFC 6750 §3.1 tells one who sent nothing from one whose token does not hold.
        let challenge = if code == Code::PrincipalInvalid {
            "Bearer error=\"invalid_token\""
        } else {
            "Bearer"
        };
        headers.push(header("WWW-Authenticate", challenge));
    }
    let location = problem
        .original
        .as_ref()
        .and_then(|original| original.location.as_deref());
    headers.extend(location.map(|location| header("Location", location)));
    headers.extend(advice(code, problem.retry_after));
    headers.extend(marks(problem.told, context));
    Message {
        status,
        headers,
        body: text(&Value::Object(document)),
    }
}

/// What is told of a problem wherever it is told.
pub(super) fn facts(code: Code, status: u16, detail: &str) -> Map<String, Value> {
    let mut facts = Map::new();
    for (name, text) in [
        ("title", code.title()),
        ("detail", detail),
        ("code", code.wire()),
        ("retry", code.retry().wire()),
    ] {
        facts.insert(name.to_owned(), text.into());
    }
    facts.insert("status".to_owned(), status.into());
    facts
}

/// What Stripe's SDKs decide by; without it they take a problem document for a payment.
fn stripe_error(code: Code, status: u16, message: &str) -> Value {
    let kind = if code == Code::KeyReused {
        "idempotency_error"
    } else if status >= 500 {
        "api_error"
    } else {
        "invalid_request_error"
    };
    let code = if code.is_pending() {
        "idempotency_key_in_use"
    } else {
        code.wire()
    };
    json!({ "type": kind, "code": code, "message": message })
}

/// What a client should do next.
fn advice(code: Code, retry_after: Option<Span>) -> Vec<(String, String)> {
    let mut headers = vec![
        header("Cache-Control", "no-store"),
        header("Oncegate-Retry", code.retry().wire()),
    ];
    headers.extend(retry_after.map(|it| header("Retry-After", &it.retry_after().to_string())));
    headers
}

/// What a code means, where nothing more is to be said.
pub(super) fn meaning(code: Code) -> &'static str {
    match code {
        Code::KeyMissing => "this operation needs an idempotency key",
        Code::KeyMalformed => "the idempotency key cannot be read",
        Code::CommandMalformed => "the body cannot be read as what its Content-Type says",
        Code::TargetAmbiguous => {
            "this target is another spelling of a protected operation; send the plain path"
        }
        Code::TargetUnmatched => "no operation has this method and path",
        Code::PrincipalMissing => "this operation needs credentials",
        Code::PrincipalUnstable => "these credentials change between attempts",
        Code::PrincipalInvalid => "these credentials are not valid",
        Code::KeyReused => {
            "this idempotency key was used with another request; if a second operation is meant, \
             send it with a new key"
        }
        Code::InProgress => {
            "the first request with this key is still running; send the same request again later"
        }
        Code::OutcomeUnknown => {
            "whether this operation took effect is not known yet; it will not run again by \
             itself; ask again with the same key"
        }
        Code::Duplicate => "this operation has been done; look at its status",
        Code::KeyExpired => "the reply of this operation is gone and its key is still remembered",
        Code::ReplyUnavailable => {
            "the operation is settled and will not run again, but its reply is not kept"
        }
        Code::BodyTooLarge => "the body is longer than this operation takes",
        Code::TooManyNewKeys => "too many new keys; repeats of known keys are still answered",
        Code::RecordNotFound => "there is no such operation for these credentials",
        Code::OriginUnreachable => {
            "the connection to the origin was refused or lost; whether the operation took effect \
             is not known"
        }
        Code::OriginTimeout => {
            "the origin did not answer in time; whether the operation took effect is not known"
        }
        Code::GateUnavailable => "the gate could not do its work safely; nothing was decided",
    }
}

pub(super) fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

pub(super) fn text(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}
