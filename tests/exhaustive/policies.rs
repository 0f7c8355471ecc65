//! Every policy that the state machine can meet, as far as it looks at policies.

use oncegate::core::policy::Operation;
use serde_json::{Value, json};

use crate::common::operation;

/// Short and all different, so that no deadline hides another.
const TIMES: [(&str, &str); 2] = [("lease", "60s"), ("origin_timeout", "30s")];

/// The settle time of every policy here that asks the origin, in milliseconds.
pub(crate) const SETTLE: u64 = 70_000;

fn with(fields: &[(&str, Value)]) -> &'static Operation {
    let mut all = json!({ "keep": { "for": "1h", "tombstone": "2h" } });
    for (name, value) in TIMES {
        all[name] = json!(value);
    }
    for (name, value) in fields {
        all[*name] = value.clone();
    }
    operation(all)
}

/// The three kinds of recovery.
pub(crate) fn recovery() -> [Value; 3] {
    [
        json!({ "then": "hold" }),
        json!({ "then": "rerun" }),
        json!({
            "then": "reconcile",
            "probe": "GET /v1/payments?reference={reference}",
            "settle_after": "70s",
            "schedule": ["2s", "5s"],
            "escalate_after": "90s",
            "verdicts": [{ "status": 404, "verdict": "not_applied" }],
        }),
    ]
}

/// One policy for each kind of recovery, and one of the minimal guard.
pub(crate) fn recoveries() -> Vec<&'static Operation> {
    let guard = with(&[("on_repeat", json!("refuse"))]);
    let plain = recovery()
        .into_iter()
        .map(|recovery| with(&[("recovery", recovery)]));
    plain.chain([guard]).collect()
}

/// The one that asks the origin.
pub(crate) fn reconcile() -> &'static Operation {
    let [_, _, reconcile] = recovery();
    with(&[("recovery", reconcile)])
}

/// The product of everything that an arrival's answer can depend on.
pub(crate) fn all() -> Vec<&'static Operation> {
    let content = [
        ("replay", "refuse"),
        ("replay", "replay"),
        ("replay", "separate"),
        ("refuse", "refuse"),
        ("refuse", "replay"),
        ("refuse", "ignore"),
        ("acknowledge", "refuse"),
        ("acknowledge", "replay"),
        ("acknowledge", "ignore"),
    ];
    let running = [
        json!({ "answer": "wait", "for": "10s", "then": "pending" }),
        json!({ "answer": "wait", "for": "10s", "then": "conflict" }),
        json!("pending"),
        json!("conflict"),
    ];
    let mut policies = Vec::new();
    for (on_repeat, on_mismatch) in content {
        for while_running in &running {
            for recovery in recovery() {
                for after_expiry in ["refuse", "execute"] {
                    policies.push(with(&[
                        ("on_repeat", json!(on_repeat)),
                        ("on_mismatch", json!(on_mismatch)),
                        ("while_running", while_running.clone()),
                        ("recovery", recovery.clone()),
                        ("after_expiry", json!(after_expiry)),
                    ]));
                }
            }
        }
    }
    policies
}
