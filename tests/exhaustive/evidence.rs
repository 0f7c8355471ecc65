//! Evidence: what may move a record from one state to another, and what never may.

use oncegate::core::identity::Fence;
use oncegate::core::outcome::{Reason, Verdict};
use oncegate::core::policy::Recovery;
use oncegate::core::record::{Record, State};
use oncegate::core::recovery::Finding;
use oncegate::core::reply::{Body, Reply};
use oncegate::core::step::{Note, Reaction, Step};

use crate::case::Case;
use crate::events::What;
use crate::policies::SETTLE;

pub(crate) fn check(case: &Case<'_>, step: &Step) {
    let (Some(before), after) = (case.aged, step.record.as_ref()) else {
        return;
    };
    if matches!(step.reaction, Reaction::Forward(_)) {
        return;
    }
    attempt_and_life(case, step);
    let changed = after.map(|it| &it.state) != Some(&before.state);
    match &before.state {
        State::Completed(_) | State::FailedReplayable(_) | State::Expired { .. } => {
            settled(case, before, after);
        }
        State::FailedRetryable { .. } if changed => {
            let emptied = after.is_none() && before.forgotten(case.now);
            assert!(emptied || success(case, before), "{case}\n{step:#?}");
        }
        State::Unknown { .. } | State::InProgress { .. } if changed => open(case, before, step),
        State::FailedRetryable { .. } | State::Unknown { .. } | State::InProgress { .. } => {}
    }
    if matches!(before.state, State::Unknown { .. }) || before.late.is_some() {
        success_is_not_forgotten(case, before, after);
    }
}

/// Nothing but a claim changes the fence.
fn attempt_and_life(case: &Case<'_>, step: &Step) {
    if let (Some(before), Some(after)) = (case.aged, &step.record) {
        assert_eq!(after.fence(), before.fence(), "{case}");
    }
    let foreign = |fence: &Fence| case.aged.is_none_or(|it| it.nonce != fence.nonce);
    let stranger = match case.what {
        What::Answered { fence, .. } => Some(fence),
        What::Probed { order, .. } if case.aged.is_some() => Some(&order.fence),
        What::Probed { .. }
        | What::Alarm
        | What::Arrived { .. }
        | What::Delivered { .. }
        | What::Looked
        | What::Purged { .. }
        | What::Reading { .. }
        | What::TimedOut { .. }
        | What::Undelivered => None,
    }
    .is_some_and(foreign);
    if stranger {
        let states = [case.aged, step.record.as_ref()].map(|it| it.map(|it| &it.state));
        assert_eq!(states[0], states[1], "another life is no evidence: {case}");
        assert!(step.notes.contains(&Note::AnotherLife), "{case}");
    }
}

/// What is settled stays as it is; only a receipt that was lost may be filled in,
/// and an operator may have the reply forgotten, but not the key.
fn settled(case: &Case<'_>, before: &Record, after: Option<&Record>) {
    let Some(after) = after else {
        assert!(before.forgotten(case.now), "erased: {case}");
        return;
    };
    if after.state == before.state {
        return;
    }
    if let What::Purged { nonce } = case.what {
        assert_eq!(*nonce, before.nonce, "{case}");
        let mut forgotten = before.clone();
        forgotten.forget_replies();
        assert_eq!(after.state, forgotten.state, "{case}");
        return;
    }
    let (State::Completed(old), State::Completed(new)) = (&before.state, &after.state) else {
        panic!(
            "a settled record has changed to {}: {case}",
            after.state.name()
        );
    };
    assert_eq!(old.reply.body, Body::Lost, "{case}");
    assert_eq!(
        (old.reply_until, old.forget_at),
        (new.reply_until, new.forget_at),
        "{case}"
    );
    let What::Probed {
        order,
        finding: Finding::Applied(found),
        ..
    } = case.what
    else {
        panic!("only a probe fills in a receipt: {case}");
    };
    assert_eq!(
        (order.fence.nonce, found),
        (before.nonce, &new.reply),
        "{case}"
    );
}

/// Whether the event shows a success of this life, and its receipt.
fn shown<'a>(case: &'a Case<'_>, before: &Record) -> Option<&'a Reply> {
    match case.what {
        What::Answered {
            fence,
            verdict: Verdict::Completed,
            reply,
        } if fence.nonce == before.nonce => reply.as_ref(),
        What::Probed {
            order,
            finding: Finding::Applied(reply),
            ..
        } if order.fence.nonce == before.nonce && !before.forgotten(case.now) => Some(reply),
        _ => None,
    }
}

fn success(case: &Case<'_>, before: &Record) -> bool {
    shown(case, before).is_some()
}

/// The verdict of the latest attempt, if that is what happens.
fn own_answer(case: &Case<'_>, before: &Record) -> Option<(Verdict, bool)> {
    match case.what {
        What::Answered {
            fence,
            verdict,
            reply,
        } if *fence == before.fence() => Some((*verdict, reply.is_some())),
        _ => None,
    }
}

/// What the latest attempt and the origin's word allow an open record to become.
fn open(case: &Case<'_>, before: &Record, step: &Step) {
    let what = || format!("{case}\n{step:#?}");
    let probed = match case.what {
        What::Probed {
            order,
            finding,
            call_open,
        } if order.fence == before.fence() && order.since == before.since => {
            Some((order, finding, *call_open))
        }
        _ => None,
    };
    let unknown = matches!(before.state, State::Unknown { .. });
    match step.record.as_ref().map(|it| &it.state) {
        // Nothing is left, or the command may run again: certainly without effect.
        None | Some(State::FailedRetryable { .. }) => {
            let answered = matches!(
                own_answer(case, before),
                Some((Verdict::NotClaimed | Verdict::Retryable, _))
            ) && !before.unresolved;
            let asked = probed.is_some_and(|(order, finding, call_open)| {
                let reconciles = matches!(
                    case.operation.map(|it| &it.recovery),
                    Some(Recovery::Reconcile(_))
                );
                unknown
                    && *finding == Finding::NotApplied
                    && order.sent.0 >= before.since.0 + SETTLE
                    && !call_open
                    && reconciles
            });
            assert!(answered || asked, "runnable without evidence: {}", what());
            let empty = step.record.as_ref().is_none_or(|it| it.forgotten(case.now));
            assert!(!empty || before.attempt == 1, "erased: {}", what());
        }
        Some(State::Completed(settled)) => {
            let late = before.late.as_ref();
            let receipt = shown(case, before).or(late);
            assert_eq!(receipt, Some(&settled.reply), "{}", what());
        }
        Some(State::FailedReplayable(_)) => {
            let answered = own_answer(case, before) == Some((Verdict::Failed, true));
            let asked = probed.is_some_and(|it| unknown && matches!(it.1, Finding::Failed(_)));
            let certain = answered && !before.unresolved;
            assert!(certain || asked, "failed without evidence: {}", what());
        }
        Some(State::Unknown { reason, .. }) => {
            let timed_out =
                matches!(case.what, What::TimedOut { fence } if *fence == before.fence());
            let answered = own_answer(case, before).is_some();
            assert!(timed_out || answered, "{}", what());
            assert_eq!(timed_out, *reason == Reason::OriginTimeout, "{}", what());
        }
        Some(State::InProgress { .. }) => {
            let read = matches!(case.what, What::Reading { fence, .. } if *fence == before.fence());
            assert!(read && !unknown, "{}", what());
        }
        Some(State::Expired { .. }) => panic!("{}", what()),
    }
}

/// A success of this life, once shown, is kept until it decides.
fn success_is_not_forgotten(case: &Case<'_>, before: &Record, after: Option<&Record>) {
    let known = before.late.is_some() || success(case, before);
    let Some(after) = after.filter(|_| known) else {
        assert!(!known, "forgotten: {case}");
        return;
    };
    let decided = matches!(after.state, State::Completed(_));
    let running = matches!(after.state, State::InProgress { .. });
    assert!(
        decided || (running && after.late.is_some()),
        "a success is known and does not decide: {case}"
    );
    let twice = before.late.is_some() && decided;
    assert!(!twice || after.disputed, "{case}");
}
