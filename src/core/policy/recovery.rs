//! The `recovery` table of an operation: what happens to an outcome that nobody knows.
//!
//! Owns the spelling of the probe, its verdicts and its schedule; what they mean is
//! `core::recovery`'s. A probe without `{reference}` could find somebody else's operation, and a
//! verdict by a status that says nothing about the operation would be a guess: both are faults.

use serde_json::Value;

use super::declare::Known;
use super::reader::{Faults, Field, Table, quote, status, wrong_type};
use super::recovery_fields::{ESCALATE_AFTER, FIELDS, RULE, RULING, THEN, Then, UNSCOPED};
use super::{Effect, Recovery, Route};
use crate::core::command::Pointer;
use crate::core::recovery::{Placeholder, Reconcile, Rule, Template, Test};
use crate::core::time::Span;

/// The pauses before the probes where the policy names none.
const SCHEDULE: [Span; 5] = [
    Span::seconds(2),
    Span::seconds(5),
    Span::seconds(15),
    Span::seconds(60),
    Span::seconds(300),
];

/// Reads `recovery`, whose default is all that `effect` decides.
pub(super) fn read(
    table: &Table<'_>,
    effect: Option<Effect>,
    lease: Option<Span>,
    routes: &[Route],
    faults: &mut Faults,
) -> Option<Recovery> {
    let default = effect.map(|effect| match effect {
        Effect::AtMostOnce => Then::Hold,
        Effect::AtLeastOnce => Then::Rerun,
    });
    let inner = match table.table("recovery", &FIELDS, faults) {
        Field::Absent => return default.map(plain),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let known = FIELDS.built();
    let of_the_probe = |name: &&str| *name != THEN.name && known.contains(name);
    let names = || inner.names().map(|(name, _)| name);
    let then = match THEN.read(&inner, faults) {
        Field::Is(Then::Reconcile) => {
            return reconcile(&inner, lease, routes, faults)
                .map(|reconcile| Recovery::Reconcile(Box::new(reconcile)));
        }
        Field::Is(then) => Some(then),
        Field::Absent if names().all(|name| known.contains(&name)) => default,
        // A `then` that was misspelt, in its name or its word, hides no fault of the probe.
        Field::Absent | Field::Faulty => {
            if names().any(|name| of_the_probe(&name)) {
                reconcile(&inner, lease, routes, faults);
            }
            return None;
        }
    };
    for name in names().filter(of_the_probe) {
        faults.add(
            inner.path(name),
            "goes with then = \"reconcile\" only: nothing else asks the origin",
        );
    }
    then.map(plain)
}

fn plain(then: Then) -> Recovery {
    match then {
        Then::Hold | Then::Reconcile => Recovery::Hold,
        Then::Rerun => Recovery::Rerun,
    }
}

fn reconcile(
    table: &Table<'_>,
    lease: Option<Span>,
    routes: &[Route],
    faults: &mut Faults,
) -> Option<Reconcile> {
    let unscoped = UNSCOPED.take(table, faults);
    let write = "a question to the origin: \"GET /v1/payments?reference={reference}\"";
    let probe = table
        .text("probe", faults, probe)
        .required(table.path("probe"), write, faults);
    if let Some(probe) = &probe {
        check_probe(table, probe, unscoped == Some(true), faults);
    }
    let confirm = confirm(table, faults);
    let confirmed = confirm.iter().flatten().map(|(_, template)| template);
    check_parameters(table, probe.iter().chain(confirmed), routes, faults);
    let settle_after = table
        .span("settle_after", faults)
        .or(lease.unwrap_or(Span(0)));
    let schedule = schedule(table, faults);
    let escalate_after = ESCALATE_AFTER.take(table, faults);
    let verdicts = verdicts(table, faults);
    let reply_pointer = table.text("reply_pointer", faults, pointer).optional();
    let reply_status = chosen_status(table, "reply_status", 200, 200..=299, faults);
    let failed_status = chosen_status(table, "failed_status", 422, 400..=499, faults);
    Some(Reconcile {
        probe: probe?,
        confirm: confirm?,
        settle_after: settle_after?,
        schedule: schedule?,
        escalate_after: escalate_after?,
        verdicts: verdicts?,
        reply_pointer: reply_pointer?,
        reply_status: reply_status?,
        failed_status: failed_status?,
    })
}

/// Reads a probe: the method GET, and a path on the origin.
fn probe(text: &str) -> Result<Template, String> {
    let Some(target) = text.strip_prefix("GET ") else {
        return Err("must be a GET: a question must have no effect of its own".to_owned());
    };
    if !target.starts_with('/') || target.starts_with("//") {
        return Err(
            "must ask the origin: GET, one space, and a path that starts with \"/\"".into(),
        );
    }
    let strange = |byte: u8| byte <= b' ' || byte >= 0x7f || matches!(byte, b'#' | b'\\');
    if target.bytes().any(strange) {
        return Err("its path may hold printable ASCII without spaces, # and \\ only".to_owned());
    }
    Template::parse(target)
}

fn check_probe(table: &Table<'_>, probe: &Template, unscoped: bool, faults: &mut Faults) {
    let scoped = probe.placeholders().any(|it| *it == Placeholder::Reference);
    if !scoped && !unscoped {
        faults.add(
            table.path("probe"),
            "must contain {reference}: other values are the client's and could point at somebody \
             else's operation (probe_unscoped = true takes that risk)",
        );
    }
}

/// A placeholder `{path.NAME}` needs a parameter of that name in every match.
fn check_parameters<'t>(
    table: &Table<'_>,
    templates: impl Iterator<Item = &'t Template>,
    routes: &[Route],
    faults: &mut Faults,
) {
    for placeholder in templates.flat_map(Template::placeholders) {
        let Placeholder::Path(name) = placeholder else {
            continue;
        };
        if routes.iter().any(|route| !route.has_param(name)) {
            let message = format!("{} is not a parameter of every match", quote(name));
            faults.add(table.path("probe"), message);
        }
    }
}

fn confirm(table: &Table<'_>, faults: &mut Faults) -> Option<Vec<(Pointer, Template)>> {
    let entries = match table.entries("confirm", faults) {
        Field::Absent => return Some(Vec::new()),
        Field::Faulty => return None,
        Field::Is(entries) => entries,
    };
    let mut confirm = Vec::new();
    for (name, value) in entries {
        let path = table.path("confirm");
        let Some(text) = value.as_str() else {
            faults.add(
                path,
                wrong_type("a pointer and the text that must be there", value),
            );
            continue;
        };
        let pair = pointer(name).and_then(|pointer| Ok((pointer, Template::parse(text)?)));
        confirm.extend(faults.check(&path, pair));
    }
    (confirm.len() == entries.len()).then_some(confirm)
}

fn schedule(table: &Table<'_>, faults: &mut Faults) -> Option<Vec<Span>> {
    let items = match table.list("schedule", faults) {
        Field::Absent => return Some(SCHEDULE.to_vec()),
        Field::Faulty => return None,
        Field::Is(items) => items,
    };
    let pauses: Vec<Span> = items
        .iter()
        .filter_map(|item| Span::parse(item.as_str()?))
        .collect();
    if pauses.len() != items.len() || pauses.is_empty() || pauses.len() > 32 {
        faults.add(
            table.path("schedule"),
            "must be a list of 1 to 32 durations: [\"2s\", \"5s\", \"1m\"]",
        );
        return None;
    }
    Some(pauses)
}

fn verdicts(table: &Table<'_>, faults: &mut Faults) -> Option<Vec<Rule>> {
    let write = "a list of rules: [{ status = 200, pointer = \"/data\", length = 0, verdict = \
                 \"not_applied\" }]";
    let path = table.path("verdicts");
    let items = table
        .list("verdicts", faults)
        .required(path.clone(), write, faults)?;
    if items.is_empty() {
        faults.add(path.clone(), format!("must not be empty: {write}"));
        return None;
    }
    let mut rules = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let path = format!("{path}[{n}]");
        if let Some(inner) = Table::open(item, &path, &RULE, faults) {
            rules.extend(rule(&inner, faults));
        }
    }
    (rules.len() == items.len()).then_some(rules)
}

fn rule(table: &Table<'_>, faults: &mut Faults) -> Option<Rule> {
    let statuses = statuses(table, faults);
    let pointer = table.text("pointer", faults, pointer).optional();
    let test = test(table, faults);
    if table.get("pointer").is_none() && !matches!(test, None | Some(Test::Exists)) {
        let message = "must be written: the place that equals, one_of or length is about";
        faults.add(table.path("pointer"), message);
    }
    let write = "\"applied\", \"not_applied\", \"failed\" or \"pending\"";
    let ruling = RULING
        .read(table, faults)
        .required(table.path(RULING.name), write, faults);
    Some(Rule {
        statuses: statuses?,
        pointer: pointer?,
        test: test?,
        ruling: ruling?,
    })
}

/// Reads the statuses of a rule. Some say nothing about an operation, whatever the body holds.
fn statuses(table: &Table<'_>, faults: &mut Faults) -> Option<Vec<u16>> {
    let path = table.path("status");
    let items = match table.get("status") {
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => {
            faults.add(path, "must be written: a status or a list of them");
            return None;
        }
    };
    let mut statuses = Vec::new();
    for item in items {
        let Some(status) = status(item, &path, faults) else {
            continue;
        };
        if matches!(status, 401 | 403 | 429 | 500..) {
            let message = format!("{status} says nothing about the operation: it is no verdict");
            faults.add(path.clone(), message);
        }
        statuses.push(status);
    }
    (statuses.len() == items.len() && !items.is_empty()).then_some(statuses)
}

/// Reads what must be at the place of a rule: one of three tests, or none.
fn test(table: &Table<'_>, faults: &mut Faults) -> Option<Test> {
    let written = ["equals", "one_of", "length"].map(|name| table.get(name));
    let test = match written {
        [None, None, None] => Some(Test::Exists),
        [Some(value), None, None] => Some(Test::OneOf(vec![value.clone()])),
        [None, Some(Value::Array(values)), None] if !values.is_empty() => {
            Some(Test::OneOf(values.clone()))
        }
        [None, None, Some(length)] => length
            .as_u64()
            .and_then(|it| usize::try_from(it).ok())
            .map(Test::Length),
        _ => None,
    };
    if test.is_none() {
        faults.add(
            table.path("verdict"),
            "takes one of equals (a value), one_of (a list of values) and length (a whole number)",
        );
    }
    test
}

fn chosen_status(
    table: &Table<'_>,
    name: &str,
    default: u16,
    allowed: std::ops::RangeInclusive<u16>,
    faults: &mut Faults,
) -> Option<u16> {
    let Some(value) = table.get(name) else {
        return Some(default);
    };
    let status = status(value, &table.path(name), faults)?;
    // 204, 205: a rebuilt reply has a body.
    if !allowed.contains(&status) || matches!(status, 204 | 205 | 401 | 403 | 407) {
        let (from, to) = (allowed.start(), allowed.end());
        faults.add(
            table.path(name),
            format!("must be a status from {from} to {to} that is no challenge and has a body"),
        );
        return None;
    }
    Some(status)
}

fn pointer(text: &str) -> Result<Pointer, String> {
    let pointer = Pointer::parse(text).map_err(|why| format!("{}: {why}", quote(text)))?;
    if pointer.has_wildcard() {
        return Err("names one place: without *".to_owned());
    }
    Ok(pointer)
}
