//! What the answer of an attempt makes of a record.
//!
//! Owns the rules of evidence. A failure speaks for its own attempt only, and only while that is
//! the latest; a success of any attempt of this life settles what is not settled; what
//! contradicts a settled record never changes it for clients, but is marked `disputed`. An answer
//! of another life of the key is no evidence at all.

use super::super::answer::{Answer, Problem, Told};
use super::super::code::Code;
use super::super::identity::{Fence, Nonce};
use super::super::outcome::{Reason, Verdict};
use super::super::record::{Head, Record, Settled, State};
use super::super::reply::{Body, Reply};
use super::super::time::{Millis, Span};
use super::{Aged, Moment, Note, Reaction, Step, tell};

/// The answer of an attempt, in time or late.
pub(super) fn answered(
    mut aged: Aged,
    fence: Fence,
    verdict: Verdict,
    reply: Option<Reply>,
    now: Millis,
) -> Step {
    let Some(record) = aged.record.take() else {
        return another_life(aged, now);
    };
    if record.nonce != fence.nonce {
        aged.record = Some(record);
        return another_life(aged, now);
    }
    let latest = record.attempt == fence.attempt;
    match (&record.state, verdict, reply) {
        (
            State::InProgress { .. } | State::Unknown { .. } | State::FailedRetryable { .. },
            Verdict::Completed,
            Some(reply),
        ) => succeeded(aged, record, reply, latest, now),
        (State::Unknown { .. }, Verdict::Unknown(_), _) if latest => {
            // Still nobody knows, and since when has not changed.
            let record = record.noted("late_unknown", now);
            let reaction = tell::recorded(&record, now);
            aged.become_(Some(record), reaction)
        }
        (State::InProgress { .. } | State::Unknown { .. }, verdict, reply) if latest => {
            fall_short(aged, record, verdict, reply, now)
        }
        (
            State::Completed(_) | State::FailedReplayable(_) | State::Expired { .. },
            verdict,
            reply,
        ) => contradict(aged, record, verdict, reply.as_ref(), now),
        (
            State::InProgress { .. } | State::Unknown { .. } | State::FailedRetryable { .. },
            _,
            _,
        ) => {
            // A failure, or a lost connection, of an attempt that is no longer the latest.
            let reaction = tell::recorded(&record, now);
            aged.record = Some(record);
            aged.react(reaction)
        }
    }
}

/// A success of this life, told by the origin's answer or by a probe.
pub(super) fn succeeded(
    aged: Aged,
    record: Record,
    reply: Reply,
    latest: bool,
    now: Millis,
) -> Step {
    match record.state {
        State::InProgress { .. } if !latest => {
            let record = Record {
                late: Some(reply),
                ..record
            }
            .noted("late_success", now);
            let reaction = tell::recorded(&record, now);
            aged.become_(Some(record), reaction)
        }
        State::InProgress { .. } | State::Unknown { .. } | State::FailedRetryable { .. } => {
            complete(aged, record, reply, latest, now)
        }
        State::Completed(_) | State::FailedReplayable(_) | State::Expired { .. } => {
            contradict(aged, record, Verdict::Completed, Some(&reply), now)
        }
    }
}

/// The head of an answer came and its body takes its time: the head is stored, and the lease runs
/// on as long as this instance reads. At the end of either, the head decides.
pub(super) fn reading(mut aged: Aged, fence: Fence, head: Head, moment: Moment<'_>) -> Step {
    const LONGEST: Span = Span::seconds(15 * 60);
    let lease = moment
        .operation
        .map_or(Span(0), |operation| operation.lease);
    match aged.record.take() {
        Some(record) if record.fence() == fence => match record.state {
            State::InProgress {
                lease_until,
                answer_until,
                ..
            } => {
                let most = head.at.after(LONGEST);
                let lease_until = lease_until.max(moment.now.after(lease)).min(most);
                let head = Some(Box::new(head));
                let state = State::InProgress {
                    lease_until,
                    answer_until,
                    head,
                };
                aged.become_(Some(Record { state, ..record }), Reaction::Nothing)
            }
            State::Completed(_)
            | State::Expired { .. }
            | State::FailedReplayable(_)
            | State::FailedRetryable { .. }
            | State::Unknown { .. } => {
                aged.record = Some(record);
                aged.react(Reaction::Nothing)
            }
        },
        other => {
            aged.record = other;
            aged.react(Reaction::Nothing)
        }
    }
}

/// An operator has the reply of a settled record forgotten; the key is still remembered. What is
/// running or unknown cannot be purged: it would be forgotten that it may have happened.
pub(super) fn purged(mut aged: Aged, nonce: Nonce, reason: &str, now: Millis) -> Step {
    let settled = |record: &mut Record| {
        record.nonce == nonce
            && matches!(
                record.state,
                State::Completed(_) | State::FailedReplayable(_)
            )
    };
    let Some(record) = aged.record.take_if(settled) else {
        return aged.react(Reaction::Nothing);
    };
    let mut record = Record {
        kept: Vec::new(),
        ..record
    };
    // The state and its windows stay: that it was done is remembered, whatever the policy does
    // with keys that have expired.
    record.forget_replies();
    let record = record.noted(&format!("purged: {reason}"), now);
    aged.become_(Some(record), Reaction::Nothing)
}

/// No head of an answer in time: the callers are told, the call stays open.
pub(super) fn timed_out(mut aged: Aged, fence: Fence, now: Millis) -> Step {
    let running = |record: &mut Record| {
        record.fence() == fence && matches!(record.state, State::InProgress { head: None, .. })
    };
    let Some(mut record) = aged.record.take_if(running) else {
        let told = origin_problem(Code::OriginTimeout, aged.record.as_ref(), now);
        return aged.react(Reaction::Answer(told));
    };
    if let Some(late) = record.late.take() {
        return earlier_success(aged, record, late, now);
    }
    let lease_until = record.state.ends_at().unwrap_or(now);
    let reason = Reason::OriginTimeout;
    let record = record.moved(
        State::Unknown {
            reason,
            lease_until,
        },
        "unknown",
        now,
    );
    let told = origin_problem(Code::OriginTimeout, Some(&record), now);
    aged.become_(Some(record), Reaction::Answer(told))
}

/// The latest attempt has not succeeded, and an earlier one had: that decides.
fn earlier_success(mut aged: Aged, record: Record, late: Reply, now: Millis) -> Step {
    aged.notes.push(Note::Disputed);
    let record = late_decides(record, late, now);
    let reaction = tell::recorded(&record, now);
    aged.become_(Some(record), reaction)
}

/// The success of an earlier attempt settles what the latest could not.
pub(super) fn late_decides(record: Record, reply: Reply, now: Millis) -> Record {
    let state = State::Completed(record.lifetimes.settle(reply, now));
    Record {
        late: None,
        disputed: true,
        ..record
    }
    .moved(state, "completed", now)
}

/// A success of this life, of the latest attempt or an earlier one.
fn complete(mut aged: Aged, record: Record, reply: Reply, latest: bool, now: Millis) -> Step {
    let lost = reply.body == Body::Lost;
    // A success kept from an earlier attempt means that the effect happened twice.
    let disputed = record.disputed || !latest || record.late.is_some();
    if disputed && !record.disputed {
        aged.notes.push(Note::Disputed);
    }
    let state = State::Completed(record.lifetimes.settle(reply, now));
    let record = Record {
        late: None,
        disputed,
        ..record
    }
    .moved(state, "completed", now);
    let reaction = if lost {
        lost_reply()
    } else {
        Reaction::Deliver(Told::Executed)
    };
    aged.become_(Some(record), reaction)
}

/// The latest attempt did not succeed.
fn fall_short(
    aged: Aged,
    mut record: Record,
    verdict: Verdict,
    reply: Option<Reply>,
    now: Millis,
) -> Step {
    if let Some(late) = record.late.take() {
        return earlier_success(aged, record, late, now);
    }
    let broken = reply.as_ref().is_none_or(|reply| reply.body == Body::Lost);
    let state = match (verdict, reply, record.unresolved) {
        (Verdict::Failed, Some(reply), false) => {
            State::FailedReplayable(record.lifetimes.settle(reply, now))
        }
        (Verdict::NotClaimed, _, false) if record.attempt == 1 => {
            let reaction = if broken {
                Reaction::Answer(origin_problem(Code::OriginUnreachable, None, now))
            } else {
                Reaction::Deliver(Told::Executed)
            };
            return erase(aged, record, reaction, now);
        }
        (Verdict::NotClaimed | Verdict::Retryable, _, false) => State::FailedRetryable {
            forget_at: now.after(record.lifetimes.tombstone),
        },
        (Verdict::Failed | Verdict::NotClaimed | Verdict::Retryable, _, true) => {
            unknown(Reason::RerunRefused, now)
        }
        (Verdict::Unknown(reason), _, _) => unknown(reason, now),
        // Neither verdict exists without the head of an answer.
        (Verdict::Completed | Verdict::Failed, _, _) => unknown(Reason::ConnectionLost, now),
    };
    let told = match &state {
        State::Unknown { .. } => Told::Unknown,
        State::Completed(_)
        | State::Expired { .. }
        | State::FailedReplayable(_)
        | State::FailedRetryable { .. }
        | State::InProgress { .. } => Told::Executed,
    };
    let kept = matches!(state, State::FailedReplayable(_));
    let what = state.name();
    let record = record.moved(state, what, now);
    let reaction = match (broken, kept) {
        (false, _) => Reaction::Deliver(told),
        (true, true) => lost_reply(),
        (true, false) => {
            Reaction::Answer(origin_problem(Code::OriginUnreachable, Some(&record), now))
        }
    };
    aged.become_(Some(record), reaction)
}

/// Forgets a claim as if it had never been; only what an earlier life still has to tell stays.
fn erase(aged: Aged, record: Record, reaction: Reaction, now: Millis) -> Step {
    if !record.has_news() {
        return aged.become_(None, reaction);
    }
    let state = State::FailedRetryable { forget_at: now };
    aged.become_(
        Some(Record {
            state,
            plan: None,
            ..record
        }),
        reaction,
    )
}

/// An answer for a record that is settled: it changes nothing for clients.
fn contradict(
    mut aged: Aged,
    record: Record,
    verdict: Verdict,
    reply: Option<&Reply>,
    now: Millis,
) -> Step {
    let disputes = match (&record.state, verdict) {
        // What a probe has told of the operation is no other receipt than the origin's own.
        (State::Completed(Settled { rebuilt: true, .. }), Verdict::Completed) => false,
        (State::Completed(Settled { reply: stored, .. }), Verdict::Completed) => {
            reply.is_some_and(|reply| !same_receipt(stored, reply))
        }
        (State::Completed(_), Verdict::Failed)
        | (State::FailedReplayable(_), Verdict::Completed)
        | (State::Expired { .. }, Verdict::Completed | Verdict::Failed) => true,
        _ => false,
    };
    // Whoever still waits for this attempt gets what is recorded, not what contradicts it.
    let reaction = tell::recorded(&record, now);
    if !disputes || record.disputed {
        aged.record = Some(record);
        return aged.react(reaction);
    }
    aged.notes.push(Note::Disputed);
    let record = Record {
        disputed: true,
        ..record
    }
    .noted("disputed", now);
    aged.become_(Some(record), reaction)
}

/// Whether two replies are one receipt; what was not kept, or is sealed, cannot disagree.
fn same_receipt(stored: &Reply, other: &Reply) -> bool {
    let sealed = stored.seal.is_some() || other.seal.is_some();
    stored.status == other.status
        && match (&stored.body, &other.body) {
            (Body::Whole(stored), Body::Whole(other)) => sealed || stored == other,
            (Body::Lost | Body::NotKept | Body::TooLarge, _)
            | (_, Body::Lost | Body::NotKept | Body::TooLarge) => true,
        }
}

fn another_life(mut aged: Aged, now: Millis) -> Step {
    aged.notes.push(Note::AnotherLife);
    let retry_after = aged
        .record
        .as_ref()
        .map_or(Span::seconds(1), |it| tell::hint(it, now));
    let answer = Answer::Pending {
        code: Code::OutcomeUnknown,
        retry_after,
    };
    aged.react(Reaction::Answer(answer))
}

/// The state that nobody knows. The attempt has answered, or its connection is gone: nothing more
/// can come of its call.
fn unknown(reason: Reason, now: Millis) -> State {
    State::Unknown {
        reason,
        lease_until: now,
    }
}

/// The origin said what happened, but its words broke off.
fn lost_reply() -> Reaction {
    Reaction::Answer(Answer::Problem(Problem {
        told: Told::Executed,
        status: Some(502),
        ..Problem::detailed(
            Code::ReplyUnavailable,
            "the origin answered, but its answer broke off; the operation is recorded and will \
             not run again",
        )
    }))
}

/// The origin gave no answer that could be passed on.
fn origin_problem(code: Code, record: Option<&Record>, now: Millis) -> Answer {
    let told = if record.is_some() {
        Told::Unknown
    } else {
        Told::Refused
    };
    let retry_after = record.map_or(Span::seconds(1), |record| tell::hint(record, now));
    Answer::Problem(Problem {
        told,
        retry_after: Some(retry_after),
        ..Problem::of(code)
    })
}
