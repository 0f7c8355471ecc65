//! The fields of the whole policy and of an operation, declared.
//!
//! Owns their names, the words of their choices and their defaults, and the line that tells people
//! what each is for. Tables inside an operation declare their own fields. How a field is read, and
//! what two of them say together, is `operation`'s and `fields`'s.

use super::declare::{Choice, Decl, Duration, Flag, Size, field};
#[cfg(feature = "cli")]
use super::declare::{Form, Kind, forms};
use super::{
    AfterExpiry, AfterWait, Effect, OnMismatch, OnRepeat, Preset, Unmatched, WhenAbsent,
    WhileRunning, access,
};
#[cfg(feature = "cli")]
use super::{acknowledge, cors_fields, keep, placement, recipe, recovery_fields};
use crate::core::time::Span;

/// The longest body or reply: an isolate has 128 MB for all that it does at one time.
pub(super) const MOST_BYTES: usize = 16 << 20;

pub(super) const PRESET: Choice<Preset> = Choice {
    name: "preset",
    built: &[
        ("default", Preset::Default),
        ("ietf", Preset::Ietf),
        ("stripe", Preset::Stripe),
    ],
    default: Some(Preset::Default),
};

pub(super) const UNMATCHED: Choice<Unmatched> = Choice {
    name: "unmatched",
    built: &[("pass", Unmatched::Pass), ("refuse", Unmatched::Refuse)],
    default: Some(Unmatched::Pass),
};

pub(super) const SERVER_TIMING: Flag = Flag {
    name: "server_timing",
    default: false,
};

/// The fields of the variable `ONCEGATE`.
pub static GLOBALS: &[Decl] = &[
    field!(
        required "origin",
        Kind::Text(Form {
            pattern: "^(https?://[^?#@]+|service:[A-Za-z_][A-Za-z0-9_]*)$",
            examples: &["https://api.example.com", "service:API"],
        }),
        "Where requests go: an address, or a service binding of this Worker."
    ),
    field!(
        PRESET.name,
        Kind::Words(&PRESET),
        "Which habits the answers of the gate follow."
    ),
    field!(
        UNMATCHED.name,
        Kind::Words(&UNMATCHED),
        "What a request gets that matches no operation."
    ),
    field!(
        "statuses",
        Kind::Statuses,
        "The status of each problem code, for every operation."
    ),
    field!(
        "operations",
        Kind::List(0, &Kind::Table(|| OPERATION)),
        "Operations, beside those that have a variable ONCEGATE_OP_* of their own."
    ),
    field!(
        "jwt",
        Kind::Table(|| access::JWT),
        "What tokens have to say, for operations with a principal of the form jwt:CLAIM."
    ),
    field!(
        "cors",
        Kind::Table(|| cors_fields::FIELDS),
        "Which web pages may call the protected operations and read the answers."
    ),
    field!(
        SERVER_TIMING.name,
        SERVER_TIMING.kind(),
        "Whether answers on protected operations say how long the gate took."
    ),
];

pub(super) const WHEN_ABSENT: Choice<WhenAbsent> = Choice {
    name: "when_absent",
    built: &[("refuse", WhenAbsent::Refuse), ("pass", WhenAbsent::Pass)],
    default: Some(WhenAbsent::Refuse),
};

pub(super) const ON_MISMATCH: Choice<OnMismatch> = Choice {
    name: "on_mismatch",
    built: &[
        ("refuse", OnMismatch::Refuse),
        ("replay", OnMismatch::Replay),
        ("separate", OnMismatch::Separate),
        ("ignore", OnMismatch::Ignore),
    ],
    default: Some(OnMismatch::Refuse),
};

pub(super) const ON_REPEAT: Choice<OnRepeat> = Choice {
    name: "on_repeat",
    built: &[
        ("replay", OnRepeat::Replay),
        ("refuse", OnRepeat::Refuse),
        ("acknowledge", OnRepeat::Acknowledge),
    ],
    default: Some(OnRepeat::Replay),
};

pub(super) const EFFECT: Choice<Effect> = Choice {
    name: "effect",
    built: &[
        ("at_most_once", Effect::AtMostOnce),
        ("at_least_once", Effect::AtLeastOnce),
    ],
    default: Some(Effect::AtMostOnce),
};

pub(super) const AFTER_EXPIRY: Choice<AfterExpiry> = Choice {
    name: "after_expiry",
    built: &[
        ("refuse", AfterExpiry::Refuse),
        ("execute", AfterExpiry::Execute),
    ],
    default: Some(AfterExpiry::Refuse),
};

pub(super) const LEASE: Duration = Duration {
    name: "lease",
    default: Span::seconds(60),
};

pub(super) const ORIGIN_TIMEOUT: Duration = Duration {
    name: "origin_timeout",
    default: Span::seconds(30),
};

pub(super) const MAX_BODY: Size = Size {
    name: "max_body",
    default: 1 << 20,
    most: MOST_BYTES,
};

pub(super) const LIMIT: Flag = Flag {
    name: "limit",
    default: false,
};

pub(super) const STREAM: Flag = Flag {
    name: "stream",
    default: false,
};

/// The fields of an operation.
pub static OPERATION: &[Decl] = &[
    field!(
        required "name",
        Kind::Text(Form {
            pattern: "^[a-z][a-z0-9_]{0,63}$",
            examples: &["create_payment"],
        }),
        "The name of the operation: part of the identity of every key, so it must not change."
    ),
    field!(
        required "match",
        Kind::Either(&[Kind::Text(ROUTE), Kind::List(1, &Kind::Text(ROUTE))]),
        "The requests that are this operation: a method and a path with {parameters}, or several."
    ),
    field!(
        required "principal",
        Kind::Text(Form {
            pattern: "^(authorization(:any)?|none|(cookie|header|jwt):[!-~]+)$",
            examples: &[
                "authorization",
                "authorization:any",
                "jwt:CLAIM",
                "cookie:NAME",
                "header:NAME",
                "none",
            ],
        }),
        "Who a request is from."
    ),
    field!(
        "scope",
        Kind::List(0, &Kind::Text(SCOPE_PART)),
        "What makes two equal keys different keys; the principal, if nothing is written."
    ),
    field!(
        "key",
        Kind::Default(
            r#"["header:Idempotency-Key"]"#,
            &Kind::List(1, &Kind::Text(KEY_PART))
        ),
        "Where the key is; several parts are one key together."
    ),
    field!(
        WHEN_ABSENT.name,
        Kind::Words(&WHEN_ABSENT),
        "What a request without its key gets."
    ),
    field!(
        ON_MISMATCH.name,
        Kind::Words(&ON_MISMATCH),
        "What the same key with another command gets."
    ),
    field!(
        ON_REPEAT.name,
        Kind::Words(&ON_REPEAT),
        "What the same command gets after it has succeeded."
    ),
    field!(
        "while_running",
        Kind::Either(&[Kind::Words(&ANSWER), Kind::Table(|| WHILE_RUNNING)]),
        "What the same command gets while the first is still running."
    ),
    field!(
        EFFECT.name,
        Kind::Words(&EFFECT),
        "How often the effect may happen in doubt: sets the default of recovery.then."
    ),
    field!(
        LEASE.name,
        LEASE.kind(),
        "How long an attempt may take; longer than origin_timeout."
    ),
    field!(
        ORIGIN_TIMEOUT.name,
        ORIGIN_TIMEOUT.kind(),
        "How long callers wait for the head of the origin's answer."
    ),
    field!(MAX_BODY.name, MAX_BODY.kind(), "The longest request body."),
    field!(
        "keep",
        Kind::Table(|| keep::FIELDS),
        "What is kept of the answer, and for how long."
    ),
    field!(
        STREAM.name,
        STREAM.kind(),
        "Whether a success is passed on while it comes, before it is stored whole."
    ),
    field!(
        AFTER_EXPIRY.name,
        Kind::Words(&AFTER_EXPIRY),
        "What a request gets between the end of keep.for and the end of keep.tombstone."
    ),
    field!(
        "recovery",
        Kind::Table(|| recovery_fields::FIELDS),
        "What happens to an outcome that nobody knows."
    ),
    field!(
        "command",
        Kind::Table(|| recipe::FIELDS),
        "When two requests are the same command."
    ),
    field!(
        "final",
        Kind::List(0, &forms::STATUS),
        "Statuses of the origin that mean: it failed for good, and repeats get the same answer."
    ),
    field!(
        "retryable",
        Kind::List(0, &forms::STATUS),
        "Statuses of the origin that mean: certainly without effect, it may run again."
    ),
    field!(
        "ambiguous",
        Kind::List(0, &forms::STATUS),
        "Statuses of the origin that mean: nobody knows."
    ),
    field!(
        "statuses",
        Kind::Statuses,
        "The status of each problem code, over those of the preset and the whole policy."
    ),
    field!(
        "authorize_replay",
        Kind::Text(access::QUESTION),
        "What the origin is asked, with the caller's credentials, before anything stored is given \
         out."
    ),
    field!(
        access::TRUSTED.name,
        access::TRUSTED.kind(),
        "Whether something before the gate sets the header of the principal, so that no caller can."
    ),
    field!(
        "acknowledge",
        Kind::Table(|| acknowledge::FIELDS),
        "What the sender of a duplicate gets; with on_repeat = \"acknowledge\" only."
    ),
    field!(
        LIMIT.name,
        LIMIT.kind(),
        "Whether the new keys of each principal are counted by the binding ONCEGATE_LIMIT."
    ),
    field!(
        "placement",
        Kind::Table(|| placement::FIELDS),
        "Where the objects of this operation are."
    ),
];

#[cfg(feature = "cli")]
const ROUTE: Form = Form {
    pattern: "^[!#$%&'*+.^_`|~0-9A-Z-]+ /[^?# ]*$",
    examples: &["POST /v1/payments", "POST /v1/payments/{id}/capture"],
};

#[cfg(feature = "cli")]
const KEY_PART: Form = Form {
    pattern: "^((header|query|path):.+|body:/.*)$",
    examples: &[
        "header:Idempotency-Key",
        "query:NAME",
        "path:NAME",
        "body:/order_id",
    ],
};

#[cfg(feature = "cli")]
const SCOPE_PART: Form = Form {
    pattern: "^(principal|(header|query|path):.+|body:/.*)$",
    examples: &[
        "principal",
        "header:NAME",
        "query:NAME",
        "path:NAME",
        "body:/account_id",
    ],
};

pub(super) const WAIT: WhileRunning = WhileRunning::Wait {
    for_: WAIT_FOR.default,
    then: AfterWait::Pending,
};

pub(super) const ANSWER: Choice<WhileRunning> = Choice {
    name: "answer",
    built: &[
        ("wait", WAIT),
        ("pending", WhileRunning::Pending),
        ("conflict", WhileRunning::Conflict),
    ],
    default: Some(WAIT),
};

pub(super) const WAIT_FOR: Duration = Duration {
    name: "for",
    default: Span::seconds(10),
};

pub(super) const AFTER_WAIT: Choice<AfterWait> = Choice {
    name: "then",
    built: &[
        ("pending", AfterWait::Pending),
        ("conflict", AfterWait::Conflict),
    ],
    default: Some(AfterWait::Pending),
};

/// The fields of `while_running`.
pub(super) static WHILE_RUNNING: &[Decl] = &[
    field!(
        ANSWER.name,
        Kind::Words(&ANSWER),
        "Wait for the stored reply, or be answered at once: pending or a 409."
    ),
    field!(
        WAIT_FOR.name,
        WAIT_FOR.kind(),
        "How long to wait; with answer = \"wait\" only."
    ),
    field!(
        AFTER_WAIT.name,
        Kind::Words(&AFTER_WAIT),
        "What a request gets that has waited so long; with answer = \"wait\" only."
    ),
];
