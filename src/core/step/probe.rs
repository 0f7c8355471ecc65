//! When the origin is asked, and what its answer makes of a record.
//!
//! Owns the plan of the probes and the rules of their verdicts. A probe is ordered in the same
//! step that stores when the next one is due, so that two never run for one record. A verdict is
//! void unless it is about this life; "failed" and "not there" also need the attempt and the state
//! that they were asked about, and "not there" counts only if it was asked after the settle time,
//! while no call of that attempt is open. A probe can fill in a receipt that was lost, and changes
//! nothing else that is settled.

use super::super::outbox::Kind;
use super::super::policy::Recovery;
use super::super::record::{Plan, Record, Settled, State};
use super::super::recovery::{Finding, Reconcile};
use super::super::reply::{Body, Reply};
use super::super::time::Millis;
use super::{Aged, Moment, Note, ProbeOrder, Reaction, Step, settle};

/// Sees to it that a record that can be asked about has a plan, that a probe is sent when it is
/// due, and that a person is called when it takes too long.
pub(super) fn plan(mut step: Step, moment: Moment<'_>, may_ask: bool) -> Step {
    let Some(operation) = moment.operation else {
        return step;
    };
    let Some(record) = &mut step.record else {
        return step;
    };
    let reconcile = match &operation.recovery {
        Recovery::Reconcile(reconcile) if record.questionable() => reconcile,
        Recovery::Reconcile(_) | Recovery::Hold | Recovery::Rerun => {
            // A plan of another policy is no plan any more.
            step.save |= record.plan.take().is_some();
            return step;
        }
    };
    let now = moment.now;
    let mut plan = record.plan.unwrap_or_else(|| Plan {
        sent: 0,
        next: Some(now.after(reconcile.pause(0, moment.draw))),
        escalate_at: record.since.after(reconcile.escalate_after),
    });
    if may_ask && plan.next.is_some_and(|next| next.passed(now)) {
        let (fence, since) = (record.fence(), record.since);
        step.probe = Some(ProbeOrder {
            fence,
            since,
            sent: now,
        });
        plan.sent = plan.sent.saturating_add(1);
        plan.next = next(reconcile, &record.state, plan.sent, moment);
    }
    if record.plan != Some(plan) {
        record.plan = Some(plan);
        step.save = true;
    }
    let unknown = matches!(record.state, State::Unknown { .. });
    if unknown && !record.escalated && plan.escalate_at.passed(now) {
        record.escalated = true;
        record.tell(Kind::Unknown, now);
        step.notes.push(Note::Escalated);
        step.save = true;
    }
    step
}

/// When the next probe is due. An unknown outcome is asked about until it is known; a receipt is
/// nice to have, and asked for as often as the schedule has entries.
fn next(reconcile: &Reconcile, state: &State, sent: u32, moment: Moment<'_>) -> Option<Millis> {
    let most = u32::try_from(reconcile.schedule.len()).unwrap_or(u32::MAX);
    let enough = matches!(state, State::Completed(_)) && sent >= most;
    (!enough).then(|| moment.now.after(reconcile.pause(sent, moment.draw)))
}

/// A probe came back.
pub(super) fn probed(
    mut aged: Aged,
    order: ProbeOrder,
    finding: Finding,
    call_open: bool,
    moment: Moment<'_>,
) -> Step {
    let now = moment.now;
    let Some(record) = aged.record.take() else {
        return aged.react(Reaction::Nothing);
    };
    if record.nonce != order.fence.nonce || record.forgotten(now) {
        aged.notes.push(Note::AnotherLife);
        aged.record = Some(record);
        return aged.react(Reaction::Nothing);
    }
    let current = record.fence() == order.fence && record.since == order.since;
    let settled_by_then = match moment.operation.map(|operation| &operation.recovery) {
        Some(Recovery::Reconcile(reconcile)) => {
            order.sent >= order.since.after(reconcile.settle_after)
        }
        Some(Recovery::Hold | Recovery::Rerun) | None => false,
    };
    let unknown = matches!(record.state, State::Unknown { .. });
    match finding {
        Finding::Applied(reply) => applied(aged, record, order, reply, now),
        Finding::Failed(reply) if unknown && current => {
            let state = State::FailedReplayable(record.lifetimes.settle(reply, now));
            resolve(aged, record, state, "probe_failed", now)
        }
        Finding::NotApplied if unknown && current && settled_by_then && !call_open => {
            let forget_at = now.after(record.lifetimes.tombstone);
            resolve(
                aged,
                record,
                State::FailedRetryable { forget_at },
                "probe_not_applied",
                now,
            )
        }
        Finding::Failed(_) | Finding::Inconclusive | Finding::NotApplied | Finding::Pending => {
            aged.record = Some(record);
            aged.react(Reaction::Nothing)
        }
    }
}

/// A verdict speaks for the attempt that it was asked about and for all before it.
fn resolve(aged: Aged, record: Record, state: State, what: &str, now: Millis) -> Step {
    let record = Record {
        unresolved: false,
        ..record
    }
    .moved(state, what, now);
    aged.become_(Some(record), Reaction::Nothing)
}

fn applied(mut aged: Aged, record: Record, order: ProbeOrder, reply: Reply, now: Millis) -> Step {
    let latest = record.attempt == order.fence.attempt;
    match &record.state {
        State::InProgress { .. }
        | State::Unknown { .. }
        | State::FailedRetryable { .. }
        | State::FailedReplayable(_) => {
            let mut step = settle::succeeded(aged, record, reply, latest, now);
            if let Some(Record {
                state: State::Completed(settled),
                ..
            }) = &mut step.record
            {
                // Told by the probe: the origin's own receipt, should it still come, is no other.
                settled.rebuilt = true;
            }
            step
        }
        State::Completed(Settled {
            reply: stored,
            reply_until,
            forget_at,
            ..
        }) if stored.body == Body::Lost && reply.body != Body::Lost => {
            let (reply_until, forget_at) = (*reply_until, *forget_at);
            let state = State::Completed(Settled {
                reply,
                rebuilt: true,
                reply_until,
                forget_at,
            });
            let record = Record {
                state,
                plan: None,
                ..record
            }
            .noted("receipt_filled_in", now);
            aged.become_(Some(record), Reaction::Nothing)
        }
        State::Completed(_) | State::Expired { .. } => {
            aged.record = Some(record);
            aged.react(Reaction::Nothing)
        }
    }
}
