//! Reads and checks the whole policy from the variables of the Worker.
//!
//! Owns the globals, the way operations come together from several variables, and what operations
//! must not do to each other. It reports every fault at once. It fails closed: of an invalid
//! policy only the routes are used, to refuse what they protect, and where a protected route may
//! have gone unread nothing is known and everything has to be refused.

use serde_json::Value;

use super::declared::{self, PRESET, SERVER_TIMING, UNMATCHED};
use super::operation::{self, Common, Draft};
use super::reader::{Faults, Field, Table, quote, wrong_type};
use super::spelling::nearest;
use super::{
    Guarded, OnRepeat, Origin, Policy, PolicyError, Preset, Route, Statuses, Unmatched, access,
    cors_fields, fields, values,
};
use crate::core::cors::Cors;
use crate::core::jwt::Rules;

/// A policy as it was found.
#[derive(Clone, Debug)]
pub enum Loaded {
    /// A whole, valid policy.
    Valid(Policy),
    /// A policy with faults.
    Invalid {
        /// Every fault, in the order of the policy.
        errors: Vec<PolicyError>,
        /// What it protects; nothing if that cannot be told, and then everything is closed.
        routes: Option<Guarded>,
        /// The status of gate-made answers, as far as it could be read.
        statuses: Statuses,
        /// Which web pages may read them, as far as that could be read.
        cors: Option<Cors>,
    },
}

impl Loaded {
    /// The status of gate-made answers where no operation is concerned.
    #[must_use]
    pub fn statuses(&self) -> &Statuses {
        match self {
            Self::Valid(policy) => &policy.statuses,
            Self::Invalid { statuses, .. } => statuses,
        }
    }

    /// Which web pages may read the answers of the gate.
    #[must_use]
    pub fn cors(&self) -> Option<&Cors> {
        match self {
            Self::Valid(policy) => policy.cors.as_ref(),
            Self::Invalid { cors, .. } => cors.as_ref(),
        }
    }
}

/// The variable of the globals.
pub const GLOBALS: &str = "ONCEGATE";
/// How the variable of an operation starts.
pub const OPERATION: &str = "ONCEGATE_OP_";
/// The most bytes that a variable of a Worker may have.
const MOST_BYTES: usize = 5_000;

/// Whether a variable or binding of a Worker belongs to the policy, or was meant to.
///
/// That is every name that starts nearly as the policy's do, in capitals or not, and is none of the
/// gate's bindings: a misspelt `ONCEGATE_OPS_PAY` or `ONCEGAT_OP_PAY` must be reported, since it
/// protects nothing.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    const BINDINGS: [&str; 4] = [
        "ONCEGATE_ADMIN_TOKEN",
        "ONCEGATE_PROBE_AUTHORIZATION",
        "ONCEGATE_EVENTS",
        "ONCEGATE_LIMIT",
    ];
    let capitals = name.to_ascii_uppercase();
    // The name before `_OP_` is long enough that two letters make it no other word.
    let near = |(start, _): (&str, &str)| nearest(start, &[GLOBALS]).is_some();
    (capitals.starts_with(GLOBALS) || capitals.split_once("_OP").is_some_and(near))
        && !BINDINGS.contains(&name)
        && !name.starts_with("ONCEGATE_RECORD_SECRET")
}

/// Reads the policy from the variable `ONCEGATE` and the others, by name, that
/// [`is_variable`] says belong to it.
#[must_use]
pub fn parse(globals: Option<Value>, operations: Vec<(String, Value)>) -> Loaded {
    let mut faults = Faults::default();
    let mut found = Found {
        readable: true,
        ..Found::default()
    };
    let common = read_globals(globals, &mut found, &mut faults);
    for (name, value) in operations {
        let foreign = matches!(&found.origin, Some(Origin::Service(binding)) if *binding == name);
        if name
            .strip_prefix(OPERATION)
            .is_some_and(|rest| !rest.is_empty())
        {
            let value = unfold(&name, value, &mut faults);
            let read = |value: Value| operation::read(&value, &name, &common, &mut faults);
            found.drafts.push(value.map(read).unwrap_or_default());
        } else if !foreign {
            faults.add(
                name,
                "is no variable of the policy: the whole is in ONCEGATE, each operation in \
                 ONCEGATE_OP_NAME, in capitals",
            );
            found.readable = false;
        }
    }
    check_together(&found.drafts, &mut faults);
    let mut statuses = Statuses::new(common.preset, OnRepeat::Replay);
    for (code, status) in &common.statuses {
        statuses.choose(*code, *status);
    }
    conclude(found, statuses, faults.into_errors())
}

/// What could be read so far.
#[derive(Default)]
struct Found {
    origin: Option<Origin>,
    unmatched: Option<Unmatched>,
    cors: Option<Cors>,
    server_timing: bool,
    drafts: Vec<Draft>,
    jwt: Option<Rules>,
    /// Whether every operation that was written is among the drafts.
    readable: bool,
}

fn read_globals(globals: Option<Value>, found: &mut Found, faults: &mut Faults) -> Common {
    let mut common = Common {
        preset: Preset::Default,
        statuses: Vec::new(),
        tokens: false,
    };
    let Some(value) = globals else {
        faults.add(
            GLOBALS.to_owned(),
            "the variable is missing: it holds at least the origin",
        );
        return common;
    };
    let opened = unfold(GLOBALS, value, faults);
    let Some(value) = opened else {
        found.readable = false;
        return common;
    };
    let Some(table) = Table::open(&value, "", &declared::GLOBALS, faults) else {
        return common;
    };
    found.origin = table.text("origin", faults, values::origin).required(
        table.path("origin"),
        "\"https://...\" or \"service:BINDING\"",
        faults,
    );
    let preset = PRESET.take(&table, faults);
    found.unmatched = UNMATCHED.take(&table, faults);
    found.cors = cors_fields::read(&table, faults);
    found.server_timing = SERVER_TIMING.take(&table, faults).unwrap_or_default();
    common.preset = preset.unwrap_or(Preset::Default);
    let jwt = access::jwt(&table, faults);
    // A faulty table is there all the same: it has been reported once.
    common.tokens = !matches!(&jwt, Some(None));
    found.jwt = jwt.flatten();
    common.statuses = fields::statuses(&table, faults).unwrap_or_default();
    let items = match table.list("operations", faults) {
        Field::Absent => &[],
        Field::Faulty => {
            found.readable = false;
            &[]
        }
        Field::Is(items) => items,
    };
    for (n, item) in items.iter().enumerate() {
        let path = format!("operations[{n}]");
        found
            .drafts
            .push(operation::read(item, &path, &common, faults));
    }
    // A name of nobody may be a misspelt `operations`.
    let stray = |(name, value): (&str, &Value)| {
        !declared::GLOBALS.iter().any(|field| field.name == name)
            && (value.is_array() || value.is_object())
    };
    found.readable &= !table.names().any(stray);
    common
}

/// Takes a variable as a table: as it is, or as the JSON text that the command line makes of it.
fn unfold(name: &str, value: Value, faults: &mut Faults) -> Option<Value> {
    let (bytes, value) = if let Value::String(text) = value {
        (text.len(), serde_json::from_str(&text).ok())
    } else {
        (value.to_string().len(), Some(value))
    };
    if bytes > MOST_BYTES {
        let most = format!("has {bytes} bytes; a variable of a Worker has {MOST_BYTES} at most");
        faults.add(name.to_owned(), most);
    }
    match value {
        Some(value @ Value::Object(_)) => Some(value),
        Some(value) => {
            faults.add(name.to_owned(), wrong_type("a table", &value));
            None
        }
        None => {
            faults.add(
                name.to_owned(),
                "must be a table, or JSON text that holds one",
            );
            None
        }
    }
}

/// No two operations have one name, and no request can be two operations.
fn check_together(drafts: &[Draft], faults: &mut Faults) {
    for (n, draft) in drafts.iter().enumerate() {
        for earlier in drafts.iter().take(n) {
            if let Some(name) = &draft.name
                && earlier.name.as_ref() == Some(name)
            {
                let message = format!("{} is also the name of {}", quote(name), earlier.path);
                faults.add(format!("{}.name", draft.path), message);
            }
            if let Some((ours, theirs)) = collision(draft, earlier) {
                let (ours, theirs) = (quote(&ours.to_string()), quote(&theirs.to_string()));
                let (us, them) = (title(draft), title(earlier));
                let message = format!(
                    "{ours} of {us} and {theirs} of {them} match one request; \
                     one operation can match both"
                );
                faults.add(format!("{}.match", draft.path), message);
            }
        }
    }
}

fn collision<'d>(one: &'d Draft, other: &'d Draft) -> Option<(&'d Route, &'d Route)> {
    one.routes.iter().find_map(|ours| {
        let theirs = other.routes.iter().find(|theirs| ours.collides(theirs))?;
        Some((ours, theirs))
    })
}

fn title(draft: &Draft) -> String {
    draft
        .name
        .as_deref()
        .map_or_else(|| draft.path.clone(), quote)
}

fn conclude(found: Found, statuses: Statuses, errors: Vec<PolicyError>) -> Loaded {
    let Found {
        origin,
        unmatched,
        cors,
        server_timing,
        drafts,
        jwt,
        readable,
    } = found;
    let whole = readable && drafts.iter().all(|draft| draft.whole);
    let routes: Vec<Route> = drafts.iter().flat_map(|it| it.routes.clone()).collect();
    let operations: Option<Vec<_>> = drafts.into_iter().map(|draft| draft.operation).collect();
    match (origin, unmatched) {
        (Some(origin), Some(unmatched)) => {
            if let (true, Some(operations)) = (errors.is_empty(), operations) {
                return Loaded::Valid(Policy {
                    origin,
                    unmatched,
                    operations,
                    statuses,
                    jwt,
                    cors,
                    server_timing,
                });
            }
            let routes = whole.then_some(Guarded {
                origin,
                unmatched,
                routes,
            });
            Loaded::Invalid {
                errors,
                routes,
                statuses,
                cors,
            }
        }
        (Some(_) | None, _) => Loaded::Invalid {
            errors,
            routes: None,
            statuses,
            cors,
        },
    }
}
