//! Claims: who may start an attempt, on what, and that never two of them are alive.

use oncegate::core::policy::{AfterExpiry, OnMismatch, OnRepeat, Recovery};
use oncegate::core::record::{Record, State};
use oncegate::core::step::{Manner, Reaction, Step};

use crate::case::{Case, FRESH};
use crate::events::{Content, What};

pub(crate) fn check(case: &Case<'_>, step: &Step) {
    let before = case.aged.map(Record::fence);
    let after = step.record.as_ref().map(Record::fence);
    let claimed = after.is_some() && after != before;
    assert_eq!(
        claimed,
        matches!(step.reaction, Reaction::Forward(_)),
        "the origin is called exactly when an attempt is new: {case}\n{step:#?}"
    );
    if !claimed {
        bound_as_before(case, step);
        return;
    }
    let record = step.record.as_ref().unwrap();
    assert!(step.save, "called before it is stored: {case}");
    assert_eq!(step.reaction, Reaction::Forward(record.fence()), "{case}");
    assert!(
        matches!(&record.state, State::InProgress { head: None, lease_until, .. }
            if *lease_until == case.now.after(case.operation.unwrap().lease)),
        "{case}"
    );
    let What::Arrived {
        manner,
        claimant,
        content,
        call_open,
        ..
    } = case.what
    else {
        panic!("only a request claims: {case}");
    };
    assert!(!matches!(manner, Manner::Waited { .. }), "{case}");
    match case.known() {
        None => new_life(case, record),
        Some(known) if may_live_again(case, known) => {
            assert_eq!(*manner, Manner::First, "{case}");
            assert!(!*claimant, "{case}");
            new_life(case, record);
        }
        Some(known) => {
            assert_eq!(*manner, Manner::First, "{case}");
            assert!(!*claimant, "its own claim is known: {case}");
            same_command(case, *content);
            next_attempt(case, known, record, *call_open);
        }
    }
}

/// Whether a tombstone stands for nothing, by the policy.
fn may_live_again(case: &Case<'_>, known: &Record) -> bool {
    let execute = case.operation.unwrap().after_expiry == AfterExpiry::Execute;
    execute && matches!(known.state, State::Expired { .. })
}

fn new_life(case: &Case<'_>, record: &Record) {
    let malformed = matches!(
        case.what,
        What::Arrived {
            content: Content::Malformed,
            ..
        }
    );
    assert!(!malformed, "{case}");
    assert_eq!((record.nonce, record.attempt), (FRESH, 1), "{case}");
    assert!(!record.unresolved && !record.disputed, "{case}");
    assert!(!record.escalated && record.late.is_none(), "{case}");
}

/// The key is bound to its first command for all its life.
fn same_command(case: &Case<'_>, content: Content) {
    let ignored = case.operation.unwrap().on_mismatch == OnMismatch::Ignore;
    assert!(
        content == Content::Same || ignored,
        "another command has claimed: {case}"
    );
}

fn next_attempt(case: &Case<'_>, known: &Record, record: &Record, call_open: bool) {
    assert_eq!(record.nonce, known.nonce, "{case}");
    assert_eq!(record.attempt, known.attempt + 1, "{case}");
    assert_eq!(record.fingerprint, known.fingerprint, "{case}");
    assert_eq!(record.owner, known.owner, "{case}");
    let operation = case.operation.unwrap();
    let unknown = matches!(known.state, State::Unknown { .. });
    assert_eq!(
        record.unresolved,
        known.unresolved || unknown,
        "an attempt that may have had an effect is remembered: {case}"
    );
    let allowed = match &known.state {
        State::FailedRetryable { .. } => true,
        State::FailedReplayable(_) => operation.on_repeat != OnRepeat::Replay,
        State::Unknown { .. } => operation.recovery == Recovery::Rerun && !call_open,
        // A claim is alive, or the effect has happened.
        State::InProgress { .. } | State::Completed(_) | State::Expired { .. } => false,
    };
    assert!(allowed, "an attempt too many: {case}");
    assert!(known.late.is_none(), "a success of it is known: {case}");
}

/// Without a claim, nothing changes of what the key is bound to.
fn bound_as_before(case: &Case<'_>, step: &Step) {
    let (Some(before), Some(after)) = (case.aged, &step.record) else {
        assert!(step.record.is_none(), "a record from nowhere: {case}");
        return;
    };
    assert_eq!(after.fingerprint, before.fingerprint, "{case}");
    assert_eq!(after.owner, before.owner, "{case}");
    assert_eq!(after.claimed_by, before.claimed_by, "{case}");
    assert_eq!(after.lifetimes, before.lifetimes, "{case}");
    assert_eq!(after.operation, before.operation, "{case}");
    assert!(
        after.disputed || !before.disputed,
        "a dispute is forgotten: {case}"
    );
}
