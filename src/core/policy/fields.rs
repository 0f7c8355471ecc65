//! The fields of an operation that are choices: what it answers, keeps and does when in doubt.
//!
//! Owns their forms and defaults, one function each. A function reports what is wrong and returns
//! nothing then, so that a field is never taken for its default because it was written wrongly.

use serde_json::Value;

use super::operation::Common;
use super::reader::{Faults, Field, Names, Table, status, wrong_type};
use super::{
    AfterExpiry, AfterWait, Effect, OnMismatch, OnRepeat, OutcomeLists, Statuses, WhenAbsent,
    WhileRunning,
};
use crate::core::code::Code;
use crate::core::time::Span;

/// The longest body or reply: an isolate has 128 MB for all that it does at one time.
pub(super) const MOST_BYTES: usize = 16 << 20;

pub(super) fn when_absent(table: &Table<'_>, faults: &mut Faults) -> Option<WhenAbsent> {
    let built = [("refuse", WhenAbsent::Refuse), ("pass", WhenAbsent::Pass)];
    table
        .choice("when_absent", &built, &[], faults)
        .or(WhenAbsent::Refuse)
}

pub(super) fn on_repeat(table: &Table<'_>, faults: &mut Faults) -> Option<OnRepeat> {
    let built = [
        ("replay", OnRepeat::Replay),
        ("refuse", OnRepeat::Refuse),
        ("acknowledge", OnRepeat::Acknowledge),
    ];
    table
        .choice("on_repeat", &built, &[], faults)
        .or(OnRepeat::Replay)
}

pub(super) fn on_mismatch(
    table: &Table<'_>,
    on_repeat: Option<OnRepeat>,
    faults: &mut Faults,
) -> Option<OnMismatch> {
    let built = [
        ("refuse", OnMismatch::Refuse),
        ("replay", OnMismatch::Replay),
        ("separate", OnMismatch::Separate),
        ("ignore", OnMismatch::Ignore),
    ];
    let on_mismatch = table
        .choice("on_mismatch", &built, &[], faults)
        .or(OnMismatch::Refuse);
    if on_mismatch == Some(OnMismatch::Ignore) && on_repeat == Some(OnRepeat::Replay) {
        faults.add(
            table.path("on_mismatch"),
            "\"ignore\" goes with on_repeat \"refuse\" or \"acknowledge\" only: \
             a stored reply may belong to another command",
        );
    }
    on_mismatch
}

pub(super) fn while_running(table: &Table<'_>, faults: &mut Faults) -> Option<WhileRunning> {
    const NAME: &str = "while_running";
    const NAMES: Names<'_> = Names {
        built: &["answer", "for", "then"],
        planned: &[],
    };
    const WAIT: WhileRunning = WhileRunning::Wait {
        for_: Span::seconds(10),
        then: AfterWait::Pending,
    };
    let answers = [
        ("wait", WAIT),
        ("pending", WhileRunning::Pending),
        ("conflict", WhileRunning::Conflict),
    ];
    match table.get(NAME) {
        None => return Some(WAIT),
        Some(Value::String(_)) => return table.choice(NAME, &answers, &[], faults).or(WAIT),
        Some(Value::Object(_)) => {}
        Some(value) => {
            faults.add(table.path(NAME), wrong_type("a string or a table", value));
            return None;
        }
    }
    let Field::Is(inner) = table.table(NAME, &NAMES, faults) else {
        return None;
    };
    let answer = inner.choice("answer", &answers, &[], faults).or(WAIT);
    let for_ = inner.span("for", faults).or(Span::seconds(10));
    let choices = [
        ("pending", AfterWait::Pending),
        ("conflict", AfterWait::Conflict),
    ];
    let then = inner
        .choice("then", &choices, &[], faults)
        .or(AfterWait::Pending);
    match answer? {
        WhileRunning::Wait { .. } => Some(WhileRunning::Wait {
            for_: for_?,
            then: then?,
        }),
        at_once @ (WhileRunning::Pending | WhileRunning::Conflict) => {
            for name in ["for", "then"]
                .into_iter()
                .filter(|name| inner.get(name).is_some())
            {
                faults.add(inner.path(name), "goes with answer = \"wait\" only");
            }
            Some(at_once)
        }
    }
}

pub(super) fn deadlines(table: &Table<'_>, faults: &mut Faults) -> (Option<Span>, Option<Span>) {
    let lease = table.span("lease", faults).or(Span::seconds(60));
    let origin_timeout = table.span("origin_timeout", faults).or(Span::seconds(30));
    if let (Some(lease), Some(origin_timeout)) = (lease, origin_timeout)
        && lease <= origin_timeout
    {
        faults.add(
            table.path("lease"),
            "must be longer than origin_timeout (defaults: lease 60s, origin_timeout 30s)",
        );
    }
    (lease, origin_timeout)
}

pub(super) fn after_expiry(table: &Table<'_>, faults: &mut Faults) -> Option<AfterExpiry> {
    let built = [
        ("refuse", AfterExpiry::Refuse),
        ("execute", AfterExpiry::Execute),
    ];
    table
        .choice("after_expiry", &built, &[], faults)
        .or(AfterExpiry::Refuse)
}

pub(super) fn effect(table: &Table<'_>, faults: &mut Faults) -> Option<Effect> {
    let effects = [
        ("at_most_once", Effect::AtMostOnce),
        ("at_least_once", Effect::AtLeastOnce),
    ];
    table
        .choice("effect", &effects, &[], faults)
        .or(Effect::AtMostOnce)
}

pub(super) fn outcomes(table: &Table<'_>, faults: &mut Faults) -> Option<OutcomeLists> {
    let mut seen: Vec<u16> = Vec::new();
    let mut read = |name: &str| -> Option<Vec<u16>> {
        let items = table.list(name, faults).or(&[])?;
        let mut list = Vec::new();
        for (n, value) in items.iter().enumerate() {
            let path = format!("{}[{n}]", table.path(name));
            let Some(status) = status(value, &path, faults) else {
                continue;
            };
            if seen.contains(&status) {
                faults.add(path, format!("{status} stands in these lists already"));
            } else if let Some(why) = misplaced(name, status) {
                faults.add(path, format!("{status} cannot be {name}: {why}"));
            }
            seen.push(status);
            list.push(status);
        }
        (list.len() == items.len()).then_some(list)
    };
    let (final_, retryable, ambiguous) = (read("final"), read("retryable"), read("ambiguous"));
    Some(OutcomeLists {
        final_: final_?,
        retryable: retryable?,
        ambiguous: ambiguous?,
    })
}

/// Why a status cannot be in a list, if it cannot.
fn misplaced(list: &str, status: u16) -> Option<&'static str> {
    match status {
        100..=199 => Some("it is never the answer"),
        200..=299 if list != "ambiguous" => Some("it is a success"),
        401 | 407 => Some("a caller without credentials must leave nothing behind"),
        _ => None,
    }
}

pub(super) fn operation_statuses(
    table: &Table<'_>,
    on_repeat: Option<OnRepeat>,
    common: &Common,
    faults: &mut Faults,
) -> Option<Statuses> {
    let own = statuses(table, faults)?;
    let mut statuses = Statuses::new(common.preset, on_repeat?);
    for (code, status) in common.statuses.iter().chain(&own) {
        statuses.choose(*code, *status);
    }
    Some(statuses)
}

/// Reads a `statuses` table, of an operation or of the whole policy.
pub(super) fn statuses(table: &Table<'_>, faults: &mut Faults) -> Option<Vec<(Code, u16)>> {
    let names = Code::ALL.map(Code::wire);
    let names = Names {
        built: &names,
        planned: &[],
    };
    let inner = match table.table("statuses", &names, faults) {
        Field::Absent => return Some(Vec::new()),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let mut chosen = Vec::new();
    for (name, value) in inner.names() {
        let Some(code) = Code::from_wire(name) else {
            continue;
        };
        let status = value.as_u64().and_then(|status| u16::try_from(status).ok());
        match status.filter(|status| Statuses::allowed(code, *status)) {
            Some(status) => chosen.push((code, status)),
            None => faults.add(
                inner.path(name),
                "must be a status from 400 to 599 but not 405, 407, 408, 421 or 426; \
                 401 for principal_* only; 202 for in_progress and outcome_unknown only",
            ),
        }
    }
    Some(chosen)
}
