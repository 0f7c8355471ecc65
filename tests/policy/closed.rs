//! Several operations and variables: what must not meet, and what an invalid policy still closes.

use oncegate::core::policy::parse::{Loaded, is_variable, parse};
use oncegate::core::policy::{Found, Guarded, Origin, Unmatched};
use serde_json::{Value, json};

use crate::{OP, globals, invalid, pay, valid, with};

fn operation(name: &str, matches: Value) -> Value {
    json!({ "name": name, "match": matches, "principal": "none" })
}

#[test]
fn no_operation_at_all_is_a_gate_that_passes_everything() {
    let policy = valid(globals(json!({})), &[]);
    assert!(policy.operations.is_empty());
    assert!(matches!(
        policy.find("POST", "/v1/payments"),
        Found::Unmatched
    ));
    assert_eq!(
        valid(globals(json!({ "unmatched": "refuse" })), &[]).unmatched,
        Unmatched::Refuse
    );
}

#[test]
fn operations_come_from_the_list_and_from_variables() {
    let list = globals(json!({ "operations": [operation("a", json!("POST /a"))] }));
    let policy = valid(
        list,
        &[(OP, operation("b", json!(["POST /b", "POST /b/{id}"])))],
    );
    for (path, name) in [("/a", "a"), ("/b", "b"), ("/b/1", "b")] {
        let Found::Operation(operation, params) = policy.find("POST", path) else {
            panic!("{path}");
        };
        assert_eq!(operation.name, name);
        assert_eq!(params.get("id"), (path == "/b/1").then_some("1"));
    }
    assert!(matches!(policy.find("POST", "/b/"), Found::Ambiguous));
}

#[test]
fn a_target_that_reads_as_two_operations_is_ambiguous() {
    let policy = valid(
        globals(json!({})),
        &[
            (
                "ONCEGATE_OP_A",
                operation("update", json!("POST /v1/payments/{id}")),
            ),
            (
                "ONCEGATE_OP_B",
                operation("capture", json!("POST /v1/payments/{id}/capture")),
            ),
        ],
    );
    for path in ["/v1/payments/p1%2Fcapture", "/v1/payments/p1%5ccapture;x"] {
        assert!(
            matches!(policy.find("POST", path), Found::Ambiguous),
            "{path}"
        );
    }
    let Found::Operation(update, params) = policy.find("POST", "/v1/payments/p1%2fx") else {
        panic!("an escaped slash stays inside the parameter");
    };
    assert_eq!(
        (update.name.as_str(), params.get("id")),
        ("update", Some("p1%2Fx"))
    );
}

#[test]
fn variables_may_be_json_text() {
    let text = |value: Value| Value::String(value.to_string());
    let policy = valid(text(globals(json!({}))), &[(OP, text(pay(json!({}))))]);
    assert_eq!(policy.operations.len(), 1);
    for (value, says) in [
        (json!("{"), "JSON text"),
        (json!(""), "JSON text"),
        (json!("sk_live_0123456789"), "JSON text"),
        (json!("[1]"), "must be a table, not a list"),
        (json!("1"), "must be a table, not a number"),
        (json!(null), "must be a table, not null"),
    ] {
        let (errors, routes) = invalid(globals(json!({})), &[(OP, value.clone())]);
        assert_eq!((errors.len(), routes), (1, None));
        assert!(
            errors.concat().starts_with(&format!("{OP}: ")),
            "{errors:?}"
        );
        assert!(errors.concat().contains(says) && !errors.concat().contains("sk_live"));
        let (errors, routes) = invalid(value, &[(OP, pay(json!({})))]);
        assert_eq!((errors.len(), routes), (1, None));
        assert!(errors.concat().starts_with("ONCEGATE: "), "{errors:?}");
    }
}

#[test]
fn without_the_globals_everything_is_closed() {
    let Loaded::Invalid { errors, routes, .. } = parse(None, Vec::new()) else {
        panic!("valid")
    };
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1);
    assert!(
        errors
            .concat()
            .starts_with("ONCEGATE: the variable is missing"),
        "{errors:?}"
    );
    assert_eq!(routes, None);
}

#[test]
fn a_variable_has_at_most_5000_bytes() {
    let sized = |bytes: usize, quoted: bool| {
        let long = |n: usize| {
            with(
                pay(json!({})),
                json!({ "match": ["POST /x", "x".repeat(n)] }),
            )
        };
        let fill = bytes - long(0).to_string().len() - "POST /".len();
        let path = format!("POST /{}", "x".repeat(fill));
        let value = pay(json!({ "match": ["POST /x", path] }));
        assert_eq!(value.to_string().len(), bytes);
        if quoted {
            Value::String(value.to_string())
        } else {
            value
        }
    };
    for quoted in [false, true] {
        valid(globals(json!({})), &[(OP, sized(5_000, quoted))]);
        let (errors, routes) = invalid(globals(json!({})), &[(OP, sized(5_001, quoted))]);
        assert_eq!(errors.len(), 1);
        assert!(errors.concat().contains("has 5001 bytes"), "{errors:?}");
        assert_eq!(routes.map(|guarded| guarded.routes.len()), Some(2));
    }
    let globals = globals(json!({ "operations": [sized(4_990, false)] }));
    let (errors, _) = invalid(globals, &[]);
    assert!(
        errors.concat().starts_with("ONCEGATE: has 50"),
        "{errors:?}"
    );
}

#[test]
fn two_operations_cannot_have_one_name() {
    let list = globals(json!({ "operations": [operation("a", json!("POST /a"))] }));
    let (errors, routes) = invalid(list, &[(OP, operation("a", json!("POST /b")))]);
    assert_eq!(
        errors,
        ["ONCEGATE_OP_PAY.name: \"a\" is also the name of operations[0]"]
    );
    assert_eq!(routes.map(|guarded| guarded.routes.len()), Some(2));
}

#[test]
fn two_operations_cannot_match_one_request_in_any_spelling() {
    for (first, second) in [
        (json!("POST /a"), json!("POST /a")),
        (json!("POST /a"), json!("POST /%61/")),
        (json!("POST /a:b"), json!("POST /a%3ab")),
        (json!("POST /a/{x}"), json!("POST /{y}/b")),
        (json!("POST /{x}"), json!(["GET /b", "POST /b"])),
        (
            json!(["PUT /c", "POST /a/{x}/c"]),
            json!(["GET /b", "POST /{a}/b/{c}"]),
        ),
    ] {
        let (errors, routes) = invalid(
            globals(json!({})),
            &[
                ("ONCEGATE_OP_A", operation("first", first)),
                ("ONCEGATE_OP_B", operation("second", second)),
            ],
        );
        let [error] = errors.as_slice() else {
            panic!("{errors:#?}")
        };
        assert!(error.starts_with("ONCEGATE_OP_B.match: "), "{error}");
        assert!(
            error.contains("of \"first\"") && error.contains("of \"second\""),
            "{error}"
        );
        assert!(error.contains("match one request"), "{error}");
        assert!(routes.is_some(), "both stay closed");
    }
    valid(
        globals(json!({})),
        &[
            (
                "ONCEGATE_OP_A",
                operation("first", json!(["POST /a/{x}", "GET /a"])),
            ),
            (
                "ONCEGATE_OP_B",
                operation("second", json!(["POST /b/{x}", "POST /a", "POST /a/b/c"])),
            ),
        ],
    );
}

/// What is closed by a policy with one good operation and these.
#[track_caller]
fn closed(patch: Value, operations: &[(&str, Value)]) -> Option<Guarded> {
    let good = (
        "ONCEGATE_OP_GOOD",
        operation("good", json!("POST /good/{id}")),
    );
    let operations: Vec<_> = operations.iter().cloned().chain([good]).collect();
    invalid(globals(patch), &operations).1
}

#[test]
fn an_invalid_policy_still_closes_what_it_protects_and_passes_the_rest() {
    for (patch, operations) in [
        (json!({ "preset": "x" }), vec![]),
        (json!({ "statuses": { "duplicate": 1 } }), vec![]),
        (json!({ "lease": "60s" }), vec![]),
        (
            json!({}),
            vec![(
                OP,
                pay(json!({ "name": 1, "lease": "0s", "principal": null })),
            )],
        ),
        (json!({}), vec![(OP, pay(json!({ "nmae": "x" })))]),
    ] {
        let guarded = closed(patch, &operations).expect("routes");
        assert_eq!(
            guarded.origin,
            Origin::Url("https://api.example.com".to_owned())
        );
        assert_eq!(guarded.unmatched, Unmatched::Pass);
        assert!(matches!(
            guarded.find("POST", "/good/1"),
            Found::Operation((), _)
        ));
        assert_eq!(guarded.find("POST", "/good//1"), Found::Ambiguous);
        assert_eq!(guarded.find("GET", "/good/1"), Found::Unmatched);
        if !operations.is_empty() {
            assert!(matches!(
                guarded.find("POST", "/v1/t/pay"),
                Found::Operation((), _)
            ));
        }
    }
}

#[test]
fn where_a_protected_route_may_be_unread_everything_is_closed() {
    for (patch, operations) in [
        (json!({ "origin": "ftp://a.example" }), vec![]),
        (json!({ "unmatched": "block" }), vec![]),
        (json!({ "operations": {} }), vec![]),
        (json!({ "operations": [1] }), vec![]),
        (
            json!({ "operation": [{ "name": "x", "match": "POST /x" }] }),
            vec![],
        ),
        (json!({ "create_payment": { "match": "POST /x" } }), vec![]),
        (json!({}), vec![(OP, pay(json!({ "match": "POST" })))]),
        (
            json!({}),
            vec![(OP, pay(json!({ "match": ["POST /a", "POST b"] })))],
        ),
        (
            json!({}),
            vec![(
                OP,
                json!({ "name": "x", "mach": "POST /x", "principal": "none" }),
            )],
        ),
        (json!({}), vec![(OP, json!("x"))]),
        (json!({}), vec![("ONCEGATE_OPS_X", pay(json!({})))]),
        (json!({}), vec![("ONCEGATE_OP_", pay(json!({})))]),
    ] {
        assert_eq!(
            closed(patch.clone(), &operations),
            None,
            "{patch} {operations:?}"
        );
    }
}

#[test]
fn a_variable_that_was_meant_for_the_policy_is_not_overlooked() {
    for name in [
        "ONCEGATE",
        "ONCEGATE_OP_A",
        "ONCEGATE_OPS_A",
        "ONCEGATE_OPERATION",
        "ONCEGATE2",
        "oncegate",
        "OnceGate_op_a",
        "ONCEGAT_OP_A",
        "ONECGATE_OP_A",
        "ONCE_GATE_OP_A",
        "ONCEGATEOP_A",
    ] {
        assert!(is_variable(name), "{name}");
    }
    for name in [
        "GATE",
        "ATTENTION",
        "ONCEGATE_ADMIN_TOKEN",
        "ONCEGATE_RECORD_SECRET",
        "ONCEGATE_RECORD_SECRET_2",
        "ONCEGATE_PROBE_AUTHORIZATION",
        "ONCEGATE_EVENTS",
        "ONCEGATE_LIMIT",
        "MY_ONCEGATE",
        "ONE_OP_A",
        "GATE_OPTIONS",
    ] {
        assert!(!is_variable(name), "{name}");
    }
    let origin = json!({ "origin": "service:ONCEGATE_ORIGIN" });
    valid(origin.clone(), &[("ONCEGATE_ORIGIN", json!({}))]);
    let (errors, _) = invalid(origin, &[("ONCEGATE_OTHER", json!({}))]);
    assert!(
        errors
            .concat()
            .starts_with("ONCEGATE_OTHER: is no variable"),
        "{errors:?}"
    );
    let (errors, guarded) = invalid(globals(json!({})), &[("oncegate_op_pay", pay(json!({})))]);
    assert!(
        errors.concat().ends_with("ONCEGATE_OP_NAME, in capitals"),
        "{errors:?}"
    );
    assert_eq!(guarded, None, "what it was to protect is not known");
}

#[test]
fn no_fault_shows_more_than_40_characters_of_a_value() {
    let secret = "0123456789".repeat(6);
    let (errors, _) = invalid(
        json!({ "origin": format!("https://user:{secret}@a.example"), "preset": secret,
                "unmatched": secret, secret.as_str(): 1 }),
        &[(
            OP,
            json!({ "name": secret, "match": secret, "principal": secret, "scope": [secret],
                    "key": [secret, format!("header:{secret}("), format!("query:{secret}")],
                    "lease": secret, "max_body": secret, "effect": secret, secret.as_str(): secret,
                    "keep": { "for": secret }, "statuses": { secret.as_str(): 1 } }),
        )],
    );
    assert!(errors.len() > 12, "{errors:#?}");
    for error in errors {
        assert!(!error.contains(&secret[..41]), "{error}");
        assert!(
            !error.starts_with("origin") || !error.contains("0123"),
            "{error}"
        );
    }
}
