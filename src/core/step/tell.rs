//! What a request is told of a record.
//!
//! Owns the answers that are read off a record as it is: the stored reply or what is left of it, an
//! acknowledgement, a refusal, and when to come back. It changes nothing and starts nothing.

use super::super::answer::{Answer, Original, Problem, Told};
use super::super::code::Code;
use super::super::command::Malformed;
use super::super::policy::Operation;
use super::super::record::{Record, Settled, State};
use super::super::reply::{Body, Reply};
use super::super::time::{Millis, Span};
use super::Reaction;

/// How long to stay away from an outcome that nothing is known to settle.
const HOLD_HINT: Span = Span::seconds(60);

/// What is recorded, for somebody who asked for an attempt that does not decide any more.
pub(super) fn recorded(record: &Record, now: Millis) -> Reaction {
    match &record.state {
        State::Completed(settled) | State::FailedReplayable(settled) => {
            give(record, settled, Told::Replayed)
        }
        State::InProgress { .. } | State::FailedRetryable { .. } => {
            pending(Code::InProgress, hint(record, now))
        }
        State::Unknown { .. } | State::Expired { .. } => {
            pending(Code::OutcomeUnknown, hint(record, now))
        }
    }
}

/// The stored reply, or what is left of it.
pub(super) fn give(record: &Record, settled: &Settled, told: Told) -> Reaction {
    let Reply { status, body, .. } = &settled.reply;
    Reaction::Answer(match body {
        Body::Whole(_) => Answer::Replay {
            reply: settled.reply.clone(),
            recorded: record.since,
            told,
        },
        Body::Lost | Body::NotKept | Body::TooLarge => Answer::Problem(Problem {
            told: if told == Told::Executed {
                told
            } else {
                Told::Refused
            },
            original: Some(Original {
                status: *status,
                location: settled.reply.header("location").map(str::to_owned),
            }),
            ..Problem::of(Code::ReplyUnavailable)
        }),
    })
}

/// The sender's own success: what is done is acknowledged as done, whatever status said so.
pub(super) fn acknowledge(settled: &Settled, operation: &Operation) -> Reaction {
    let status = match (operation.acknowledge.status, settled.reply.status) {
        (Some(status), _) | (None, status @ 200..=299) => status,
        (None, _) => 200,
    };
    Reaction::Answer(Answer::Acknowledge { status })
}

pub(super) fn refused(code: Code) -> Reaction {
    Reaction::Answer(Answer::Problem(Problem::of(code)))
}

pub(super) fn malformed_command(malformed: &Malformed) -> Reaction {
    let detail = malformed.detail.as_str();
    Reaction::Answer(Answer::Problem(Problem::detailed(
        Code::CommandMalformed,
        detail,
    )))
}

pub(super) fn pending(code: Code, retry_after: Span) -> Reaction {
    Reaction::Answer(Answer::Pending { code, retry_after })
}

/// When to come back: half of the time that is left, so that the hint shrinks with it, a quick
/// origin is not waited out, and a slow one costs a handful of requests.
pub(super) fn hint(record: &Record, now: Millis) -> Span {
    let left = match record.state {
        State::InProgress {
            lease_until,
            answer_until,
            ..
        } => {
            if answer_until.passed(now) {
                lease_until.left(now)
            } else {
                answer_until.left(now)
            }
        }
        State::Unknown { lease_until, .. } => match record.plan.and_then(|plan| plan.next) {
            Some(next) => return next.left(now),
            None if lease_until.passed(now) => return HOLD_HINT,
            None => lease_until.left(now),
        },
        State::Completed(_)
        | State::Expired { .. }
        | State::FailedReplayable(_)
        | State::FailedRetryable { .. } => return Span::seconds(1),
    };
    Span(left.0.div_ceil(2))
}
