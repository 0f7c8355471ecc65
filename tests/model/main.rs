//! A model check of the gate: every order in which clients, a gate that can crash between any two
//! actions, storage that can fail, an origin, its look-up and time can act on one key.
//!
//! The gate here is the real `step` with what the shell does around it; nothing of its decisions
//! is repeated. The bounds of each run are in its `Model`; the runs print them with the number of
//! states. A counterexample is printed as the list of its actions.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail, and most rules are about one kind of many"
)]

#[path = "../common/mod.rs"]
mod common;

mod actions;
mod gate;
mod liveness;
mod origin;
mod properties;
mod world;

use serde_json::{Value, json};
use stateright::{Checker, Model as _};
use world::{Bounds, Model};

/// The times of all runs, in milliseconds; nothing else happens between them.
fn policy(fields: Value) -> Value {
    let mut policy = json!({
        "lease": "40ms",
        "origin_timeout": "20ms",
        "while_running": { "answer": "wait", "for": "30ms", "then": "pending" },
    });
    for (name, value) in fields.as_object().unwrap() {
        policy[name] = value.clone();
    }
    policy
}

fn reconcile() -> Value {
    json!({
        "then": "reconcile",
        "probe": "GET /v1/payments?reference={reference}",
        "settle_after": "40ms",
        "schedule": ["10ms", "40ms"],
        "escalate_after": "100ms",
        "verdicts": [{ "status": 404, "verdict": "not_applied" }],
    })
}

/// The bounds of a run, and the larger ones that `ONCEGATE_DEEP=1` asks for.
fn bounds(tries: [u8; 2], advances: u8) -> Bounds {
    let deep = std::env::var_os("ONCEGATE_DEEP").is_some();
    let (tries, advances) = if deep { ([2, 1], 5) } else { (tries, advances) };
    Bounds {
        tries,
        advances,
        faults: 1,
        other_command: false,
    }
}

/// Checks every state within the bounds.
fn check(name: &str, fields: Value, bounds: Bounds) {
    let model = Model::new(policy(fields), bounds);
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!(
        "{name}: {} states, {} transitions; {bounds:?}",
        checker.unique_state_count(),
        checker.state_count(),
    );
    checker.assert_properties();
}

#[test]
fn an_unknown_outcome_is_held() {
    check("hold", json!({}), bounds([2, 1], 4));
}

#[test]
fn an_unknown_outcome_is_asked_about() {
    let fields = json!({ "recovery": reconcile() });
    check("reconcile", fields, bounds([2, 1], 3));
}

#[test]
fn an_unknown_outcome_runs_again() {
    let fields = json!({ "recovery": { "then": "rerun" } });
    check("rerun", fields, bounds([2, 1], 3));
}

#[test]
fn the_minimal_guard_runs_again_after_a_failure() {
    let fields = json!({ "on_repeat": "refuse" });
    check("guard", fields, bounds([2, 1], 4));
}

#[test]
fn two_commands_with_one_key() {
    let fields = json!({ "recovery": reconcile() });
    let bounds = Bounds {
        other_command: true,
        ..bounds([2, 1], 3)
    };
    check("two commands", fields, bounds);
}

#[test]
fn a_key_lives_again_after_its_window() {
    let fields = json!({
        "after_expiry": "execute",
        "keep": { "for": "10ms", "tombstone": "20ms" },
    });
    check("expiry", fields, bounds([2, 1], 3));
}
