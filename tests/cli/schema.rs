//! The JSON Schema of the policy: as committed, never stricter than the reader, of use to editors.

use oncegate::core::code::Code;
use oncegate::core::policy::Statuses;
use oncegate::core::policy::parse::{Loaded, parse};
use serde_json::{Map, Value, json};

use crate::Folder;
use crate::validator::Validator;

fn schema() -> Value {
    let told = Folder::new("schema").run("schema");
    told.is(0).json()
}

#[test]
fn the_committed_schema_is_the_one_that_is_generated() {
    let generated = Folder::new("schema-file").run("schema").is(0).out.clone();
    let committed = include_str!("../../oncegate.schema.json");
    assert!(
        generated == committed,
        "write it anew: cargo run --features cli -- schema > oncegate.schema.json"
    );
}

fn pay(fields: Value) -> Value {
    let mut operation = json!({
        "name": "pay", "match": "POST /v1/pay", "principal": "authorization",
    });
    let Value::Object(fields) = fields else {
        panic!("fields");
    };
    operation.as_object_mut().expect("a table").extend(fields);
    operation
}

fn globals(fields: Value) -> Value {
    let mut globals = json!({ "origin": "https://api.example.com" });
    let Value::Object(fields) = fields else {
        panic!("fields");
    };
    globals.as_object_mut().expect("a table").extend(fields);
    globals
}

fn reads(globals: &Value, operation: &Value) -> Result<String, String> {
    let operation = ("ONCEGATE_OP_PAY".to_owned(), operation.clone());
    match parse(Some(globals.clone()), vec![operation]) {
        Loaded::Valid(policy) => Ok(format!("{policy:?}")),
        Loaded::Invalid { errors, .. } => Err(format!("{errors:?}")),
    }
}

fn file(globals: &Value, operation: &Value) -> Value {
    let vars = json!({ "ONCEGATE": globals, "ONCEGATE_OP_PAY": operation, "OTHER": [1] });
    json!({ "name": "gate", "env": { "production": { "vars": vars } } })
}

/// Reconciling, so that every field of `recovery` may be written.
fn reconciling(fields: Value) -> Value {
    let mut recovery = json!({
        "then": "reconcile",
        "probe": "GET /v1/pay?reference={reference}",
        "verdicts": [{ "status": 200, "verdict": "applied" }],
    });
    if let (Some(recovery), Value::Object(fields)) = (recovery.as_object_mut(), fields) {
        recovery.extend(fields);
    }
    json!({ "recovery": recovery })
}

#[test]
fn every_default_of_the_schema_is_what_the_reader_takes_where_nothing_is_written() {
    let schema = schema();
    let of_table = |table: &Value, wrap: fn(Value) -> (Value, Value)| -> usize {
        let (bare_globals, bare) = wrap(json!({}));
        let silent = reads(&bare_globals, &bare).expect("valid");
        let mut seen = 0;
        for (name, field) in table["properties"].as_object().expect("fields") {
            if let Some(default) = field.get("default") {
                let (globals, operation) = wrap(json!({ name: default }));
                let written = reads(&globals, &operation);
                assert_eq!(written.as_ref(), Ok(&silent), "{name} = {default}");
                seen += 1;
            }
        }
        seen
    };
    let operation = &schema["definitions"]["operation"];
    let fields = &operation["properties"];
    let seen = [
        of_table(&schema["definitions"]["globals"], |it| {
            (globals(it), pay(json!({})))
        }),
        of_table(operation, |it| (globals(json!({})), pay(it))),
        of_table(&fields["keep"], |it| {
            (globals(json!({})), pay(json!({ "keep": it })))
        }),
        of_table(&fields["command"], |it| {
            (globals(json!({})), pay(json!({ "command": it })))
        }),
        of_table(&fields["recovery"], |it| {
            (globals(json!({})), pay(reconciling(it)))
        }),
        of_table(&fields["while_running"]["anyOf"][1], |it| {
            (globals(json!({})), pay(json!({ "while_running": it })))
        }),
    ];
    assert!(seen.iter().all(|seen| *seen >= 2), "{seen:?}");
}

/// Fields of an operation that the reader takes.
const TAKEN: &str = r#"
{}
{"match": ["POST /a", "PUT /a/{id}"]}
{"match": "POST /a/{id}", "key": ["path:id"]}
{"principal": "authorization:any", "scope": ["principal", "header:X-A", "query:q"]}
{"principal": "none", "scope": []}
{"key": ["header:X-Key", "query:batch"], "when_absent": "pass"}
{"on_repeat": "acknowledge", "on_mismatch": "ignore"}
{"while_running": "conflict"}
{"while_running": {"answer": "wait", "for": "250ms", "then": "conflict"}}
{"effect": "at_least_once", "lease": "5m", "origin_timeout": "90s", "max_body": "100B"}
{"keep": {"reply": "reference", "fields": ["/id", "/a~1b/c~0"], "headers": ["X-A"]}}
{"keep": {"for": "1h", "tombstone": "7d", "max_reply": "64KiB", "encrypt": true}, "stream": true}
{"after_expiry": "execute", "final": [500], "retryable": [503, 404], "ambiguous": [409]}
{"statuses": {"in_progress": 202, "outcome_unknown": 425, "principal_missing": 401}}
{"statuses": {"key_reused": 422, "duplicate": 400, "gate_unavailable": 599}}
{"recovery": {"then": "rerun"}}
{"command": {"version": 4294967295, "query": ["mode", ""], "target": false}}
{"command": {"query": "none", "headers": ["X-Api-Version"], "ignore": ["/sent_at", "/i/*/t", ""]}}
{"command": {"decimals": ["/amount"], "casefold": ["/c"], "echo": ["/id"]}}
{"command": {"defaults": {"/channel": "web", "/x": [1]}}}
{"command": {"timestamps": {"/at": "second"}, "when_malformed": "bytes"}}
{"command": {"version": 2, "earlier": [{"version": 1, "ignore": ["/a"]}]}}
"#;

#[test]
fn what_the_reader_takes_the_schema_takes() {
    let schema = schema();
    let validator = Validator::new(&schema);
    let probing = reconciling(json!({
        "probe": "GET /v1/pay?r={reference}&k={key}&a={body:/amount}", "probe_unscoped": false,
        "confirm": { "/data/0/reference": "{reference}" }, "settle_after": "2m",
        "schedule": ["1s"], "escalate_after": "10m", "reply_pointer": "/data/0",
        "reply_status": 201, "failed_status": 409,
        "verdicts": [
            { "status": [200, 404], "pointer": "/data", "length": 0, "verdict": "not_applied" },
            { "status": 200, "pointer": "/s", "one_of": ["a", 1], "verdict": "failed" },
            { "status": 200, "pointer": "/s", "equals": null, "verdict": "pending" },
        ],
    }));
    let rows = TAKEN.trim().lines();
    let rows = rows.map(|row| serde_json::from_str(row).expect("JSON"));
    for fields in rows.chain([probing]) {
        let (globals, operation) = (globals(json!({})), pay(fields));
        assert_eq!(reads(&globals, &operation).err(), None, "{operation}");
        assert_eq!(
            validator.fault(&file(&globals, &operation)),
            None,
            "{operation}"
        );
    }
    for fields in [
        json!({ "origin": "service:API", "preset": "stripe", "unmatched": "refuse" }),
        json!({ "origin": "http://127.0.0.1:8788/v1", "statuses": { "duplicate": 410 } }),
        json!({ "operations": [{ "name": "x", "match": "POST /x", "principal": "none" }] }),
        json!({ "cors": { "origins": "*" }, "server_timing": true }),
        json!({ "cors": { "origins": ["https://a.example:8443", "http://[::1]:3000"] } }),
    ] {
        let (globals, operation) = (globals(fields), pay(json!({})));
        assert_eq!(reads(&globals, &operation).err(), None, "{globals}");
        assert_eq!(
            validator.fault(&file(&globals, &operation)),
            None,
            "{globals}"
        );
    }
}

#[test]
fn a_code_can_have_the_statuses_that_the_core_allows() {
    let schema = schema();
    let validator = Validator::new(&schema);
    for code in Code::ALL {
        for status in 0..=700 {
            let fields = json!({ code.wire(): status });
            let fault = validator.against(&schema["definitions"]["statuses"], &fields);
            assert_eq!(
                fault.is_none(),
                Statuses::allowed(code, status),
                "{code:?} {status}"
            );
        }
    }
}

/// Fields of an operation that an editor should mark.
const MARKED: &str = r#"
{"mach": "POST /x"}
{"name": "Pay"}
{"name": 1}
{"match": []}
{"match": "/v1/pay"}
{"match": "post /v1/pay"}
{"principal": "token"}
{"scope": "principal"}
{"scope": ["token"]}
{"key": []}
{"key": ["Idempotency-Key"]}
{"on_repeat": "again"}
{"while_running": "for ever"}
{"while_running": {"anser": "wait"}}
{"while_running": {"for": 10}}
{"lease": "60"}
{"lease": 60}
{"max_body": "1MB"}
{"keep": {"ttl": "1h"}}
{"keep": {"encrypt": "yes"}}
{"keep": {"fields": ["id"]}}
{"final": 500}
{"final": [99]}
{"final": [409.5]}
{"statuses": {"key_used": 409}}
{"statuses": {"key_reused": 401}}
{"statuses": {"key_reused": 202}}
{"recovery": {"then": "guess"}}
{"recovery": {"then": "reconcile", "probe": "POST /x", "verdicts": []}}
{"recovery": {"then": "reconcile", "verdicts": [{"status": 200}]}}
{"command": {"version": 0}}
{"command": {"query": "some"}}
{"command": {"ignore": ["sent"]}}
{"command": {"timestamps": {"/at": "day"}}}
{"command": {"timestamps": {"at": "second"}}}
{"command": {"earlier": [{"ignore": []}]}}
{"command": {"version": 2, "earlier": [{"version": 1, "earlier": []}]}}
"#;

#[test]
fn an_editor_marks_misspelt_names_wrong_types_and_unknown_words() {
    let schema = schema();
    let validator = Validator::new(&schema);
    for row in MARKED.trim().lines() {
        let fields: Value = serde_json::from_str(row).expect("JSON");
        let (globals, operation) = (globals(json!({})), pay(fields));
        assert!(
            reads(&globals, &operation).is_err(),
            "the reader takes {row}"
        );
        assert!(
            validator.fault(&file(&globals, &operation)).is_some(),
            "{row}"
        );
    }
    for name in ["name", "match", "principal"] {
        let mut operation = pay(json!({}));
        operation.as_object_mut().map(|fields| fields.remove(name));
        let fault = validator.fault(&file(&globals(json!({})), &operation));
        assert!(fault.is_some_and(|fault| fault.contains(name)), "{name}");
    }
    for fields in [
        json!({ "origin": "ftp://a.example" }),
        json!({ "preset": "aws" }),
        json!({ "operations": [{}] }),
        json!({ "orgin": "x" }),
        json!({ "cors": {} }),
        json!({ "cors": { "origins": ["https://a.example/"] } }),
        json!({ "cors": { "origins": ["null"] } }),
        json!({ "server_timing": "yes" }),
    ] {
        let globals = globals(fields);
        assert!(reads(&globals, &pay(json!({}))).is_err(), "{globals}");
        assert!(
            validator.fault(&file(&globals, &pay(json!({})))).is_some(),
            "{globals}"
        );
    }
}

#[test]
fn every_field_tells_what_it_is_for_in_one_line() {
    let schema = schema();
    let mut seen = 0;
    walk(
        &schema["definitions"],
        &mut |name, field: &Map<String, Value>| {
            let doc = field.get("description").and_then(Value::as_str);
            let doc = doc.unwrap_or_else(|| panic!("{name} has no description"));
            assert!(
                !doc.contains('\n') && (10..=120).contains(&doc.len()),
                "{name}: {doc}"
            );
            seen += 1;
        },
    );
    assert!(seen > 80, "{seen}");
}

/// Visits the fields of every table; `vars` holds variables, which are no fields.
fn walk(schema: &Value, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    let Value::Object(members) = schema else {
        return;
    };
    for (name, member) in members {
        if name == "vars" {
            continue;
        }
        if name == "properties" {
            for (name, field) in member.as_object().expect("fields") {
                visit(name, field.as_object().expect("a schema"));
            }
        }
        let items = member.as_array().map_or(&[][..], Vec::as_slice);
        items.iter().for_each(|item| walk(item, visit));
        walk(member, visit);
    }
}

#[test]
fn the_examples_of_a_form_have_it() {
    let schema = schema();
    fn check(schema: &Value, validator: &Validator<'_>) {
        let (list, members) = (schema.as_array(), schema.as_object());
        if let Some(examples) = members.and_then(|it| it.get("examples")?.as_array()) {
            for example in examples {
                assert_eq!(validator.against(schema, example), None, "{example}");
            }
        }
        let below = list.into_iter().flatten();
        below
            .chain(members.into_iter().flat_map(Map::values))
            .for_each(|below| check(below, validator));
    }
    check(&schema, &Validator::new(&schema));
}

#[test]
fn the_configuration_of_this_repository_has_the_schema_and_names_it() {
    let text = include_str!("../../wrangler.toml");
    assert!(text.starts_with("#:schema ./oncegate.schema.json\n"));
    let file: toml::Table = text.parse().expect("TOML");
    let file = serde_json::to_value(file).expect("JSON");
    let schema = schema();
    assert_eq!(Validator::new(&schema).fault(&file), None);
}
