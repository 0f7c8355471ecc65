//! One operation of the policy: its fields, their defaults and how they fit together.
//!
//! Owns the names, forms and defaults of an operation. Each field is read alone first; what two
//! fields say together is checked only where both could be read, so that no fault is reported that
//! only follows from another one.

use serde_json::Value;

use super::declared::{
    AFTER_EXPIRY, EFFECT, LIMIT, MAX_BODY, ON_REPEAT, OPERATION, STREAM, WHEN_ABSENT,
};
use super::reader::{Faults, Table, quote, string, wrong_type};
use super::{
    KeyPart, Operation, Preset, Principal, Route, ScopePart, access, acknowledge, fields, keep,
    placement, recipe, recovery, values,
};
use crate::core::code::Code;
use crate::core::command::Recipe;

/// What the whole policy says about every operation.
pub(super) struct Common {
    pub(super) preset: Preset,
    pub(super) statuses: Vec<(Code, u16)>,
    /// Whether it says what tokens have to say.
    pub(super) tokens: bool,
}

/// An operation as far as it could be read.
#[derive(Default)]
pub(super) struct Draft {
    /// Where it is in the policy.
    pub(super) path: String,
    pub(super) name: Option<String>,
    /// The routes that could be read.
    pub(super) routes: Vec<Route>,
    /// Whether these are all that were written.
    pub(super) whole: bool,
    /// The whole of it.
    pub(super) operation: Option<Operation>,
}

/// Reads an operation.
pub(super) fn read(value: &Value, path: &str, common: &Common, faults: &mut Faults) -> Draft {
    let mut draft = Draft {
        path: path.to_owned(),
        ..Draft::default()
    };
    let Some(table) = Table::open(value, path, &OPERATION, faults) else {
        return draft;
    };
    draft.name = table.text("name", faults, name).required(
        table.path("name"),
        "lower-case letters, digits and _",
        faults,
    );
    (draft.routes, draft.whole) = routes(&table, faults);
    draft.operation = whole(&table, &draft, common, faults);
    draft
}

fn whole(
    table: &Table<'_>,
    draft: &Draft,
    common: &Common,
    faults: &mut Faults,
) -> Option<Operation> {
    // Every field is read, and so reported, before the first that is missing ends this.
    let principal = table.text("principal", faults, values::principal).required(
        table.path("principal"),
        "\"authorization\", \"jwt:CLAIM\", \"cookie:NAME\", \"header:NAME\" or \"none\"",
        faults,
    );
    let scope = scope(table, principal.as_ref(), &draft.routes, faults);
    let key = key(table, &draft.routes, faults);
    let when_absent = WHEN_ABSENT.take(table, faults);
    let on_repeat = ON_REPEAT.take(table, faults);
    let acknowledge = acknowledge::read(table, on_repeat, faults);
    let authorize_replay = access::authorize_replay(table, faults);
    let asks = !matches!(&authorize_replay, Some(None));
    let who = principal.as_ref();
    let checked = access::check(table, who, on_repeat, asks, common.tokens, faults);
    let on_mismatch = fields::on_mismatch(table, on_repeat, faults);
    let while_running = fields::while_running(table, faults);
    let (lease, origin_timeout) = fields::deadlines(table, faults);
    let max_body = MAX_BODY.take(table, faults);
    let limit = limit(table, principal.as_ref(), faults);
    let placement = placement::read(table, faults);
    let keep = keep::read(table, on_repeat, faults);
    let stream = STREAM.take(table, faults);
    let after_expiry = AFTER_EXPIRY.take(table, faults);
    let effect = EFFECT.take(table, faults);
    let recovery = recovery::read(table, effect, lease, &draft.routes, faults);
    let recipe = recipe::read(table, faults);
    check_headers(table, key.as_deref(), recipe.as_ref(), faults);
    let outcomes = fields::outcomes(table, faults);
    let statuses = fields::operation_statuses(table, on_repeat, common, faults);
    checked?;
    Some(Operation {
        name: draft.name.clone()?,
        routes: draft.whole.then(|| draft.routes.clone())?,
        principal: principal?,
        authorize_replay: authorize_replay?,
        scope: scope?,
        key: key?,
        when_absent: when_absent?,
        on_mismatch: on_mismatch?,
        on_repeat: on_repeat?,
        acknowledge: acknowledge?,
        while_running: while_running?,
        effect: effect?,
        lease: lease?,
        origin_timeout: origin_timeout?,
        max_body: max_body?,
        limit: limit?,
        placement: placement?,
        keep: keep?,
        stream: stream?,
        after_expiry: after_expiry?,
        recovery: recovery?,
        recipe: recipe?,
        outcomes: outcomes?,
        preset: common.preset,
        statuses: statuses?,
    })
}

fn name(text: &str) -> Result<String, String> {
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if starts && text.len() <= 64 && text.bytes().all(inside) {
        return Ok(text.to_owned());
    }
    let shown = quote(text);
    Err(format!(
        "{shown} is not a name: a lower-case letter, then letters, digits and _, 64 at most"
    ))
}

/// Reads `match`: the routes that can be read, and whether these are all.
fn routes(table: &Table<'_>, faults: &mut Faults) -> (Vec<Route>, bool) {
    const WRITE: &str = "a method and a path: \"POST /v1/payments\"";
    let path = table.path("match");
    let (texts, many) = match table.get("match") {
        Some(one @ Value::String(_)) => (std::slice::from_ref(one), false),
        Some(Value::Array(items)) => (items.as_slice(), true),
        Some(value) => {
            faults.add(path, wrong_type("a string or a list of strings", value));
            return (Vec::new(), false);
        }
        None => {
            faults.add(path, format!("must be written: {WRITE}"));
            return (Vec::new(), false);
        }
    };
    if texts.is_empty() {
        faults.add(path.clone(), format!("must not be empty: {WRITE}"));
    }
    let mut routes: Vec<Route> = Vec::new();
    for (n, value) in texts.iter().enumerate() {
        let path = if many {
            format!("{path}[{n}]")
        } else {
            path.clone()
        };
        let text = string(value, &path, faults);
        let route = text.and_then(|text| {
            let read = Route::parse(text).map_err(|why| format!("{}: {why}", quote(text)));
            faults.check(&path, read)
        });
        if let Some(route) = &route
            && let Some(other) = routes.iter().find(|other| other.overlaps(route))
        {
            let other = quote(&other.to_string());
            faults.add(
                path,
                format!("matches requests that {other} matches already"),
            );
        }
        routes.extend(route);
    }
    let whole = !texts.is_empty() && routes.len() == texts.len();
    (routes, whole)
}

fn scope(
    table: &Table<'_>,
    principal: Option<&Principal>,
    routes: &[Route],
    faults: &mut Faults,
) -> Option<Vec<ScopePart>> {
    let nobody = principal == Some(&Principal::None);
    if table.get("scope").is_none() {
        return Some(if nobody {
            Vec::new()
        } else {
            vec![ScopePart::Principal]
        });
    }
    let path = |part: &ScopePart| match part {
        ScopePart::Value(KeyPart::Path(name)) => Some(name.clone()),
        ScopePart::Value(_) | ScopePart::Principal => None,
    };
    let scope = parts(table, "scope", values::scope_part, path, routes, faults)?;
    if !nobody && principal.is_some() && !scope.contains(&ScopePart::Principal) {
        faults.add(
            table.path("scope"),
            "must hold \"principal\" unless principal is \"none\": \
             without it one caller could get the answer of another",
        );
    }
    Some(scope)
}

fn key(table: &Table<'_>, routes: &[Route], faults: &mut Faults) -> Option<Vec<KeyPart>> {
    if table.get("key").is_none() {
        return Some(vec![KeyPart::Header("idempotency-key".to_owned())]);
    }
    let path = |part: &KeyPart| match part {
        KeyPart::Path(name) => Some(name.clone()),
        KeyPart::Body(_) | KeyPart::Header(_) | KeyPart::Query(_) => None,
    };
    let key = parts(table, "key", values::key_part, path, routes, faults)?;
    if key.is_empty() {
        faults.add(table.path("key"), "must hold at least one part");
    }
    Some(key)
}

fn limit(table: &Table<'_>, principal: Option<&Principal>, faults: &mut Faults) -> Option<bool> {
    let limit = LIMIT.take(table, faults)?;
    if limit && principal == Some(&Principal::None) {
        let message = "counts the new keys of each principal: principal is \"none\"";
        faults.add(table.path(LIMIT.name), message);
    }
    Some(limit)
}

/// Reads a list of parts, none of them twice. A part `path:NAME`, as `parameter` tells, needs a parameter
/// of that name in every match.
fn parts<T: PartialEq>(
    table: &Table<'_>,
    name: &str,
    read: fn(&str) -> Result<T, String>,
    parameter: fn(&T) -> Option<String>,
    routes: &[Route],
    faults: &mut Faults,
) -> Option<Vec<T>> {
    let items = table.list(name, faults).or(&[])?;
    let mut parts: Vec<T> = Vec::new();
    for (n, value) in items.iter().enumerate() {
        let path = format!("{}[{n}]", table.path(name));
        let Some(text) = string(value, &path, faults) else {
            continue;
        };
        let Some(part) = faults.check(&path, read(text)) else {
            continue;
        };
        if parts.contains(&part) {
            faults.add(path.clone(), format!("{} is there twice", quote(text)));
        }
        if let Some(name) = parameter(&part)
            && let Some(route) = routes.iter().find(|route| !route.has_param(&name))
        {
            let (name, route) = (quote(&name), quote(&route.to_string()));
            faults.add(path, format!("{name} is not a parameter of {route}"));
        }
        parts.push(part);
    }
    (parts.len() == items.len()).then_some(parts)
}

/// The key is never part of the command: its two spellings would be two commands.
fn check_headers(
    table: &Table<'_>,
    key: Option<&[KeyPart]>,
    recipe: Option<&Recipe>,
    faults: &mut Faults,
) {
    let headers = recipe.iter().flat_map(|recipe| &recipe.headers);
    for name in headers {
        if key
            .unwrap_or_default()
            .contains(&KeyPart::Header(name.clone()))
        {
            let message = format!("{} is the key of this operation", quote(name));
            faults.add(format!("{}.headers", table.path("command")), message);
        }
    }
}
