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

use common::{OTHER, SAME, World, whole, world};
use oncegate::core::identity::RequestId;
use oncegate::core::step::Manner;
use serde_json::{Value, json};

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
fn only_a_new_key_is_counted_before_it_is_claimed() {
    let fields = json!({ "after_expiry": "execute" });
    for (past, answer) in [
        ("none", "count"),
        ("expired", "count"),
        ("running", "wait 10s"),
        ("completed", "201 replayed receipt"),
        ("retryable", "forward 2"),
    ] {
        let mut world = world(&fields, past);
        world.uncounted = true;
        let life = |world: &World| world.record.as_ref().map(|record| record.nonce);
        let before = life(&world);
        let step = world.arrive(SAME);
        assert_eq!(world.words(&step), answer, "{past}");
        if answer == "count" {
            assert_eq!(life(&world), before, "nothing is claimed yet");
            world.uncounted = false;
            let step = world.arrive(SAME);
            assert_eq!(world.words(&step), "forward 1", "{past}");
        }
    }
    let mut world = world(&fields, "completed");
    world.uncounted = true;
    let step = world.arrive(OTHER);
    assert_eq!(world.words(&step), "409 refused key_reused");
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
