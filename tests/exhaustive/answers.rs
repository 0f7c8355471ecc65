//! Answers: nothing is handed out that is not stored, nobody gets what is not theirs, and
//! content is compared before anything of the state is told.

use oncegate::core::answer::{Answer, Told};
use oncegate::core::code::Code;
use oncegate::core::policy::{OnMismatch, OnRepeat, Operation, Recovery, WhileRunning};
use oncegate::core::record::{Record, State};
use oncegate::core::reply::{Body, Reply};
use oncegate::core::step::{Manner, Reaction, Step};

use crate::case::Case;
use crate::events::{Content, What};

pub(crate) fn check(case: &Case<'_>, step: &Step) {
    if !matches!(case.what, What::Probed { .. }) {
        stored_first(case, step);
    }
    match case.what {
        What::Arrived {
            manner,
            claimant,
            content,
            ..
        } => arrival(case, step, *manner, *claimant, *content),
        What::Answered { .. } | What::TimedOut { .. } => assert!(
            matches!(step.reaction, Reaction::Answer(_) | Reaction::Deliver(_)),
            "a caller is left without an answer: {case}"
        ),
        What::Alarm
        | What::Delivered { .. }
        | What::Looked
        | What::Purged { .. }
        | What::Reading { .. }
        | What::Undelivered => {
            assert_eq!(step.reaction, Reaction::Nothing, "nobody asked: {case}");
        }
        // Whoever waits is woken, and asks for itself.
        What::Probed { .. } => {}
    }
    if !step.save {
        assert_eq!(
            step.record, case.seed.record,
            "changed and not stored: {case}"
        );
    }
}

/// The reply of a settled record.
fn receipt(record: Option<&Record>) -> Option<&Reply> {
    match &record?.state {
        State::Completed(settled) | State::FailedReplayable(settled) => Some(&settled.reply),
        State::Expired { .. }
        | State::FailedRetryable { .. }
        | State::InProgress { .. }
        | State::Unknown { .. } => None,
    }
}

/// Whatever is told of an outcome is what the record says, and the record is stored.
fn stored_first(case: &Case<'_>, step: &Step) {
    let record = step.record.as_ref();
    match &step.reaction {
        Reaction::Answer(Answer::Replay { reply, told, .. }) => {
            assert_eq!(receipt(record), Some(reply), "{case}");
            assert!(matches!(told, Told::Executed | Told::Replayed), "{case}");
        }
        Reaction::Answer(Answer::Acknowledge { status }) => {
            let stored = receipt(record).unwrap().status;
            let as_success = if stored < 300 { stored } else { 200 };
            assert_eq!(*status, as_success, "{case}");
        }
        Reaction::Answer(Answer::Problem(problem)) => {
            let settled = problem.code == Code::ReplyUnavailable || problem.code == Code::Duplicate;
            assert!(!settled || receipt(record).is_some(), "{case}");
            if let Some(original) = &problem.original {
                let status = receipt(record).map(|it| it.status);
                assert_eq!(status, Some(original.status), "{case}");
            }
        }
        Reaction::Answer(Answer::Pending { code, retry_after }) => {
            assert!(
                matches!(code, Code::InProgress | Code::OutcomeUnknown),
                "{case}"
            );
            assert!(retry_after.retry_after() >= 1, "{case}");
        }
        Reaction::Deliver(told) => delivered(case, step, *told),
        Reaction::Count | Reaction::Forward(_) | Reaction::Nothing => {}
        Reaction::Wait { fence, until } => {
            assert_eq!(record.map(Record::fence), Some(*fence), "{case}");
            assert!(*until > case.now, "a wait that is over: {case}");
        }
    }
}

/// The origin's own answer passes only once the record says the same.
fn delivered(case: &Case<'_>, step: &Step, told: Told) {
    let What::Answered { fence, reply, .. } = case.what else {
        panic!("there is no answer to deliver: {case}");
    };
    assert!(step.save, "handed out before it is stored: {case}");
    assert!(
        reply.as_ref().is_some_and(|it| it.body != Body::Lost),
        "{case}"
    );
    let record = step.record.as_ref();
    match record.map(|it| &it.state) {
        Some(State::Completed(settled) | State::FailedReplayable(settled)) => {
            assert_eq!(Some(&settled.reply), reply.as_ref(), "{case}");
            assert_eq!(told, Told::Executed, "{case}");
        }
        None | Some(State::FailedRetryable { .. }) => {
            assert_eq!(case.aged.map(Record::fence), Some(*fence), "{case}");
            assert_eq!(told, Told::Executed, "{case}");
        }
        Some(State::Unknown { .. }) => assert_eq!(told, Told::Unknown, "{case}"),
        Some(State::Expired { .. } | State::InProgress { .. }) => panic!("{case}\n{step:#?}"),
    }
}

fn arrival(case: &Case<'_>, step: &Step, manner: Manner, claimant: bool, content: Content) {
    let operation = case.operation.unwrap();
    let claimant = claimant && case.seed.record.is_some();
    assert!(
        !matches!(step.reaction, Reaction::Deliver(_) | Reaction::Nothing),
        "{case}"
    );
    if let Some(known) = case.known() {
        compared_first(case, step, known, content);
        if let Reaction::Answer(Answer::Replay { told, .. }) = &step.reaction {
            assert_eq!(*told == Told::Executed, claimant, "{case}");
        }
        if content == Content::Same || operation.on_mismatch == OnMismatch::Ignore {
            answer_of_state(case, step, known, claimant);
        }
        if claimant && manner == Manner::SecondTry && content == Content::Same {
            as_the_first_caller(case, step, known);
        }
    } else if content == Content::Malformed && !matches!(manner, Manner::Waited { .. }) {
        let Reaction::Answer(Answer::Problem(problem)) = &step.reaction else {
            panic!("{case}");
        };
        assert_eq!(problem.code, Code::CommandMalformed, "{case}");
    }
}

/// Another command learns nothing but that the key is taken, whatever the state is; where the
/// policy gives it the stored reply, that is marked.
fn compared_first(case: &Case<'_>, step: &Step, known: &Record, content: Content) {
    let operation = case.operation.unwrap();
    let tombstone = matches!(known.state, State::Expired { .. });
    let other = content != Content::Same && operation.on_mismatch != OnMismatch::Ignore;
    if !other || tombstone {
        assert!(!step.mismatch, "{case}");
        return;
    }
    if step.mismatch {
        assert_eq!(operation.on_mismatch, OnMismatch::Replay, "{case}");
        return;
    }
    let Reaction::Answer(Answer::Problem(problem)) = &step.reaction else {
        panic!("another command gets something of the first: {case}\n{step:#?}");
    };
    let code = match content {
        Content::Malformed => Code::CommandMalformed,
        Content::Other | Content::Same => Code::KeyReused,
    };
    assert_eq!(
        (problem.code, problem.told),
        (code, Told::Refused),
        "{case}"
    );
}

/// What the same command gets is what the state says, and nothing else.
fn answer_of_state(case: &Case<'_>, step: &Step, known: &Record, claimant: bool) {
    let operation = case.operation.unwrap();
    let told = match &step.reaction {
        Reaction::Answer(Answer::Acknowledge { .. }) => "acknowledged".to_owned(),
        Reaction::Answer(Answer::Pending { code, .. }) => code.wire().to_owned(),
        Reaction::Answer(Answer::Problem(problem)) => problem.code.wire().to_owned(),
        Reaction::Answer(Answer::Replay { .. }) => "reply".to_owned(),
        Reaction::Forward(_) => "claim".to_owned(),
        Reaction::Wait { .. } => "wait".to_owned(),
        Reaction::Count | Reaction::Deliver(_) | Reaction::Nothing => panic!("{case}"),
    };
    let allowed: &[&str] = match &known.state {
        State::Completed(_) => match operation.on_repeat {
            _ if claimant => &["reply", "reply_unavailable"],
            OnRepeat::Acknowledge => &["acknowledged"],
            OnRepeat::Refuse => &["duplicate"],
            OnRepeat::Replay => &["reply", "reply_unavailable"],
        },
        State::FailedReplayable(_) => match operation.on_repeat {
            _ if claimant => &["reply", "reply_unavailable"],
            OnRepeat::Acknowledge | OnRepeat::Refuse => &["claim", "in_progress"],
            OnRepeat::Replay => &["reply", "reply_unavailable"],
        },
        State::FailedRetryable { .. } => &["claim", "in_progress"],
        State::InProgress { .. } => match operation.while_running {
            _ if claimant => &["wait", "in_progress"],
            WhileRunning::Wait { .. } => &["wait", "in_progress"],
            WhileRunning::Conflict | WhileRunning::Pending => &["in_progress"],
        },
        State::Unknown { .. } => match &operation.recovery {
            Recovery::Hold => &["outcome_unknown"],
            Recovery::Reconcile(_) => &["outcome_unknown", "wait"],
            Recovery::Rerun => &["outcome_unknown", "claim"],
        },
        State::Expired { .. } => &["key_expired", "claim", "command_malformed"],
    };
    let waits_here = matches!(
        case.what,
        What::Arrived {
            manner: Manner::Waited { gave_up: false, .. },
            ..
        }
    ) && told == "wait"
        && matches!(known.state, State::InProgress { .. });
    assert!(
        allowed.contains(&told.as_str()) || waits_here,
        "{told}: {case}"
    );
}

/// The front's second try for the claim itself waits for its own answer, or gets it as the first
/// caller would have; it is never a duplicate.
fn as_the_first_caller(case: &Case<'_>, step: &Step, known: &Record) {
    match (&known.state, &step.reaction) {
        (State::InProgress { .. }, reaction) => {
            assert!(matches!(reaction, Reaction::Wait { .. }), "{case}");
        }
        (State::Completed(_) | State::FailedReplayable(_), Reaction::Answer(answer)) => {
            let executed = match answer {
                Answer::Replay { told, .. } => *told == Told::Executed,
                Answer::Problem(problem) => problem.told == Told::Executed,
                Answer::Acknowledge { .. } | Answer::Pending { .. } => false,
            };
            assert!(executed, "{case}");
        }
        _ => {}
    }
}

/// That the policies differ at all in what they tell, so that the tables above mean something.
#[test]
fn the_policies_differ() {
    let all = crate::policies::all();
    let count = |test: fn(&&Operation) -> bool| all.iter().map(|it| &**it).filter(test).count();
    assert_eq!(all.len(), 9 * 4 * 3 * 2);
    assert_eq!(count(|it| it.on_mismatch == OnMismatch::Ignore), 48);
    assert_eq!(
        count(|it| matches!(it.recovery, Recovery::Reconcile(_))),
        72
    );
}
