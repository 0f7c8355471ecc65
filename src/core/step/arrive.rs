//! What an arriving request gets, and whether it may claim the key.
//!
//! Owns the rules of arrival. Content is compared before the state is looked at (except in a
//! tombstone), so that another command never waits, never gets a receipt and never learns more
//! than that the key is taken. Only a request that arrives for the first time may start an
//! attempt on a known key; a waiter and the front's second try are answered from what is stored.

use super::super::answer::{Answer, Problem, Told};
use super::super::code::Code;
use super::super::outbox::Outbox;
use super::super::policy::{AfterExpiry, AfterWait, OnMismatch, OnRepeat, Recovery, WhileRunning};
use super::super::record::{Lifetimes, Record, State};
use super::super::time::{Millis, Span};
use super::tell::{acknowledge, give, hint, malformed_command, pending, refused};
use super::{Aged, Arrival, Manner, Note, Reaction, Step};

/// A request at the object.
pub(super) fn arrived(mut aged: Aged, arrival: Arrival<'_>, now: Millis) -> Step {
    let known = aged.record.take_if(|record| !record.forgotten(now));
    let Some(record) = known else {
        return match arrival.manner {
            Manner::First | Manner::SecondTry if closed(arrival) => aged.react(unsafe_to_keep()),
            Manner::First | Manner::SecondTry => claim_empty(aged, arrival, now),
            // The attempt it waited for left nothing behind: it may come back.
            Manner::Waited { .. } => aged.react(pending(Code::InProgress, Span::seconds(1))),
        };
    };
    let content = match record.state {
        State::Expired { .. } => Content::Same,
        State::Completed(_)
        | State::FailedReplayable(_)
        | State::FailedRetryable { .. }
        | State::InProgress { .. }
        | State::Unknown { .. } => compare(&mut aged, &record, arrival),
    };
    if content == Content::Refused {
        aged.record = Some(record);
        return aged.react(match arrival.fingerprint {
            Ok(_) => refused(Code::KeyReused),
            Err(malformed) => malformed_command(malformed),
        });
    }
    match decide(&record, arrival, now) {
        Decision::Claim | Decision::NewLife if closed(arrival) => {
            aged.record = Some(record);
            aged.react(unsafe_to_keep())
        }
        Decision::Claim => claim_again(aged, record, arrival, now),
        Decision::NewLife => {
            aged.record = Some(record);
            claim_empty(aged, arrival, now)
        }
        Decision::React(reaction) => {
            aged.record = Some(record);
            Step {
                mismatch: content == Content::Marked,
                ..aged.react(reaction)
            }
        }
    }
}

/// What a look at the content leads to.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Content {
    /// Another command, which the policy answers as if it were the same.
    Marked,
    /// Another command, which the policy refuses.
    Refused,
    /// The same command, or one whose content does not count.
    Same,
}

fn compare(aged: &mut Aged, record: &Record, arrival: Arrival<'_>) -> Content {
    if arrival.operation.on_mismatch == OnMismatch::Ignore {
        return Content::Same;
    }
    let (recipe, command) = (&arrival.operation.recipe, arrival.command);
    let stored = &record.fingerprint;
    let judgement = match arrival.fingerprint {
        Ok(fingerprint) => stored.judge(recipe, fingerprint, command),
        Err(_) => stored.judge_malformed(recipe, command),
    };
    if judgement.recipe_changed {
        aged.notes.push(Note::RecipeChanged);
    }
    match (
        judgement.is_same(),
        arrival.operation.on_mismatch,
        &record.state,
    ) {
        (true, _, _) => Content::Same,
        (false, OnMismatch::Replay, State::Completed(_) | State::InProgress { .. }) => {
            Content::Marked
        }
        // Another school runs a failed command again: that must be the same command.
        (false, OnMismatch::Replay, State::FailedReplayable(_))
            if arrival.operation.on_repeat == OnRepeat::Replay =>
        {
            Content::Marked
        }
        (
            false,
            OnMismatch::Ignore | OnMismatch::Refuse | OnMismatch::Replay | OnMismatch::Separate,
            _,
        ) => Content::Refused,
    }
}

/// What the state of a record, and the policy, allow a request.
enum Decision {
    /// It starts the next attempt of this life.
    Claim,
    /// It starts a new life.
    NewLife,
    /// It starts nothing.
    React(Reaction),
}

fn decide(record: &Record, arrival: Arrival<'_>, now: Millis) -> Decision {
    let operation = arrival.operation;
    let first = arrival.manner == Manner::First && record.claimed_by != arrival.request;
    let claimant = record.claimed_by == arrival.request;
    let reaction = match &record.state {
        State::InProgress { .. } => while_running(record, arrival, now),
        State::Completed(settled) => match operation.on_repeat {
            _ if claimant => give(record, settled, Told::Executed),
            OnRepeat::Replay => give(record, settled, Told::Replayed),
            OnRepeat::Refuse => refused(Code::Duplicate),
            OnRepeat::Acknowledge => acknowledge(settled, operation),
        },
        State::FailedReplayable(settled) => match operation.on_repeat {
            _ if claimant => give(record, settled, Told::Executed),
            OnRepeat::Replay => give(record, settled, Told::Replayed),
            OnRepeat::Acknowledge | OnRepeat::Refuse if first => return Decision::Claim,
            OnRepeat::Acknowledge | OnRepeat::Refuse => pending(Code::InProgress, Span::seconds(1)),
        },
        State::FailedRetryable { .. } if first => return Decision::Claim,
        State::FailedRetryable { .. } => pending(Code::InProgress, Span::seconds(1)),
        State::Unknown { .. } => match &operation.recovery {
            Recovery::Rerun if first && !arrival.call_open => return Decision::Claim,
            Recovery::Hold | Recovery::Rerun => pending(Code::OutcomeUnknown, hint(record, now)),
            Recovery::Reconcile(_) => while_asking(record, arrival, now),
        },
        State::Expired { .. } => match operation.after_expiry {
            AfterExpiry::Execute if first => return Decision::NewLife,
            AfterExpiry::Execute | AfterExpiry::Refuse => {
                Reaction::Answer(Answer::Problem(Problem {
                    told: Told::Expired,
                    ..Problem::of(Code::KeyExpired)
                }))
            }
        },
    };
    Decision::React(reaction)
}

fn while_running(record: &Record, arrival: Arrival<'_>, now: Millis) -> Reaction {
    let running = || pending(Code::InProgress, hint(record, now));
    let conflict = || {
        Reaction::Answer(Answer::Problem(Problem {
            told: Told::InProgress,
            status: Some(arrival.operation.statuses.conflict()),
            retry_after: Some(hint(record, now)),
            ..Problem::of(Code::InProgress)
        }))
    };
    let give_up = |then| match then {
        AfterWait::Pending => running(),
        AfterWait::Conflict => conflict(),
    };
    let fence = record.fence();
    match (arrival.operation.while_running, arrival.manner) {
        // The front's second try for the request that runs: it waits for its own answer.
        (_, Manner::First | Manner::SecondTry) if record.claimed_by == arrival.request => {
            Reaction::Wait {
                fence,
                until: longest_wait(record),
            }
        }
        (
            _,
            Manner::Waited {
                fence: waited,
                gave_up: false,
            },
        ) if waited == fence => {
            // Woken for something that did not end the attempt.
            Reaction::Wait {
                fence,
                until: longest_wait(record),
            }
        }
        (WhileRunning::Wait { then, .. }, Manner::Waited { .. }) => give_up(then),
        (WhileRunning::Wait { for_, .. }, Manner::First) => Reaction::Wait {
            fence,
            until: now.after(for_),
        },
        (WhileRunning::Conflict, Manner::First) => conflict(),
        (WhileRunning::Conflict | WhileRunning::Pending, _)
        | (WhileRunning::Wait { .. }, Manner::SecondTry) => running(),
    }
}

/// The origin is asked, or about to be: whoever may wait waits for its answer.
fn while_asking(record: &Record, arrival: Arrival<'_>, now: Millis) -> Reaction {
    let next = record.plan.and_then(|plan| plan.next);
    let due = next.is_some_and(|next| next.passed(now));
    let asked =
        arrival.probe_open || (due && matches!(arrival.manner, Manner::First | Manner::SecondTry));
    let fence = record.fence();
    match (arrival.operation.while_running, arrival.manner) {
        (WhileRunning::Wait { for_, .. }, Manner::First | Manner::SecondTry) if asked => {
            Reaction::Wait {
                fence,
                until: now.after(for_),
            }
        }
        (WhileRunning::Wait { for_, .. }, Manner::Waited { gave_up: false, .. }) if asked => {
            Reaction::Wait {
                fence,
                until: now.after(for_),
            }
        }
        (WhileRunning::Conflict | WhileRunning::Pending | WhileRunning::Wait { .. }, _) => {
            pending(Code::OutcomeUnknown, hint(record, now))
        }
    }
}

/// Until when the attempt of a record can have an answer for those who wait.
fn longest_wait(record: &Record) -> Millis {
    match record.state {
        State::InProgress { lease_until, .. } | State::Unknown { lease_until, .. } => lease_until,
        State::Completed(_)
        | State::Expired { .. }
        | State::FailedReplayable(_)
        | State::FailedRetryable { .. } => record.since,
    }
}

/// Whether a claim would have to keep in the clear what the policy wants encrypted.
fn closed(arrival: Arrival<'_>) -> bool {
    arrival.operation.keep.encrypt && !arrival.secret
}

/// Fail closed: the command is not forwarded.
fn unsafe_to_keep() -> Reaction {
    let detail = "the secret that replies of this operation are encrypted with is not configured";
    Reaction::Answer(Answer::Problem(Problem {
        retry_after: Some(Span::seconds(5)),
        ..Problem::detailed(Code::GateUnavailable, detail)
    }))
}

/// The first claim of a life.
fn claim_empty(mut aged: Aged, arrival: Arrival<'_>, now: Millis) -> Step {
    let fingerprint = match arrival.fingerprint {
        Ok(fingerprint) => fingerprint.clone(),
        Err(malformed) => return aged.react(malformed_command(malformed)),
    };
    if arrival.uncounted {
        return aged.react(Reaction::Count);
    }
    // What an earlier life has still to tell is told by this one.
    let earlier = aged.record.take().and_then(|record| record.outbox);
    let waiting = earlier.unwrap_or_default().waiting;
    let outbox = (arrival.events || !waiting.is_empty()).then(|| Outbox {
        due: (!waiting.is_empty()).then_some(now),
        waiting,
        ..Outbox::default()
    });
    let record = Record {
        operation: arrival.operation.name.clone(),
        nonce: arrival.nonce,
        attempt: 1,
        claimed_by: arrival.request,
        owner: arrival.owner,
        fingerprint,
        lifetimes: Lifetimes::of(arrival.operation),
        unresolved: false,
        disputed: false,
        escalated: false,
        kept: arrival.kept.to_vec(),
        plan: None,
        outbox,
        late: None,
        state: running(arrival, now),
        since: now,
        journal: Vec::new(),
    };
    claimed(aged, record, now)
}

/// The next attempt of a life; the key stays bound to its first command.
fn claim_again(aged: Aged, record: Record, arrival: Arrival<'_>, now: Millis) -> Step {
    let unresolved = record.unresolved || matches!(record.state, State::Unknown { .. });
    let record = Record {
        attempt: record.attempt.saturating_add(1),
        claimed_by: arrival.request,
        lifetimes: Lifetimes::of(arrival.operation),
        unresolved,
        // The same command, and perhaps a policy that asks by more of it. What is sealed is sealed
        // for its life, and stays.
        kept: if arrival.operation.keep.encrypt {
            record.kept
        } else {
            arrival.kept.to_vec()
        },
        escalated: false,
        plan: None,
        state: running(arrival, now),
        since: now,
        ..record
    };
    claimed(aged, record, now)
}

fn claimed(aged: Aged, record: Record, now: Millis) -> Step {
    let fence = record.fence();
    aged.become_(Some(record.noted("claimed", now)), Reaction::Forward(fence))
}

fn running(arrival: Arrival<'_>, now: Millis) -> State {
    State::InProgress {
        lease_until: now.after(arrival.operation.lease),
        answer_until: now.after(arrival.operation.origin_timeout),
        head: None,
    }
}
