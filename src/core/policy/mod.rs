//! The policy: what every protected operation answers to the seven design questions.
//!
//! Owns the typed policy. A value of these types is valid by construction: [`parse`] is the only
//! way to one, and it reports every fault at once. It never guesses a default for something that
//! was written wrongly.

mod access;
mod acknowledge;
mod cors_fields;
mod declare;
mod declared;
mod fields;
mod keep;
mod operation;
pub mod parse;
mod placement;
mod reader;
mod recipe;
mod recovery;
mod recovery_fields;
pub mod route;
mod spelling;
mod statuses;
mod target;
mod values;
pub mod warnings;

pub use acknowledge::Acknowledge;
pub use declare::Decl;
#[cfg(feature = "cli")]
pub use declare::{About, Form, Kind, Words};
pub use declared::{GLOBALS, OPERATION};
pub use placement::Placement;
pub use reader::PolicyError;
pub use route::{Found, Params, Route};
pub use statuses::Statuses;
pub use target::normalise;

use crate::core::command::{Pointer, Recipe};
use crate::core::cors::Cors;
use crate::core::jwt::Rules;
use crate::core::recovery::Reconcile;
use crate::core::time::Span;

/// A whole, valid policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where commands go.
    pub origin: Origin,
    /// What happens to requests that match no operation.
    pub unmatched: Unmatched,
    /// The protected operations; no two of them can match one request.
    pub operations: Vec<Operation>,
    /// The status of gate-made answers where no operation is concerned.
    pub statuses: Statuses,
    /// What tokens have to say; there if an operation asks for one.
    pub jwt: Option<Rules>,
    /// Which web pages may read the answers; without it that is the origin's business.
    pub cors: Option<Cors>,
    /// Whether answers say how long the gate took.
    pub server_timing: bool,
}

impl Operation {
    /// Whether the identity of a request stands in its body.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        let scope = self.scope.iter().filter_map(|part| match part {
            ScopePart::Principal => None,
            ScopePart::Value(part) => Some(part),
        });
        let mut parts = self.key.iter().chain(scope);
        parts.any(|part| matches!(part, KeyPart::Body(_)))
    }
}

impl Policy {
    /// Finds the operation of a request by its method and the path of its target as it came.
    #[must_use]
    pub fn find(&self, method: &str, path: &str) -> Found<&Operation> {
        let routes: Vec<(usize, &Route)> = self
            .operations
            .iter()
            .enumerate()
            .flat_map(|(n, operation)| operation.routes.iter().map(move |route| (n, route)))
            .collect();
        match route::locate(&routes, method, path) {
            Found::Operation(n, params) => self
                .operations
                .get(n)
                .map_or(Found::Ambiguous, |operation| {
                    Found::Operation(operation, params)
                }),
            Found::Ambiguous => Found::Ambiguous,
            Found::Unmatched => Found::Unmatched,
        }
    }

    /// The operation of this name.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations
            .iter()
            .find(|operation| operation.name == name)
    }
}

/// What is known of an invalid policy: enough to close what it protects, and nothing else.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Guarded {
    /// Where the requests go that are not protected.
    pub origin: Origin,
    /// What happens to them.
    pub unmatched: Unmatched,
    /// Every route that an operation protects.
    pub routes: Vec<Route>,
}

impl Guarded {
    /// Finds whether a request is protected; another spelling of a protected target is `Ambiguous`.
    #[must_use]
    pub fn find(&self, method: &str, path: &str) -> Found<()> {
        // One owner for all: which of the operations it is makes no difference here.
        let routes: Vec<(usize, &Route)> = self.routes.iter().map(|route| (0, route)).collect();
        match route::locate(&routes, method, path) {
            Found::Operation(_, params) => Found::Operation((), params),
            Found::Ambiguous => Found::Ambiguous,
            Found::Unmatched => Found::Unmatched,
        }
    }
}

/// Where the gate forwards to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// A service binding of this Worker, by its name.
    Service(String),
    /// `scheme://authority[/prefix]` without a trailing slash.
    Url(String),
}

/// What happens to requests that match no operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unmatched {
    /// They go to the origin untouched.
    Pass,
    /// They are refused.
    Refuse,
}

/// The wire habits that an operation follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Preset {
    /// The gate's own choice.
    Default,
    /// As the IETF draft of the Idempotency-Key header describes.
    Ietf,
    /// As Stripe's API answers, so that its SDKs decide rightly.
    Stripe,
}

/// One protected operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The name: part of the identity of every key, so it must not change.
    pub name: String,
    /// The requests it protects.
    pub routes: Vec<Route>,
    /// Who a request is from.
    pub principal: Principal,
    /// The question that the origin has to allow before anything stored is given out.
    pub authorize_replay: Option<String>,
    /// What makes two equal keys different keys.
    pub scope: Vec<ScopePart>,
    /// Where the key is.
    pub key: Vec<KeyPart>,
    /// What a request without its key gets.
    pub when_absent: WhenAbsent,
    /// What the same key with another command gets.
    pub on_mismatch: OnMismatch,
    /// What the same command again gets, once it is done.
    pub on_repeat: OnRepeat,
    /// What a duplicate gets, where the policy says more than the stored status.
    pub acknowledge: Acknowledge,
    /// What the same command gets while the first is still running.
    pub while_running: WhileRunning,
    /// How often the effect may happen.
    pub effect: Effect,
    /// How long an attempt may take before its outcome counts as unknown.
    pub lease: Span,
    /// How long callers wait for the head of the origin's answer.
    pub origin_timeout: Span,
    /// The longest request body in bytes.
    pub max_body: usize,
    /// Whether the new keys of a principal are counted.
    pub limit: bool,
    /// Where the objects of this operation are.
    pub placement: Placement,
    /// What is kept of the answer, and for how long.
    pub keep: Keep,
    /// Whether a success is passed on while it comes.
    pub stream: bool,
    /// What a request gets once the reply window has passed.
    pub after_expiry: AfterExpiry,
    /// What happens to an unknown outcome.
    pub recovery: Recovery,
    /// How the command is hashed.
    pub recipe: Recipe,
    /// Statuses of the origin that this operation reads differently from the defaults.
    pub outcomes: OutcomeLists,
    /// The wire habits.
    pub preset: Preset,
    /// The status of each gate-made answer.
    pub statuses: Statuses,
}

impl Operation {
    /// What the operation answers, by field, in the words of the policy; no word where the field
    /// does not count.
    #[must_use]
    pub fn words(&self) -> [(&'static str, &'static str); 7] {
        use declared::{AFTER_EXPIRY, AFTER_WAIT, ON_MISMATCH, ON_REPEAT, WHEN_ABSENT};
        let (answer, then) = match self.while_running {
            WhileRunning::Wait { then, .. } => ("wait", AFTER_WAIT.word(&then)),
            WhileRunning::Pending => ("pending", ""),
            WhileRunning::Conflict => ("conflict", ""),
        };
        [
            ("when_absent", WHEN_ABSENT.word(&self.when_absent)),
            ("on_mismatch", ON_MISMATCH.word(&self.on_mismatch)),
            ("on_repeat", ON_REPEAT.word(&self.on_repeat)),
            ("while_running.answer", answer),
            ("while_running.then", then),
            ("keep.reply", keep::REPLY.word(&self.keep.reply)),
            ("after_expiry", AFTER_EXPIRY.word(&self.after_expiry)),
        ]
    }
}

/// Who a request is from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Principal {
    /// The digest of the `Authorization` header; with `any`, signing schemes and JWTs as well.
    Authorization {
        /// Whether credentials that change between attempts are taken on purpose.
        any: bool,
    },
    /// The cookie of this name.
    Cookie(String),
    /// A header that something before the gate sets, by its lower-case name.
    Header(String),
    /// This claim of a verified token, with its issuer.
    Jwt(String),
    /// Nobody in particular.
    None,
}

/// One part of the scope.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ScopePart {
    /// The principal.
    Principal,
    /// A value of the request.
    Value(KeyPart),
}

/// Where a value that identifies the operation is found in a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeyPart {
    /// A request header, by its lower-case name.
    Header(String),
    /// A parameter of the query.
    Query(String),
    /// A parameter of the path.
    Path(String),
    /// A place of a JSON body.
    Body(Pointer),
}

/// What a request without its key gets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WhenAbsent {
    /// It is forwarded unprotected and marked `bypassed`.
    Pass,
    /// It is refused.
    Refuse,
}

/// What the same key with another command gets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnMismatch {
    /// The key alone counts; the content is not compared.
    Ignore,
    /// It is refused.
    Refuse,
    /// It gets the stored reply, marked.
    Replay,
    /// It is an operation of its own under the same key.
    Separate,
}

/// What the same command again gets, once it is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnRepeat {
    /// It gets the stored status without a body.
    Acknowledge,
    /// It is refused as a duplicate: the minimal guard.
    Refuse,
    /// It gets the stored reply.
    Replay,
}

/// What the same command gets while the first is still running.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WhileRunning {
    /// A 409 at once.
    Conflict,
    /// A pending answer at once.
    Pending,
    /// It waits for the stored reply, and then gives up.
    Wait {
        /// How long it waits.
        for_: Span,
        /// What it gets when it gives up.
        then: AfterWait,
    },
}

/// What a waiter gets when it gives up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AfterWait {
    /// A 409.
    Conflict,
    /// A pending answer.
    Pending,
}

/// What is kept of an answer, and for how long.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Keep {
    /// How much of the reply is kept.
    pub reply: KeepReply,
    /// How long the reply can be replayed, from completion.
    pub for_: Span,
    /// How long the key is remembered, from completion; at least `for_`.
    pub tombstone: Span,
    /// The longest body that is kept, in bytes.
    pub max_reply: usize,
    /// The members of a JSON body that are kept of it by `reference`.
    pub fields: Vec<Pointer>,
    /// Further headers that are kept, in lower case.
    pub headers: Vec<String>,
    /// Whether what is kept is encrypted.
    pub encrypt: bool,
}

/// How much of the reply is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeepReply {
    /// Status, entity headers and body.
    Full,
    /// The outcome alone.
    None,
    /// Status, `Location` and chosen members of a JSON body.
    Reference,
}

/// What a request gets once the reply window has passed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AfterExpiry {
    /// It runs again, as a new life of the key.
    Execute,
    /// It is refused until the tombstone ends.
    Refuse,
}

/// How often the effect of a command may happen; it sets the default of [`Recovery`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// More often than once does no harm: reports, messages.
    AtLeastOnce,
    /// Never twice: money, orders.
    AtMostOnce,
}

/// What happens to an unknown outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// It stays unknown until evidence or an operator settles it.
    Hold,
    /// The origin is asked.
    Reconcile(Box<Reconcile>),
    /// The same command may run again: at-least-once effects.
    Rerun,
}

/// Statuses of the origin that an operation reads differently from the defaults.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct OutcomeLists {
    /// Final failures: repeats get the same answer.
    pub final_: Vec<u16>,
    /// Certainly without effect: the command may run again.
    pub retryable: Vec<u16>,
    /// Nobody knows.
    pub ambiguous: Vec<u16>,
}
