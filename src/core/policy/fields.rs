//! The fields of an operation that are choices: what it answers, keeps and does when in doubt.
//!
//! Owns their forms and defaults, one function each. A function reports what is wrong and returns
//! nothing then, so that a field is never taken for its default because it was written wrongly.

use serde_json::Value;

use super::declared::{
    AFTER_WAIT, ANSWER, LEASE, ON_MISMATCH, ORIGIN_TIMEOUT, WAIT, WAIT_FOR, WHILE_RUNNING,
};
use super::operation::Common;
use super::reader::{Faults, Field, Table, status, wrong_type};
use super::{OnMismatch, OnRepeat, OutcomeLists, Statuses, WhileRunning};
use crate::core::code::Code;
use crate::core::time::Span;

pub(super) fn on_mismatch(
    table: &Table<'_>,
    on_repeat: Option<OnRepeat>,
    faults: &mut Faults,
) -> Option<OnMismatch> {
    let on_mismatch = ON_MISMATCH.take(table, faults);
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
    match table.get(NAME) {
        None => return Some(WAIT),
        // The answer alone is short for a table that holds nothing else.
        Some(Value::String(_)) => {
            return table.choice(NAME, ANSWER.built, faults).or(WAIT);
        }
        Some(Value::Object(_)) => {}
        Some(value) => {
            faults.add(table.path(NAME), wrong_type("a string or a table", value));
            return None;
        }
    }
    let Field::Is(inner) = table.table(NAME, &WHILE_RUNNING, faults) else {
        return None;
    };
    let answer = ANSWER.take(&inner, faults);
    let for_ = WAIT_FOR.take(&inner, faults);
    let then = AFTER_WAIT.take(&inner, faults);
    match answer? {
        WhileRunning::Wait { .. } => Some(WhileRunning::Wait {
            for_: for_?,
            then: then?,
        }),
        at_once @ (WhileRunning::Pending | WhileRunning::Conflict) => {
            for name in [WAIT_FOR.name, AFTER_WAIT.name]
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
    let lease = LEASE.take(table, faults);
    let origin_timeout = ORIGIN_TIMEOUT.take(table, faults);
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
