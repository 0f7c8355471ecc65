//! What answers, probes and time make of a record, as a table a person can read.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

mod common;

use common::{SAME, World, whole, world};
use oncegate::core::identity::{Fence, Nonce};
use oncegate::core::outcome::Verdict;
use oncegate::core::record::Head;
use oncegate::core::recovery::Finding;
use oncegate::core::reply::{Body, Read, Reply};
use oncegate::core::step::{Event, Note, ProbeOrder};
use oncegate::core::time::Span;
use serde_json::json;

#[test]
fn what_the_first_caller_gets() {
    for (status, read, answer, after) in [
        (201, whole("x"), "deliver executed", "completed"),
        (303, whole(""), "deliver executed", "completed"),
        (404, whole("x"), "deliver executed", "failed_replayable"),
        (429, whole("x"), "deliver executed", "failed_retryable"),
        (401, whole("x"), "deliver executed", "none"),
        (403, whole("x"), "deliver executed", "none"),
        (500, whole("x"), "deliver unknown", "unknown"),
        (302, whole("x"), "deliver unknown", "unknown"),
        (201, Read::TooLong, "deliver executed", "completed"),
        (
            201,
            Read::BrokeOff,
            "502 executed reply_unavailable",
            "completed",
        ),
        (
            422,
            Read::BrokeOff,
            "502 executed reply_unavailable",
            "failed_replayable",
        ),
        (
            500,
            Read::BrokeOff,
            "502 unknown origin_unreachable",
            "unknown",
        ),
        (
            401,
            Read::BrokeOff,
            "502 refused origin_unreachable",
            "none",
        ),
    ] {
        let mut world = world(&json!({}), "running");
        let fence = world.fence();
        let step = world.answer(fence, status, read);
        assert_eq!(
            (world.words(&step).as_str(), world.state()),
            (answer, after),
            "{status}"
        );
        assert!(step.save);
    }
}

#[test]
fn a_connection_that_is_lost_or_silent_leaves_the_outcome_unknown() {
    let mut lost = world(&json!({}), "running");
    let fence = lost.fence();
    let step = lost.lose(fence);
    assert_eq!(lost.words(&step), "502 unknown origin_unreachable");
    assert_eq!(lost.state(), "unknown");

    let mut silent = world(&json!({}), "running");
    let fence = silent.fence();
    let step = silent.later(30).apply(Event::TimedOut { fence });
    assert_eq!(silent.words(&step), "504 unknown origin_timeout");
    assert_eq!(silent.state(), "unknown");
    let step = silent.later(5).answer(fence, 201, whole("receipt"));
    assert_eq!(silent.words(&step), "deliver executed");
    assert_eq!(silent.state(), "completed", "the late answer is evidence");
    let step = silent.arrive(SAME);
    assert_eq!(silent.words(&step), "201 replayed receipt");
}

#[test]
fn a_lease_lapses_by_the_records_own_time_whoever_finds_it() {
    for finder in ["alarm", "look", "request"] {
        let mut world = world(&json!({}), "running");
        let step = match finder {
            "alarm" => world.later(60).apply(Event::Alarm),
            "look" => world.later(60).apply(Event::Looked),
            _ => world.later(60).arrive(SAME),
        };
        assert_eq!(world.state(), "unknown", "{finder}");
        assert!(step.save, "{finder}");
        assert_eq!(step.notes, [Note::LeaseLapsed], "{finder}");
        let again = world.apply(Event::Alarm);
        assert!(!again.save && again.notes.is_empty(), "only once");
    }
    let mut early = world(&json!({}), "running");
    let step = early.later(59).apply(Event::Alarm);
    assert_eq!((early.state(), step.save), ("in_progress", false));
}

#[test]
fn windows_end_at_their_very_times() {
    let policy = json!({ "keep": { "for": "60s", "tombstone": "90s" } });
    for (seconds, state) in [
        (59, "completed"),
        (60, "expired"),
        (89, "expired"),
        (90, "none"),
        (9_000, "none"),
    ] {
        let mut world = world(&policy, "completed");
        world.later(seconds).apply(Event::Alarm);
        assert_eq!(world.state(), state, "{seconds} s");
    }
    let mut unknown = world(&policy, "unknown");
    unknown.later(9_000_000).apply(Event::Alarm);
    assert_eq!(unknown.state(), "unknown", "it never expires");
    let mut slow = world(
        &json!({ "keep": { "for": "1s", "tombstone": "1s" } }),
        "running",
    );
    slow.later(59).apply(Event::Alarm);
    assert_eq!(
        slow.state(),
        "in_progress",
        "an operation in progress outlives any window"
    );
}

#[test]
fn answers_of_another_life_are_no_evidence() {
    let mut world = world(&json!({}), "unknown");
    let before = world.record.clone();
    let stranger = Fence {
        nonce: Nonce(0xdead),
        attempt: 1,
    };
    let step = world.answer(stranger, 201, whole("receipt"));
    assert_eq!(step.notes, [Note::AnotherLife]);
    assert_eq!((world.record, step.save), (before, false));
}

#[test]
fn a_failure_speaks_for_its_own_attempt_only() {
    let rerun = json!({ "recovery": { "then": "rerun" } });
    for status in [401, 422, 429] {
        let mut world = world(&rerun, "unknown");
        world.arrive(SAME);
        let second = world.fence();
        let step = world.answer(second, status, whole("no"));
        assert_eq!(world.words(&step), "deliver unknown", "{status}");
        assert_eq!(
            world.state(),
            "unknown",
            "the first attempt is unresolved: {status}"
        );
    }
    let mut late = world(&rerun, "unknown");
    let first = late.fence();
    late.arrive(SAME);
    let step = late.answer(first, 422, whole("no"));
    assert_eq!(
        (late.state(), step.save),
        ("in_progress", false),
        "attempt 1 decides nothing"
    );
}

#[test]
fn a_success_of_an_earlier_attempt_decides_if_the_latest_does_not_succeed() {
    let rerun = json!({ "recovery": { "then": "rerun" } });
    for later in ["422", "500", "lost", "lapsed", "201"] {
        let mut world = world(&rerun, "unknown");
        let first = world.fence();
        world.arrive(SAME);
        let second = world.fence();
        world.answer(first, 201, whole("first receipt"));
        assert_eq!(world.state(), "in_progress", "it is kept");
        let answer = match later {
            "lost" => world.lose(second),
            "lapsed" => world.later(60).apply(Event::Alarm),
            status => world.answer(second, status.parse().unwrap(), whole("second")),
        };
        assert_eq!(world.state(), "completed", "{later}");
        assert!(world.record.as_ref().unwrap().disputed, "{later}");
        if later == "422" {
            assert_eq!(world.words(&answer), "201 replayed first receipt");
        }
        let receipt = if later == "201" {
            "second"
        } else {
            "first receipt"
        };
        let step = world.arrive(SAME);
        assert_eq!(
            world.words(&step),
            format!("201 replayed {receipt}"),
            "{later}"
        );
    }
}

#[test]
fn what_contradicts_a_settled_record_is_disputed_and_changes_nothing_for_clients() {
    for (past, status, body, disputed) in [
        ("completed", 201, "receipt", false),
        ("completed", 201, "another receipt", true),
        ("completed", 422, "no", true),
        ("completed", 500, "oops", false),
        ("failed", 201, "receipt", true),
        ("failed", 422, "no", false),
        ("expired", 201, "receipt", true),
    ] {
        let mut world = world(&json!({}), past);
        let fence = world.fence();
        let before = world.arrive(SAME);
        let before = world.words(&before);
        world.answer(fence, status, whole(body));
        assert_eq!(
            world.record.as_ref().unwrap().disputed,
            disputed,
            "{past} {status} {body}"
        );
        let after = world.arrive(SAME);
        assert_eq!(world.words(&after), before, "{past} {status} {body}");
    }
}

#[test]
fn a_late_success_settles_what_had_seemed_without_effect() {
    let mut world = world(&json!({}), "retryable");
    let fence = world.fence();
    world.answer(fence, 201, whole("receipt"));
    assert_eq!(world.state(), "completed");
}

#[test]
fn only_what_is_settled_can_be_purged_and_the_key_is_still_remembered() {
    for (past, after, answer) in [
        ("completed", "completed", "409 refused reply_unavailable"),
        (
            "failed",
            "failed_replayable",
            "409 refused reply_unavailable",
        ),
        ("running", "in_progress", "wait 10s"),
        ("unknown", "unknown", "202 unknown"),
        ("retryable", "failed_retryable", "forward 2"),
    ] {
        let mut world = world(&json!({ "after_expiry": "execute" }), past);
        let nonce = world.fence().nonce;
        let reason = "asked to by the customer";
        let step = world.apply(Event::Purged { nonce, reason });
        assert_eq!(world.state(), after, "{past}");
        assert_eq!(step.save, answer.ends_with("reply_unavailable"), "{past}");
        if step.save {
            let record = world.record.as_ref().unwrap();
            assert_eq!(record.bodies().count(), 0, "{past}");
            assert!(record.journal.last().unwrap().what.contains(reason));
        }
        let step = world.arrive(SAME);
        assert_eq!(world.words(&step), answer, "{past}");
    }
    let mut other = world(&json!({}), "completed");
    let nonce = Nonce(0xdead);
    other.apply(Event::Purged { nonce, reason: "x" });
    assert_eq!(other.state(), "completed", "another life");
}

/// What a probe has found out about the latest attempt.
fn probed(world: &mut World, finding: Finding) -> Vec<Note> {
    let (fence, since) = (world.fence(), world.record.as_ref().unwrap().since);
    let order = ProbeOrder {
        fence,
        since,
        sent: world.now,
    };
    let call_open = false;
    let step = world.apply(Event::Probed {
        order,
        finding,
        call_open,
    });
    step.notes
}

#[test]
fn what_a_probe_has_told_is_no_other_receipt_than_the_origins_own() {
    let recovery = json!({
        "then": "reconcile",
        "probe": "GET /{reference}",
        "verdicts": [{ "status": 200, "verdict": "applied" }],
    });
    let mut world = world(&json!({ "recovery": recovery }), "unknown");
    let fence = world.fence();
    let told = Reply {
        status: 200,
        headers: Vec::new(),
        body: Body::whole(b"told by the probe".to_vec()),
        seal: None,
    };
    assert_eq!(probed(&mut world, Finding::Applied(told)), []);
    assert_eq!(world.state(), "completed");
    let step = world.answer(fence, 201, whole("the origin's own"));
    assert_eq!(step.notes, []);
    assert!(!world.record.as_ref().unwrap().disputed);
    let failed = Event::Answered {
        fence,
        verdict: Verdict::Failed,
        reply: None,
    };
    assert_eq!(
        world.apply(failed).notes,
        [Note::Disputed],
        "but a failure contradicts it"
    );
}

#[test]
fn a_dispute_is_told_whoever_finds_it() {
    let mut world = world(&json!({ "effect": "at_least_once" }), "unknown");
    let first = world.fence();
    world.arrive(SAME);
    world.answer(first, 201, whole("late"));
    let step = world.later(60).apply(Event::Alarm);
    assert!(step.notes.contains(&Note::Disputed));
    assert!(world.record.as_ref().unwrap().disputed);
}

#[test]
fn a_late_success_of_an_attempt_that_another_followed_is_disputed() {
    let rerun = json!({ "recovery": { "then": "rerun" } });
    let mut world = world(&rerun, "unknown");
    let first = world.fence();
    world.arrive(SAME);
    let second = world.fence();
    world.answer(second, 500, whole("oops"));
    assert_eq!(world.state(), "unknown", "both attempts are");
    let step = world.answer(first, 201, whole("late receipt"));
    assert_eq!(world.state(), "completed");
    assert!(step.notes.contains(&Note::Disputed));
    assert!(
        world.record.as_ref().unwrap().disputed,
        "the second may have succeeded too"
    );
}

#[test]
fn a_body_that_never_ends_holds_the_key_for_a_quarter_of_an_hour() {
    let mut world = world(&json!({ "lease": "60s" }), "running");
    let fence = world.fence();
    let head = Head {
        verdict: Verdict::Completed,
        reply: Reply {
            status: 200,
            headers: Vec::new(),
            body: Body::Lost,
            seal: None,
        },
        at: world.now,
    };
    for _ in 0..20 {
        let head = head.clone();
        world.apply(Event::Reading { fence, head });
        assert_eq!(world.state(), "in_progress", "it is still read");
        world.later(44);
    }
    // 880 seconds: the lease is as long as it gets, and ends by the record's own time.
    world.apply(Event::Reading {
        fence,
        head: head.clone(),
    });
    world.later(21);
    world.apply(Event::Alarm);
    assert_eq!(world.state(), "completed");
    let step = world.arrive(SAME);
    assert_eq!(world.words(&step), "409 refused reply_unavailable");
}

#[test]
fn an_object_wakes_up_to_call_a_person() {
    let recovery = json!({
        "then": "reconcile",
        "probe": "GET /{reference}",
        "verdicts": [{ "status": 200, "verdict": "applied" }],
        "schedule": ["2h"],
        "escalate_after": "1h",
    });
    let mut world = world(&json!({ "recovery": recovery }), "unknown");
    let since = world.record.as_ref().unwrap().since;
    let step = world.apply(Event::Looked);
    assert!(
        step.wake.unwrap() <= since.after(Span::seconds(3_600)),
        "{:?}",
        step.wake
    );
    let step = world.later(3_600).apply(Event::Alarm);
    assert!(step.notes.contains(&Note::Escalated));
    assert!(step.wake.unwrap() > world.now, "once");
}

#[test]
fn a_sink_that_refuses_is_left_alone_for_longer_each_time() {
    let mut world = World::new(json!({}));
    world.events = true;
    world.arrive(SAME);
    let fence = world.fence();
    world.answer(fence, 201, whole("receipt"));
    let mut last = 0;
    for _ in 0..4 {
        let step = world.apply(Event::Undelivered);
        let pause = step.wake.unwrap().left(world.now).0;
        assert!(pause > last, "{pause} ms after {last} ms");
        assert!(!step.deliver, "not at once");
        last = pause;
    }
}
