//! Duties: when the object looks again, what it asks the origin, and what it tells outside.

use oncegate::core::outbox::{Kind, Notice};
use oncegate::core::policy::Recovery;
use oncegate::core::record::{Record, State};
use oncegate::core::reply::Body;
use oncegate::core::step::{Manner, Note, Reaction, Step};

use crate::case::Case;
use crate::events::What;

pub(crate) fn check(case: &Case<'_>, step: &Step) {
    wakes(case, step);
    asks(case, step);
    tells(case, step);
}

fn reconciles(case: &Case<'_>) -> bool {
    let recovery = case.operation.map(|it| &it.recovery);
    matches!(recovery, Some(Recovery::Reconcile(_)))
}

/// No record is stuck: what can still move by itself has a wake-up that is not later than that,
/// and a wake-up does not ring for nothing.
fn wakes(case: &Case<'_>, step: &Step) {
    let Some(record) = &step.record else {
        assert_eq!(step.wake, None, "{case}");
        return;
    };
    let forgotten = record.forgotten(case.now);
    let mut must = Vec::new();
    must.extend(record.state.ends_at().filter(|_| !forgotten));
    must.extend(record.outbox.as_ref().and_then(|it| it.due()));
    if record.has_news() {
        assert!(!must.is_empty(), "news without a delivery: {case}");
    }
    if reconciles(case) && matches!(record.state, State::Unknown { .. }) {
        let plan = record.plan.unwrap_or_else(|| panic!("no plan: {case}"));
        must.extend(plan.next);
        assert!(plan.next.is_some(), "it is asked until it is known: {case}");
    }
    let hidden = case.operation.is_none() && matches!(record.state, State::Unknown { .. });
    if !must.is_empty() || hidden {
        let wake = step
            .wake
            .unwrap_or_else(|| panic!("no wake-up: {case}\n{step:#?}"));
        assert!(
            must.iter().all(|at| wake <= *at),
            "it wakes too late: {case}"
        );
    }
    let held = matches!(record.state, State::Unknown { .. }) && !reconciles(case);
    assert!(
        step.wake.is_some() || held || forgotten,
        "it never wakes: {case}"
    );
    if matches!(case.what, What::Alarm) {
        assert!(
            step.wake.is_none_or(|at| at > case.now),
            "the alarm rings again at once, for nothing: {case}\n{step:#?}"
        );
    }
}

/// The origin is asked exactly when that is due, by whom it may be, and only about what a probe
/// could find out; the next question is planned in the same step.
fn asks(case: &Case<'_>, step: &Step) {
    let may_ask = match case.what {
        What::Alarm => true,
        What::Arrived {
            manner: Manner::First | Manner::SecondTry,
            probe_open,
            ..
        } => !probe_open,
        _ => false,
    };
    let due = step.record.as_ref().filter(|_| may_ask && reconciles(case));
    let before = case
        .aged
        .filter(|_| !matches!(step.reaction, Reaction::Forward(_)));
    let due = due.is_some_and(|record| {
        let unknown = matches!(record.state, State::Unknown { .. });
        let planned = before.and_then(|it| it.plan);
        unknown && planned.is_some_and(|plan| plan.next.is_some_and(|at| at <= case.now))
    });
    assert!(
        !due || step.probe.is_some(),
        "nobody asks: {case}\n{step:#?}"
    );
    let Some(order) = step.probe else { return };
    assert!(may_ask && reconciles(case), "{case}");
    let record = step.record.as_ref().unwrap();
    let lost =
        matches!(&record.state, State::Completed(settled) if settled.reply.body == Body::Lost);
    assert!(
        lost || matches!(record.state, State::Unknown { .. }),
        "{case}"
    );
    assert_eq!(
        (order.fence, order.since, order.sent),
        (record.fence(), record.since, case.now),
        "{case}"
    );
    assert!(step.save, "asked before it is stored: {case}");
    assert!(
        record
            .plan
            .is_some_and(|plan| plan.next.is_none_or(|at| at > case.now)),
        "two questions at once: {case}"
    );
}

fn waiting(record: Option<&Record>) -> &[Notice] {
    let outbox = record.and_then(|it| it.outbox.as_ref());
    outbox.map_or(&[], |it| it.waiting.as_slice())
}

/// Nothing that waits to be told is lost or overtaken, and every new outcome is told.
fn tells(case: &Case<'_>, step: &Step) {
    let old = waiting(case.seed.record.as_ref());
    let new = waiting(step.record.as_ref());
    let gone = match case.what {
        What::Delivered { nonce, number } => old
            .iter()
            .position(|it| (it.nonce, it.number) == (*nonce, *number))
            .map_or(0, |at| at + 1),
        _ => 0,
    };
    let kept = &old[gone..];
    assert!(
        new.starts_with(kept) || aged_away(case, step),
        "a notice is lost: {case}\n{step:#?}"
    );
    let added = new.get(kept.len()..).unwrap_or_default();
    let mut number = made(case.seed.record.as_ref());
    for notice in added {
        number += 1;
        assert_eq!(notice.number, number, "{case}");
        assert_eq!(
            Some(notice.nonce),
            case.seed.record.as_ref().map(|it| it.nonce),
            "{case}"
        );
        assert_eq!(notice.at, case.now, "{case}");
    }
    every_change_is_told(case, step, added);
    delivers(case, step);
}

/// What waits is delivered at once, but not to a sink that has refused and whose pause goes on.
fn delivers(case: &Case<'_>, step: &Step) {
    let outbox = step.record.as_ref().and_then(|it| it.outbox.as_ref());
    let waits = outbox.is_some_and(|it| !it.waiting.is_empty());
    let refused = outbox.is_some_and(|it| it.failures > 0);
    assert!(waits || !step.deliver, "{case}");
    if matches!(case.what, What::Undelivered) {
        assert!(
            !step.deliver,
            "a sink that refuses is left in peace: {case}"
        );
        return;
    }
    let due = case
        .seed
        .record
        .as_ref()
        .is_some_and(|it| it.delivery_due(case.now));
    assert_eq!(step.deliver, waits && (!refused || due), "{case}");
}

fn made(record: Option<&Record>) -> u32 {
    record
        .and_then(|it| it.outbox.as_ref())
        .map_or(0, |it| it.made)
}

/// A record that is emptied has nothing more to tell.
fn aged_away(case: &Case<'_>, step: &Step) -> bool {
    step.record.is_none() && waiting(case.seed.record.as_ref()).is_empty()
}

fn every_change_is_told(case: &Case<'_>, step: &Step, added: &[Notice]) {
    let Some((before, after)) = case.aged.zip(step.record.as_ref()) else {
        return;
    };
    let listens = after.outbox.is_some();
    assert!(listens || added.is_empty(), "{case}");
    if matches!(step.reaction, Reaction::Forward(_)) || !listens {
        return;
    }
    let changed = before.state.name() != after.state.name();
    let erased = after.forgotten(case.now);
    if changed && !erased {
        let last = added.iter().rev().find(|it| !it.escalated);
        let last = last.unwrap_or_else(|| panic!("a change that is not told: {case}\n{step:#?}"));
        assert_eq!(last.state, after.state.name(), "{case}");
        let resolved = matches!(before.state, State::Unknown { .. });
        assert_eq!(last.kind == Kind::Resolved, resolved, "{case}");
    }
    let escalated = step.notes.contains(&Note::Escalated);
    let told = added
        .iter()
        .any(|it| it.escalated && it.kind == Kind::Unknown);
    assert_eq!(escalated, told, "{case}");
}
