//! The transitions, as a table a person can read.
//!
//! Each line is one situation: how the record came to be, what happens, what the client gets, and
//! what is known afterwards.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

mod common;

use common::{OTHER, SAME, World, whole};
use oncegate::core::identity::{Fence, Nonce, RequestId};
use oncegate::core::reply::Read;
use oncegate::core::step::{Event, Manner, Note};
use serde_json::{Value, json};

/// How a record came to be; the time is right after it.
fn world(fields: &Value, past: &str) -> World {
    let mut world = World::new(fields.clone());
    if past == "none" {
        return world;
    }
    world.arrive(SAME);
    let fence = world.fence();
    match past {
        "running" => {}
        "completed" => drop(world.answer(fence, 201, whole("receipt"))),
        "lost" => drop(world.answer(fence, 201, Read::BrokeOff)),
        "too_large" => drop(world.answer(fence, 201, Read::TooLong)),
        "failed" => drop(world.answer(fence, 422, whole("no"))),
        "retryable" => drop(world.answer(fence, 429, whole("slow down"))),
        "unknown" => drop(world.answer(fence, 500, whole("oops"))),
        "expired" => {
            world.answer(fence, 201, whole("receipt"));
            world.later(24 * 3_600);
        }
        "forgotten" => {
            world.answer(fence, 201, whole("receipt"));
            world.later(30 * 24 * 3_600);
        }
        other => panic!("{other}"),
    }
    world
}

fn check(fields: &Value, table: &[(&str, &[u8], &str, &str)]) {
    for (past, body, answer, after) in table {
        let mut world = world(fields, past);
        let step = world.arrive(body);
        let what = if *body == SAME { "same" } else { "other" };
        assert_eq!(
            world.words(&step),
            *answer,
            "{what} command, {past}, under {fields}"
        );
        assert_eq!(
            world.state(),
            *after,
            "{what} command, {past}, under {fields}"
        );
        assert_eq!(
            step.save,
            answer.starts_with("forward") || *after == "expired",
            "{past}"
        );
    }
}

#[test]
fn under_the_default_policy() {
    check(
        &json!({}),
        &[
            ("none", SAME, "forward 1", "in_progress"),
            ("running", SAME, "wait 10s", "in_progress"),
            ("running", OTHER, "409 refused key_reused", "in_progress"),
            ("completed", SAME, "201 replayed receipt", "completed"),
            ("completed", OTHER, "409 refused key_reused", "completed"),
            ("lost", SAME, "409 refused reply_unavailable", "completed"),
            ("lost", OTHER, "409 refused key_reused", "completed"),
            (
                "too_large",
                SAME,
                "409 refused reply_unavailable",
                "completed",
            ),
            ("failed", SAME, "422 replayed no", "failed_replayable"),
            (
                "failed",
                OTHER,
                "409 refused key_reused",
                "failed_replayable",
            ),
            ("retryable", SAME, "forward 2", "in_progress"),
            (
                "retryable",
                OTHER,
                "409 refused key_reused",
                "failed_retryable",
            ),
            ("unknown", SAME, "202 unknown", "unknown"),
            ("unknown", OTHER, "409 refused key_reused", "unknown"),
            ("expired", SAME, "409 expired key_expired", "expired"),
            ("expired", OTHER, "409 expired key_expired", "expired"),
            ("forgotten", SAME, "forward 1", "in_progress"),
        ],
    );
}

#[test]
fn while_the_first_is_running() {
    for (rule, answer) in [
        (json!("pending"), "202 in-progress"),
        (json!("conflict"), "409 in-progress in_progress"),
        (json!({ "answer": "wait", "for": "3s" }), "wait 3s"),
    ] {
        check(
            &json!({ "while_running": rule }),
            &[("running", SAME, answer, "in_progress")],
        );
    }
}

#[test]
fn what_a_waiter_gets_when_it_gives_up() {
    for (then, answer) in [
        ("pending", "202 in-progress"),
        ("conflict", "409 in-progress in_progress"),
    ] {
        let rule = json!({ "answer": "wait", "for": "3s", "then": then });
        let mut world = world(&json!({ "while_running": rule }), "running");
        let fence = world.fence();
        let step = world.later(3).arrive_as(
            RequestId(99),
            Manner::Waited {
                fence,
                gave_up: true,
            },
            SAME,
        );
        assert_eq!(world.words(&step), answer);
    }
}

#[test]
fn a_waiter_is_answered_from_the_stored_reply_and_never_takes_over() {
    for (status, answer, after) in [
        (201, "201 replayed body", "completed"),
        (422, "422 replayed body", "failed_replayable"),
        (429, "202 in-progress", "failed_retryable"),
        (500, "202 unknown", "unknown"),
        (401, "202 in-progress", "none"),
    ] {
        let mut world = world(&json!({}), "running");
        let fence = world.fence();
        world.answer(fence, status, whole("body"));
        let manner = Manner::Waited {
            fence,
            gave_up: false,
        };
        let step = world.arrive_as(RequestId(99), manner, SAME);
        assert_eq!(world.words(&step), answer, "{status}");
        assert_eq!(world.state(), after, "{status}");
        assert!(!step.save);
    }
}

#[test]
fn the_minimal_guard_keeps_no_reply_and_runs_again_only_after_a_failure() {
    let table: &[(&str, &[u8], &str, &str)] = &[
        ("running", SAME, "wait 10s", "in_progress"),
        ("completed", SAME, "409 refused duplicate", "completed"),
        ("completed", OTHER, "409 refused key_reused", "completed"),
        ("failed", SAME, "forward 2", "in_progress"),
        (
            "failed",
            OTHER,
            "409 refused key_reused",
            "failed_replayable",
        ),
        ("retryable", SAME, "forward 2", "in_progress"),
        ("unknown", SAME, "202 unknown", "unknown"),
        // There is no reply window: done lasts to the end of the tombstone.
        ("expired", SAME, "409 refused duplicate", "completed"),
        ("forgotten", SAME, "forward 1", "in_progress"),
    ];
    for (past, body, answer, after) in table {
        let mut world = world(&json!({ "on_repeat": "refuse" }), past);
        let step = world.arrive(body);
        assert_eq!(
            (world.words(&step).as_str(), world.state()),
            (*answer, *after),
            "{past}"
        );
    }
}

#[test]
fn a_duplicate_delivery_is_acknowledged_only_after_success() {
    check(
        &json!({ "on_repeat": "acknowledge", "while_running": "pending" }),
        &[
            (
                "running",
                SAME,
                "503 in-progress in_progress",
                "in_progress",
            ),
            ("completed", SAME, "201 acknowledged", "completed"),
            ("failed", SAME, "forward 2", "in_progress"),
            ("unknown", SAME, "503 unknown outcome_unknown", "unknown"),
        ],
    );
}

#[test]
fn the_key_alone_counts_where_mismatches_are_ignored() {
    check(
        &json!({ "on_repeat": "refuse", "on_mismatch": "ignore" }),
        &[
            ("running", OTHER, "wait 10s", "in_progress"),
            ("completed", OTHER, "409 refused duplicate", "completed"),
            ("retryable", OTHER, "forward 2", "in_progress"),
        ],
    );
}

#[test]
fn another_command_gets_the_stored_reply_only_where_the_policy_says_so_and_marked() {
    check(
        &json!({ "on_mismatch": "replay" }),
        &[
            ("running", OTHER, "wait 10s mismatch", "in_progress"),
            (
                "completed",
                OTHER,
                "201 replayed receipt mismatch",
                "completed",
            ),
            (
                "failed",
                OTHER,
                "422 replayed no mismatch",
                "failed_replayable",
            ),
            (
                "retryable",
                OTHER,
                "409 refused key_reused",
                "failed_retryable",
            ),
            ("unknown", OTHER, "409 refused key_reused", "unknown"),
        ],
    );
}

#[test]
fn an_unknown_outcome_runs_again_only_where_the_effect_may_happen_twice() {
    let mut again = world(&json!({ "effect": "at_least_once" }), "unknown");
    let step = again.arrive(SAME);
    assert_eq!(again.words(&step), "forward 2");
    assert!(again.record.as_ref().unwrap().unresolved);

    let mut open = world(&json!({ "effect": "at_least_once" }), "unknown");
    open.call_open = true;
    let step = open.arrive(SAME);
    assert_eq!(
        open.words(&step),
        "202 unknown",
        "not while the old call is open here"
    );
}

#[test]
fn a_tombstone_may_start_a_new_life() {
    let mut world = world(&json!({ "after_expiry": "execute" }), "expired");
    let old = world.fence();
    let step = world.arrive(OTHER);
    assert_eq!(world.words(&step), "forward 1");
    assert_ne!(world.fence().nonce, old.nonce);
}

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
fn the_second_try_of_the_front_is_the_first_request_again() {
    let first = RequestId(7_000);
    let second_try =
        |world: &mut World, body: &[u8]| world.arrive_as(first, Manner::SecondTry, body);
    let claimed = |fields: &Value| {
        let mut world = World::new(fields.clone());
        world.arrive_as(first, Manner::First, SAME);
        world
    };
    for fields in [
        json!({}),
        json!({ "while_running": "conflict" }),
        json!({ "on_repeat": "refuse", "while_running": "pending" }),
    ] {
        let mut running = claimed(&fields);
        let step = second_try(&mut running, SAME);
        assert_eq!(running.words(&step), "wait 60s", "{fields}");
    }
    for (status, answer) in [
        (201, "201 executed receipt"),
        (422, "422 executed receipt"),
        (429, "202 in-progress"),
        (500, "202 unknown"),
    ] {
        let mut world = claimed(&json!({}));
        let fence = world.fence();
        world.answer(fence, status, whole("receipt"));
        let step = second_try(&mut world, SAME);
        assert_eq!(world.words(&step), answer, "{status}");
    }
    let mut empty = World::new(json!({}));
    let step = second_try(&mut empty, SAME);
    assert_eq!(
        empty.words(&step),
        "forward 1",
        "the first call never arrived"
    );
    let mut others = world(&json!({}), "retryable");
    let step = second_try(&mut others, SAME);
    assert_eq!(
        others.words(&step),
        "202 in-progress",
        "it starts no attempt on a known key"
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
fn malformed_commands_leave_nothing_behind() {
    let mut world = world(&json!({}), "none");
    let step = world.arrive(b"{\"amount\":");
    assert_eq!(world.words(&step), "400 refused command_malformed");
    assert_eq!((world.state(), step.save), ("none", false));
    let mut expired = self::world(&json!({ "after_expiry": "execute" }), "expired");
    let step = expired.arrive(b"{\"amount\":");
    assert_eq!(expired.words(&step), "400 refused command_malformed");
    assert_eq!(expired.state(), "expired");
}

#[test]
fn the_retry_hint_shrinks_with_the_time_left_and_is_never_zero() {
    let mut world = world(&json!({ "while_running": "pending" }), "running");
    let mut hints = Vec::new();
    for _ in 0..70 {
        let step = world.arrive(SAME);
        if let oncegate::core::step::Reaction::Answer(answer) = &step.reaction {
            let message = world.wire(answer, &step);
            let hint = message
                .headers
                .iter()
                .find(|(name, _)| name == "Retry-After")
                .unwrap();
            hints.push(hint.1.parse::<u64>().unwrap());
        }
        if world.state() == "unknown" {
            break;
        }
        world.later(1);
    }
    assert_eq!(hints.first(), Some(&15));
    assert!(hints[..30].is_sorted_by(|a, b| a >= b), "{hints:?}");
    assert!(
        hints.iter().all(|hint| (1..=60).contains(hint)),
        "{hints:?}"
    );
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
