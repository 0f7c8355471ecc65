//! The seven design questions, answered by an operation in plain words.
//!
//! Owns the words alone: every fact is read from the typed policy, and every choice is an
//! exhaustive match, so that a new choice cannot go unmentioned.

use super::words::{list, size, span};
use crate::core::code::Code;
use crate::core::command::{QueryRule, Recipe, WhenMalformed};
use crate::core::policy::{
    AfterExpiry, AfterWait, Effect, KeepReply, KeyPart, OnMismatch, OnRepeat, Operation, Principal,
    Recovery, ScopePart, WhenAbsent, WhileRunning,
};
use crate::core::reply::LARGEST_KEPT;
use crate::core::time::Span;

/// A question: its name in JSON, its heading, its answer.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    pub(super) answer: String,
}

/// All seven, in the order of the documentation.
pub(super) fn answers(operation: &Operation) -> [Question; 7] {
    let question = |name, heading, answer| Question {
        name,
        heading,
        answer,
    };
    [
        question("scope", "1 scope", scope(operation)),
        question("operation", "2 operation", identity(operation)),
        question("mismatch", "3 same key", same_key(operation)),
        question("concurrency", "4 at once", concurrency(operation)),
        question("stored", "5 stored", stored(operation)),
        question("expiry", "6 expiry", expiry(operation)),
        question("recovery", "7 unknown", recovery(operation)),
    ]
}

/// An answer of the gate, with the status that this operation gives it.
fn told(operation: &Operation, code: Code) -> String {
    format!("{} {}", operation.statuses.status(code), code.wire())
}

fn scope(operation: &Operation) -> String {
    let parts: Vec<String> = operation
        .scope
        .iter()
        .map(|part| match part {
            ScopePart::Principal => principal(&operation.principal),
            ScopePart::Value(part) => place(part),
        })
        .collect();
    let missing = match operation.principal {
        Principal::Authorization { .. }
        | Principal::Cookie(_)
        | Principal::Header(_)
        | Principal::Jwt(_) => format!(
            " A request without credentials gets {}.",
            told(operation, Code::PrincipalMissing)
        ),
        Principal::None => String::new(),
    };
    if parts.is_empty() {
        return "One set of keys for everybody: a key means the same whoever sends it.".to_owned();
    }
    let parts = list(&parts);
    let limit = if operation.limit {
        let told = told(operation, Code::TooManyNewKeys);
        format!(" New keys of one caller are counted; one too many gets {told}.")
    } else {
        String::new()
    };
    let asks = operation
        .authorize_replay
        .as_ref()
        .map_or_else(String::new, |question| {
            format!(" Before anything stored is given out, the origin is asked GET {question}.")
        });
    format!(
        "Keys belong to {parts}: the same key from elsewhere is another \
         one.{missing}{limit}{asks}"
    )
}

fn principal(principal: &Principal) -> String {
    let by = match principal {
        Principal::Authorization { any: false } => {
            "digest of the header Authorization, opaque credentials only".to_owned()
        }
        Principal::Authorization { any: true } => {
            "digest of the header Authorization, whatever it holds".to_owned()
        }
        Principal::Cookie(name) => format!("digest of the cookie {name}"),
        Principal::Header(name) => format!("digest of the header {name}"),
        Principal::Jwt(claim) => format!("the claim {claim} of a verified token, and its issuer"),
        Principal::None => return "nobody in particular".to_owned(),
    };
    format!("the caller ({by})")
}

fn place(part: &KeyPart) -> String {
    match part {
        KeyPart::Header(name) => format!("the header {name}"),
        KeyPart::Query(name) => format!("the query parameter {name}"),
        KeyPart::Path(name) => format!("the path parameter {name}"),
        KeyPart::Body(pointer) => format!("the value of the body at {pointer}"),
    }
}

fn identity(operation: &Operation) -> String {
    let places: Vec<String> = operation.key.iter().map(place).collect();
    let absent = match operation.when_absent {
        WhenAbsent::Refuse => format!("is refused: {}", told(operation, Code::KeyMissing)),
        WhenAbsent::Pass => "goes to the origin unprotected, marked bypassed".to_owned(),
    };
    format!(
        "The name of the operation is part of the identity: one key under two operations is two \
         keys. The key is {}. A request without it {absent}.",
        list(&places),
    )
}

fn same_key(operation: &Operation) -> String {
    let other = match operation.on_mismatch {
        OnMismatch::Refuse => format!(
            "Another command under a used key is refused: {}.",
            told(operation, Code::KeyReused)
        ),
        OnMismatch::Replay => {
            "Another command under a used key gets the first answer, marked as a mismatch."
                .to_owned()
        }
        OnMismatch::Separate => {
            "Another command under a used key is an operation of its own, 100 at most.".to_owned()
        }
        OnMismatch::Ignore => "The key alone counts: the content is not compared.".to_owned(),
    };
    let repeat = match operation.on_repeat {
        OnRepeat::Replay => "The same command again gets the stored answer.".to_owned(),
        OnRepeat::Refuse => format!(
            "The same command again is refused after a success ({}) and runs again after a \
             failure.",
            told(operation, Code::Duplicate)
        ),
        OnRepeat::Acknowledge => {
            let status = operation.acknowledge.status;
            let gets = status.map_or_else(|| "the stored status".to_owned(), |it| it.to_string());
            format!(
                "The same command again gets {gets} after a success, is dropped, and runs again \
                 after a failure."
            )
        }
    };
    match operation.on_mismatch {
        OnMismatch::Ignore => format!("{other} {repeat}"),
        OnMismatch::Refuse | OnMismatch::Replay | OnMismatch::Separate => {
            format!("{other} {repeat} {}", command(&operation.recipe))
        }
    }
}

fn command(recipe: &Recipe) -> String {
    let mut parts: Vec<String> = Vec::new();
    if recipe.target {
        parts.extend(["method".to_owned(), "path".to_owned()]);
    }
    match &recipe.query {
        QueryRule::All => parts.push("the query".to_owned()),
        QueryRule::Names(names) => {
            parts.push(format!("the query parameters {}", list(names)));
        }
        QueryRule::None => {}
    }
    if !recipe.headers.is_empty() {
        parts.push(format!("the headers {}", list(&recipe.headers)));
    }
    parts.extend(["media type".to_owned(), "body".to_owned()]);
    let rules: Vec<String> = [
        (
            "without",
            recipe.ignore.iter().map(ToString::to_string).collect(),
        ),
        (
            "decimals at",
            recipe.decimals.iter().map(ToString::to_string).collect(),
        ),
        (
            "letter case ignored at",
            recipe.casefold.iter().map(ToString::to_string).collect(),
        ),
        (
            "times at",
            recipe
                .timestamps
                .iter()
                .map(|(at, _)| at.to_string())
                .collect(),
        ),
        (
            "defaults at",
            recipe
                .defaults
                .iter()
                .map(|(at, _)| at.to_string())
                .collect(),
        ),
        (
            "echoed, not compared,",
            recipe.echo.iter().map(ToString::to_string).collect(),
        ),
    ]
    .into_iter()
    .filter(|(_, pointers): &(&str, Vec<String>)| !pointers.is_empty())
    .map(|(rule, pointers)| format!("{rule} {}", list(&pointers)))
    .collect();
    let rules = if rules.is_empty() {
        String::new()
    } else {
        format!(" ({})", rules.join("; "))
    };
    let malformed = match recipe.when_malformed {
        WhenMalformed::Refuse => "is refused",
        WhenMalformed::Bytes => "is compared byte by byte",
    };
    let earlier: Vec<String> = recipe
        .earlier
        .iter()
        .map(|it| it.version.to_string())
        .collect();
    let earlier = if earlier.is_empty() {
        String::new()
    } else {
        format!(", and still knows {}", list(&earlier))
    };
    format!(
        "What counts: {}{rules}; recipe version {}{earlier}. A malformed body {malformed}.",
        list(&parts),
        recipe.version,
    )
}

fn concurrency(operation: &Operation) -> String {
    let pending = told(operation, Code::InProgress);
    let conflict = format!("{} in_progress", operation.statuses.conflict());
    let gets = match operation.while_running {
        WhileRunning::Wait { for_, then } => {
            let then = match then {
                AfterWait::Pending => pending,
                AfterWait::Conflict => conflict,
            };
            format!(
                "waits up to {} for the first answer, then gets {then}",
                span(for_)
            )
        }
        WhileRunning::Pending => format!("gets {pending} at once"),
        WhileRunning::Conflict => format!("gets {conflict} at once"),
    };
    format!(
        "One attempt runs at a time. A repeat that comes meanwhile {gets}. An attempt has {}; \
         callers wait {} for the origin, then get {}.",
        span(operation.lease),
        span(operation.origin_timeout),
        told(operation, Code::OriginTimeout),
    )
}

fn stored(operation: &Operation) -> String {
    let keep = &operation.keep;
    let kept = match keep.reply {
        KeepReply::Full => {
            let most = size(keep.max_reply.min(LARGEST_KEPT));
            format!("Status, entity headers and body of the answer, up to {most}")
        }
        KeepReply::Reference if keep.fields.is_empty() => "Status and location".to_owned(),
        KeepReply::Reference => {
            let fields: Vec<String> = keep.fields.iter().map(ToString::to_string).collect();
            format!("Status, location and of the body {}", list(&fields))
        }
        KeepReply::None => "The outcome, status and location, but no body".to_owned(),
    };
    let further = if keep.headers.is_empty() {
        String::new()
    } else {
        format!(", and the headers {}", list(&keep.headers))
    };
    let encrypted = if keep.encrypt {
        "encrypted with the secret ONCEGATE_RECORD_SECRET"
    } else {
        "unencrypted"
    };
    let missing = match operation.on_repeat {
        OnRepeat::Replay => format!(
            " A repeat whose answer is not kept gets {}.",
            told(operation, Code::ReplyUnavailable)
        ),
        OnRepeat::Acknowledge | OnRepeat::Refuse => String::new(),
    };
    let passed_on = if operation.stream {
        " A success is passed on while it comes."
    } else {
        ""
    };
    let most = size(operation.max_body);
    let place = operation
        .placement
        .jurisdiction
        .map_or_else(String::new, |jurisdiction| {
            format!(" It never leaves the jurisdiction {jurisdiction}.")
        });
    format!(
        "{kept}{further}, {encrypted}.{place}{missing}{passed_on} A request body may have {most}."
    )
}

fn expiry(operation: &Operation) -> String {
    let keep = &operation.keep;
    let forgotten = format!(
        "{} after completion the key is forgotten and the command would run again.",
        span(keep.tombstone)
    );
    match operation.on_repeat {
        OnRepeat::Acknowledge | OnRepeat::Refuse => {
            format!("There is no reply to expire. {forgotten}")
        }
        OnRepeat::Replay => {
            let after = match operation.after_expiry {
                AfterExpiry::Refuse => {
                    format!("a repeat is refused: {}", told(operation, Code::KeyExpired))
                }
                AfterExpiry::Execute => "a repeat runs as a new operation".to_owned(),
            };
            format!(
                "The answer can be replayed for {}; then {after}. {forgotten}",
                span(keep.for_)
            )
        }
    }
}

/// The pauses between probes; the last one repeats.
fn pauses(schedule: &[Span]) -> String {
    let spans: Vec<String> = schedule.iter().map(|pause| span(*pause)).collect();
    format!("{} (repeated)", spans.join(", "))
}

fn recovery(operation: &Operation) -> String {
    let effect = match operation.effect {
        Effect::AtMostOnce => "The effect must not happen twice",
        Effect::AtLeastOnce => "The effect may happen more than once",
    };
    let pending = told(operation, Code::OutcomeUnknown);
    let then = match &operation.recovery {
        Recovery::Hold => format!(
            "an outcome that nobody knows stays unknown, repeats get {pending}, and nothing runs \
             again until the origin's late answer or an operator settles it"
        ),
        Recovery::Rerun => format!(
            "an outcome that nobody knows lets the same command run again once its call is over; \
             until then repeats get {pending}"
        ),
        Recovery::Reconcile(reconcile) => format!(
            "an outcome that nobody knows is looked up at the origin after {}, nothing runs again \
             until it says \"not applied\" (believed {} after the outcome became unknown), and \
             repeats get {pending}; after {} the record needs an operator",
            pauses(&reconcile.schedule),
            span(reconcile.settle_after),
            span(reconcile.escalate_after),
        ),
    };
    let lists = &operation.outcomes;
    let lists: Vec<String> = [
        ("final failures", &lists.final_),
        ("certainly without effect", &lists.retryable),
        ("outcome unknown", &lists.ambiguous),
    ]
    .into_iter()
    .filter(|(_, statuses)| !statuses.is_empty())
    .map(|(meaning, statuses)| {
        let statuses: Vec<String> = statuses.iter().map(ToString::to_string).collect();
        format!("{} as {meaning}", list(&statuses))
    })
    .collect();
    let read = if lists.is_empty() {
        String::new()
    } else {
        format!(" Statuses of the origin are read: {}.", lists.join("; "))
    };
    format!("{effect}: {then}.{read}")
}
