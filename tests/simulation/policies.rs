//! The policies that deploys of a run choose from.

use std::sync::OnceLock;

use oncegate::core::policy::Operation;
use serde_json::{Value, json};

use crate::common::prepared::Prepared;
use crate::common::{OTHER, SAME, operation};

/// One deploy: a policy, and what clients send as it sees it.
pub(crate) struct Deploy {
    pub(crate) operation: &'static Operation,
    pub(crate) same: Prepared,
    pub(crate) other: Prepared,
}

fn deploy(fields: Value) -> Deploy {
    let mut all = json!({
        "keep": { "for": "1h", "tombstone": "1d" },
    });
    for (name, value) in fields.as_object().unwrap() {
        all[name] = value.clone();
    }
    let operation = operation(all);
    Deploy {
        operation,
        same: Prepared::new(operation, SAME),
        other: Prepared::new(operation, OTHER),
    }
}

fn reconcile() -> Value {
    json!({
        "then": "reconcile",
        "probe": "GET /v1/payments?reference={reference}",
        "settle_after": "70s",
        "schedule": ["2s", "20s", "60s"],
        "escalate_after": "10m",
        "verdicts": [{ "status": 404, "verdict": "not_applied" }],
    })
}

/// The policies of one run; the last is the one that it ends with.
pub(crate) fn deploys(rerun: bool) -> &'static [Deploy] {
    static ONCE: OnceLock<[Vec<Deploy>; 2]> = OnceLock::new();
    &ONCE.get_or_init(|| [all(false), all(true)])[usize::from(rerun)]
}

fn all(rerun: bool) -> Vec<Deploy> {
    let mut deploys = vec![
        deploy(json!({})),
        deploy(json!({ "recovery": reconcile() })),
        deploy(json!({ "recovery": reconcile(), "on_repeat": "refuse" })),
        deploy(json!({ "on_repeat": "acknowledge", "while_running": "pending" })),
        deploy(json!({
            "recovery": reconcile(),
            "after_expiry": "execute",
            "while_running": { "answer": "wait", "for": "5s", "then": "conflict" },
        })),
        deploy(json!({
            "recovery": reconcile(),
            "command": {
                "version": 2,
                "decimals": ["/amount"],
                "earlier": [{ "version": 1 }],
            },
        })),
        // The first recipe is gone.
        deploy(json!({ "command": { "version": 3, "decimals": ["/amount"] } })),
    ];
    if rerun {
        deploys.push(deploy(json!({ "recovery": { "then": "rerun" } })));
        deploys.push(deploy(
            json!({ "effect": "at_least_once", "on_repeat": "refuse" }),
        ));
    }
    deploys.push(deploy(json!({ "recovery": reconcile() })));
    deploys
}
