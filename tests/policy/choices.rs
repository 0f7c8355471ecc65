//! Valid policies: defaults, every choice, and how statuses come together.

use oncegate::core::code::Code;
use oncegate::core::command::{Pointer, Precision, QueryRule, Recipe, WhenMalformed};
use oncegate::core::policy::{
    AfterExpiry, AfterWait, KeepReply, KeyPart, OnMismatch, OnRepeat, Operation, Origin, Preset,
    Principal, Recovery, ScopePart, Unmatched, WhenAbsent, WhileRunning,
};
use oncegate::core::time::Span;
use serde_json::{Value, json};

use crate::{OP, globals, operation, pay, valid, with};

#[test]
fn what_is_not_written_has_the_documented_default() {
    let policy = valid(
        json!({ "origin": "https://api.example.com/" }),
        &[(
            OP,
            json!({ "name": "create_payment", "match": "POST /v1/payments",
                    "principal": "authorization" }),
        )],
    );
    assert_eq!(
        policy.origin,
        Origin::Url("https://api.example.com".to_owned())
    );
    assert_eq!(policy.unmatched, Unmatched::Pass);
    let operation = policy.operation("create_payment").expect("by its name");
    assert_eq!(operation.principal, Principal::Authorization { any: false });
    assert_eq!(operation.scope, [ScopePart::Principal]);
    assert_eq!(
        operation.key,
        [KeyPart::Header("idempotency-key".to_owned())]
    );
    assert_eq!(operation.when_absent, WhenAbsent::Refuse);
    assert_eq!(operation.on_mismatch, OnMismatch::Refuse);
    assert_eq!(operation.on_repeat, OnRepeat::Replay);
    let wait = WhileRunning::Wait {
        for_: Span::seconds(10),
        then: AfterWait::Pending,
    };
    assert_eq!(operation.while_running, wait);
    assert_eq!(operation.lease, Span::seconds(60));
    assert_eq!(operation.origin_timeout, Span::seconds(30));
    assert_eq!(operation.max_body, 1 << 20);
    assert_eq!(operation.keep.reply, KeepReply::Full);
    assert_eq!(operation.keep.for_, Span::seconds(86_400));
    assert_eq!(operation.keep.tombstone, Span::seconds(30 * 86_400));
    assert_eq!(operation.keep.max_reply, 4 << 20);
    assert_eq!(operation.after_expiry, AfterExpiry::Refuse);
    assert_eq!(operation.recovery, Recovery::Hold);
    assert_eq!(operation.recipe.version, 1);
    assert_eq!(operation.preset, Preset::Default);
    for code in Code::ALL {
        assert_eq!(
            operation.statuses.status(code),
            code.status(Preset::Default),
            "{code:?}"
        );
    }
}

#[test]
fn the_documented_defaults_written_out_are_the_same_policy() {
    let short = json!({ "name": "create_payment", "match": "POST /v1/payments",
                        "principal": "authorization" });
    let long = with(
        short.clone(),
        json!({
            "scope": ["principal"],
            "key": ["header:Idempotency-Key"],
            "when_absent": "refuse",
            "on_mismatch": "refuse",
            "on_repeat": "replay",
            "while_running": { "answer": "wait", "for": "10s", "then": "pending" },
            "effect": "at_most_once",
            "lease": "60s",
            "origin_timeout": "30s",
            "max_body": "1MiB",
            "keep": { "reply": "full", "for": "24h", "tombstone": "30d", "max_reply": "4MiB" },
            "after_expiry": "refuse",
            "recovery": { "then": "hold" },
            "command": { "version": 1 },
            "final": [], "retryable": [], "ambiguous": [], "statuses": {},
            "principal_trusted": false, "limit": false, "placement": {},
        }),
    );
    let written = globals(json!({ "preset": "default", "unmatched": "pass", "statuses": {} }));
    let long = valid(with(written, json!({ "operations": [long] })), &[]);
    let short = valid(globals(json!({})), &[(OP, short)]);
    assert_eq!(format!("{long:?}"), format!("{short:?}"));
}

#[test]
fn every_choice_can_be_made() {
    type Check = fn(&Operation) -> bool;
    let cases: Vec<(Value, Check)> = vec![
        (json!({ "principal": "authorization:any" }), |o| {
            o.principal == Principal::Authorization { any: true }
        }),
        (json!({}), |o| {
            o.principal == Principal::None && o.scope.is_empty()
        }),
        (json!({ "principal": "cookie:__Host-sid" }), |o| {
            o.principal == Principal::Cookie("__Host-sid".to_owned())
        }),
        (
            json!({ "principal": "header:X-User", "principal_trusted": true }),
            |o| o.principal == Principal::Header("x-user".to_owned()),
        ),
        (
            json!({ "principal": "header:X-User", "authorize_replay": "GET /v1/me?a=b" }),
            |o| o.authorize_replay.as_deref() == Some("/v1/me?a=b"),
        ),
        (
            json!({ "principal": "header:X-User", "on_repeat": "refuse" }),
            |o| o.authorize_replay.is_none(),
        ),
        (json!({ "key": ["body:/a~1b/0", "query:id"] }), |o| {
            o.reads_body()
                && o.key
                    .first()
                    .is_some_and(|it| it.to_string() == "body:/a~1b/0")
        }),
        (json!({ "scope": ["body:/account"] }), Operation::reads_body),
        (
            json!({ "principal": "authorization", "limit": true }),
            |o| o.limit,
        ),
        (
            json!({ "placement": { "jurisdiction": "eu", "hint": "weur" } }),
            |o| o.placement.jurisdiction == Some("eu") && o.placement.hint == Some("weur"),
        ),
        (
            json!({ "on_repeat": "acknowledge", "acknowledge": { "body": "ok" } }),
            |o| o.acknowledge.body == "ok" && o.acknowledge.status.is_none(),
        ),
        (json!({ "scope": ["principal"] }), |o| {
            o.scope == [ScopePart::Principal]
        }),
        (
            json!({ "scope": ["header:X-Tenant", "path:tenant"] }),
            |o| {
                let header = ScopePart::Value(KeyPart::Header("x-tenant".to_owned()));
                o.scope == [header, ScopePart::Value(KeyPart::Path("tenant".to_owned()))]
            },
        ),
        (
            json!({ "key": ["query:id", "path:tenant", "header:X-Id"] }),
            |o| {
                o.key
                    == [
                        KeyPart::Query("id".to_owned()),
                        KeyPart::Path("tenant".to_owned()),
                        KeyPart::Header("x-id".to_owned()),
                    ]
            },
        ),
        (
            json!({ "match": ["POST /a", "PUT /a/", "GET /{x}/b"] }),
            |o| o.routes.len() == 3,
        ),
        (json!({ "when_absent": "pass" }), |o| {
            o.when_absent == WhenAbsent::Pass
        }),
        (json!({ "on_mismatch": "replay" }), |o| {
            o.on_mismatch == OnMismatch::Replay
        }),
        (
            json!({ "on_mismatch": "ignore", "on_repeat": "refuse" }),
            |o| o.on_mismatch == OnMismatch::Ignore && o.on_repeat == OnRepeat::Refuse,
        ),
        (
            json!({ "on_mismatch": "ignore", "on_repeat": "acknowledge" }),
            |o| o.on_repeat == OnRepeat::Acknowledge,
        ),
        (json!({ "on_repeat": "refuse" }), |o| {
            o.keep.reply == KeepReply::None
        }),
        (json!({ "while_running": "pending" }), |o| {
            o.while_running == WhileRunning::Pending
        }),
        (json!({ "while_running": "conflict" }), |o| {
            o.while_running == WhileRunning::Conflict
        }),
        (json!({ "while_running": "wait" }), |o| {
            let then = AfterWait::Pending;
            o.while_running
                == WhileRunning::Wait {
                    for_: Span::seconds(10),
                    then,
                }
        }),
        (json!({ "while_running": { "answer": "conflict" } }), |o| {
            o.while_running == WhileRunning::Conflict
        }),
        (
            json!({ "while_running": { "for": "2s", "then": "conflict" } }),
            |o| {
                let then = AfterWait::Conflict;
                o.while_running
                    == WhileRunning::Wait {
                        for_: Span::seconds(2),
                        then,
                    }
            },
        ),
        (json!({ "effect": "at_least_once" }), |o| {
            o.recovery == Recovery::Rerun
        }),
        (json!({ "effect": "at_least_once", "recovery": {} }), |o| {
            o.recovery == Recovery::Rerun
        }),
        (
            json!({ "effect": "at_least_once", "recovery": { "then": "hold" } }),
            |o| o.recovery == Recovery::Hold,
        ),
        (json!({ "recovery": { "then": "rerun" } }), |o| {
            o.recovery == Recovery::Rerun
        }),
        (
            json!({ "lease": "250ms", "origin_timeout": "249ms" }),
            |o| o.lease == Span(250),
        ),
        (json!({ "max_body": "16MiB" }), |o| o.max_body == 16 << 20),
        (json!({ "max_body": "64KiB" }), |o| o.max_body == 64 << 10),
        (json!({ "keep": { "reply": "none" } }), |o| {
            o.keep.reply == KeepReply::None
        }),
        (
            json!({ "keep": { "for": "1h", "tombstone": "1h", "max_reply": "2KiB" } }),
            |o| o.keep.for_ == o.keep.tombstone && o.keep.max_reply == 2048,
        ),
        (json!({ "after_expiry": "execute" }), |o| {
            o.after_expiry == AfterExpiry::Execute
        }),
        (json!({ "command": { "version": 7 } }), |o| {
            o.recipe.version == 7
        }),
        (
            json!({ "final": [409], "retryable": [503, 429], "ambiguous": [202, 404] }),
            |o| {
                o.outcomes.final_ == [409]
                    && o.outcomes.retryable == [503, 429]
                    && o.outcomes.ambiguous == [202, 404]
            },
        ),
    ];
    for (patch, check) in cases {
        let shown = patch.to_string();
        assert!(check(&operation(pay(patch))), "{shown}");
    }
}

#[test]
fn a_recipe_has_all_its_options_and_its_earlier_versions() {
    let recipe = operation(pay(json!({ "command": {
        "version": 3,
        "query": ["page", "sort"],
        "target": false,
        "headers": ["X-Currency"],
        "ignore": ["/sent_at", "/items/*/note"],
        "decimals": ["/amount"],
        "casefold": ["/currency"],
        "defaults": { "/channel": "web", "/retry": null },
        "timestamps": { "/at": "second" },
        "when_malformed": "bytes",
        "earlier": [{ "version": 1 }, { "version": 2, "query": "none", "headers": ["X-A"] }],
    } })))
    .recipe;
    let shown = |pointers: &[Pointer]| pointers.iter().map(Pointer::to_string).collect::<Vec<_>>();
    assert_eq!(recipe.version, 3);
    assert_eq!(
        recipe.query,
        QueryRule::Names(vec!["page".to_owned(), "sort".to_owned()])
    );
    assert!(!recipe.target);
    assert_eq!(recipe.headers, ["x-currency"]);
    assert_eq!(shown(&recipe.ignore), ["/sent_at", "/items/*/note"]);
    assert_eq!(shown(&recipe.decimals), ["/amount"]);
    assert_eq!(shown(&recipe.casefold), ["/currency"]);
    let defaults = recipe
        .defaults
        .iter()
        .map(|(at, value)| format!("{at} {}", value.as_str()));
    assert_eq!(
        defaults.collect::<Vec<_>>(),
        ["/channel \"web\"", "/retry null"]
    );
    let timestamps = recipe
        .timestamps
        .iter()
        .map(|(at, precision)| (at.to_string(), *precision));
    assert_eq!(
        timestamps.collect::<Vec<_>>(),
        [("/at".to_owned(), Precision::Second)]
    );
    assert_eq!(recipe.when_malformed, WhenMalformed::Bytes);
    let [first, second] = recipe.earlier.as_slice() else {
        panic!("two earlier versions")
    };
    assert_eq!(*first, Recipe::default());
    assert_eq!((second.version, &second.query), (2, &QueryRule::None));
    assert_eq!(second.headers, ["x-a"]);
}

#[test]
fn a_status_is_chosen_by_preset_then_school_then_policy_then_operation() {
    let policy = valid(
        globals(json!({ "preset": "ietf",
                        "statuses": { "key_reused": 400, "duplicate": 410, "in_progress": 503 } })),
        &[
            (OP, pay(json!({ "statuses": { "duplicate": 423 } }))),
            (
                "ONCEGATE_OP_HOOK",
                json!({ "name": "hook", "match": "POST /hook", "principal": "none",
                        "on_repeat": "acknowledge", "statuses": { "in_progress": 202 } }),
            ),
        ],
    );
    let status = |name: &str, code| policy.operation(name).expect(name).statuses.status(code);
    assert_eq!(status("pay", Code::KeyReused), 400);
    assert_eq!(status("pay", Code::Duplicate), 423);
    assert_eq!(status("hook", Code::Duplicate), 410);
    assert_eq!(status("pay", Code::InProgress), 503);
    assert_eq!(status("hook", Code::InProgress), 202);
    assert_eq!(status("pay", Code::OutcomeUnknown), 409);
    assert_eq!(status("hook", Code::OutcomeUnknown), 503);
    assert_eq!(
        policy.operation("pay").map(|o| o.preset),
        Some(Preset::Ietf)
    );
}
