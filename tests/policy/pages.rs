//! The fields that are for web pages and people: `cors`, `server_timing`, and what is published.

use oncegate::core::code::Code;
use oncegate::core::cors::Cors;
use oncegate::core::policy::parse::Loaded;
use oncegate::core::{discovery, pages};
use serde_json::{Value, json};

use crate::{OP, globals, invalid, load, pay, valid};

#[test]
fn origins_are_listed_or_all() {
    let listed = |list: &[&str]| Some(Cors::Listed(list.iter().map(ToString::to_string).collect()));
    for (origins, cors) in [
        (json!("*"), Some(Cors::Anyone)),
        (json!(["*"]), Some(Cors::Anyone)),
        (json!("https://a.example"), listed(&["https://a.example"])),
        (
            json!(["https://a.example", "http://localhost:3000"]),
            listed(&["https://a.example", "http://localhost:3000"]),
        ),
    ] {
        let policy = valid(globals(json!({ "cors": { "origins": origins } })), &[]);
        assert_eq!(policy.cors, cors, "{origins}");
    }
    let silent = valid(globals(json!({})), &[]);
    assert_eq!((silent.cors, silent.server_timing), (None, false));
    assert!(valid(globals(json!({ "server_timing": true })), &[]).server_timing);
}

#[test]
fn pages_that_could_be_read_may_read_why_the_gate_is_closed() {
    let cors = json!({ "origins": ["https://a.example"] });
    let globals = globals(json!({ "cors": cors, "preset": "aws" }));
    let loaded = load(globals, &[(OP, pay(json!({})))]);
    assert!(matches!(loaded, Loaded::Invalid { .. }));
    let listed = Cors::Listed(vec!["https://a.example".to_owned()]);
    assert_eq!(loaded.cors(), Some(&listed));
    let globals = crate::globals(json!({ "cors": { "origins": ["https://a.example/"] } }));
    assert_eq!(load(globals, &[]).cors(), None);
}

/// What is published of an operation with these fields.
fn published(fields: Value) -> Value {
    let policy = valid(
        globals(json!({ "statuses": { "key_missing": 422 } })),
        &[(OP, pay(fields))],
    );
    let message = discovery::document(&policy, "https://gate.example");
    assert_eq!(message.status, 200);
    serde_json::from_slice(&message.body).expect("JSON")
}

#[test]
fn an_operation_is_published_in_the_words_of_its_policy() {
    let document = published(json!({}));
    let operation = &document["operations"][0];
    let words = [
        ("name", "pay"),
        ("principal", "none"),
        ("when_absent", "refuse"),
        ("on_mismatch", "refuse"),
        ("on_repeat", "replay"),
        ("while_running.answer", "wait"),
        ("while_running.then", "pending"),
        ("keep.reply", "full"),
        ("after_expiry", "refuse"),
        (
            "status_url",
            "https://gate.example/.well-known/idempotency/status/pay{?reference}",
        ),
    ];
    for (name, word) in words {
        assert_eq!(operation[name], word, "{name}");
    }
    assert_eq!(operation["match"], json!(["POST /v1/{tenant}/pay"]));
    assert_eq!(operation["key"][0]["in"], "header");
    assert_eq!(operation["key"][0]["name"], "idempotency-key");
    let windows = json!({ "keep.for": 86_400_000, "keep.tombstone": 2_592_000_000_u64,
        "lease": 60_000, "origin_timeout": 30_000, "while_running.for": 10_000 });
    assert_eq!(operation["windows_ms"], windows);
    for code in Code::ALL {
        let problem = &document["problems"][code.wire()];
        assert_eq!(problem["retry"], code.retry().wire(), "{code:?}");
        assert!(document["retry"][code.retry().wire()].is_string());
        assert!(operation["statuses"][code.wire()].is_u64(), "{code:?}");
    }
    assert_eq!(document["problems"]["key_missing"]["status"], 422);
}

#[test]
fn what_is_published_follows_the_choices() {
    let operation = |fields| published(fields)["operations"][0].clone();
    let guard = operation(json!({ "on_repeat": "acknowledge", "key": ["query:a", "path:tenant"] }));
    assert_eq!(guard["windows_ms"]["keep.for"], Value::Null, "no reply");
    assert_eq!(guard["keep.reply"], "none");
    assert_eq!(guard["statuses"]["in_progress"], 503);
    let places: Vec<&Value> = guard["key"].as_array().expect("parts").iter().collect();
    assert_eq!(places[0]["in"], "query");
    assert_eq!(
        (&places[1]["in"], &places[1]["name"]),
        (&json!("path"), &json!("tenant"))
    );
    let conflict = operation(json!({ "while_running": "conflict" }));
    assert_eq!(conflict["statuses"]["in_progress"], 409);
    assert_eq!(conflict["statuses"]["outcome_unknown"], 202);
    assert_eq!(conflict["while_running.then"], Value::Null);
    assert_eq!(conflict["windows_ms"]["while_running.for"], Value::Null);
    let late = operation(json!({ "while_running": { "then": "conflict" } }));
    assert_eq!(late["statuses"]["in_progress"], 409);
}

#[test]
fn nothing_secret_is_published() {
    let verdicts = json!([{ "status": 404, "pointer": "/ptr", "equals": 1, "verdict": "failed" }]);
    let recovery = json!({ "then": "reconcile", "verdicts": verdicts,
        "probe": "GET /v1/probe?r={reference}", "confirm": { "/confirmed": "{reference}" } });
    let keep = json!({ "headers": ["x-internal"] });
    let fields = json!({ "recovery": recovery, "keep": keep });
    let globals = globals(json!({ "origin": "https://hidden.example/internal" }));
    let policy = valid(globals, &[(OP, pay(fields))]);
    let message = discovery::document(&policy, "https://gate.example");
    let text = String::from_utf8(message.body).expect("text");
    for word in [
        "hidden",
        "internal",
        "probe",
        "reconcile",
        "ptr",
        "confirmed",
    ] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[test]
fn a_problem_has_its_own_statuses_on_its_page() {
    let own = json!({ "statuses": { "key_reused": 422 } });
    let policy = valid(globals(json!({})), &[(OP, pay(own))]);
    let html = |code| {
        let page = pages::problem(code, Some(&policy), &policy.statuses, false);
        String::from_utf8(page.body).expect("text")
    };
    assert!(html(Code::KeyReused).contains("409, for pay 422."));
    assert!(html(Code::KeyMissing).contains("Status: 400."));
    let json = pages::problem(Code::KeyReused, Some(&policy), &policy.statuses, true);
    let facts: Value = serde_json::from_slice(&json.body).expect("JSON");
    assert_eq!(
        (&facts["code"], &facts["status"]),
        (&json!("key_reused"), &json!(409))
    );
}

#[test]
fn no_page_is_given_for_an_origin_that_no_browser_sends() {
    for (origins, path, says) in [
        (
            json!(["https://a.example/app"]),
            "cors.origins[0]",
            "without a path",
        ),
        (
            json!(["https://a.example/"]),
            "cors.origins[0]",
            "\"https://shop.example\"",
        ),
        (json!(["a.example"]), "cors.origins[0]", "is not allowed"),
        (json!(["null"]), "cors.origins[0]", "is not allowed"),
        (json!([7]), "cors.origins[0]", "must be a string"),
        (
            json!(["https://a.example", "*"]),
            "cors.origins[1]",
            "\"*\" alone",
        ),
        (
            json!(["https://a.example", "https://a.example"]),
            "cors.origins[1]",
            "twice",
        ),
        (json!("a.example"), "cors.origins", "is not allowed"),
        (json!(true), "cors.origins", "a string or a list of strings"),
        (json!([]), "cors.origins", "must be written"),
    ] {
        let (errors, routes) = invalid(globals(json!({ "cors": { "origins": origins } })), &[]);
        let [error] = errors.as_slice() else {
            panic!("one fault of {origins}: {errors:?}")
        };
        assert!(error.starts_with(&format!("{path}: ")), "{error}");
        assert!(error.contains(says), "{says} in {error}");
        assert!(routes.is_some(), "{origins} hides no operation");
    }
    for (fields, path) in [
        (json!({ "cors": {} }), "cors.origins"),
        (
            json!({ "cors": { "origin": "*", "origins": "*" } }),
            "cors.origin",
        ),
        (json!({ "cors": "*" }), "cors"),
        (json!({ "server_timing": "yes" }), "server_timing"),
    ] {
        let (errors, _) = invalid(globals(fields), &[]);
        assert!(
            errors.len() == 1 && errors[0].starts_with(&format!("{path}: ")),
            "{errors:?}"
        );
    }
}
