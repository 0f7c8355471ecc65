//! Invalid policies: every fault is reported with its path and with what would be right.

use serde_json::{Value, json};

use crate::{OP, globals, invalid, pay};

/// There is one fault, at this place, and it says this.
#[track_caller]
fn assert_fault(errors: &[String], path: &str, says: &str) {
    let [error] = errors else {
        panic!("one fault at {path}: {errors:#?}")
    };
    let message = error
        .strip_prefix(path)
        .and_then(|rest| rest.strip_prefix(": "));
    let message = message.unwrap_or_else(|| panic!("at {path}: {error}"));
    assert!(message.contains(says), "{says:?} in {error}");
}

/// The rows of a table: the path of the fault, the fields that have it, and what it says.
fn rows(table: &str) -> impl Iterator<Item = (&str, Value, &str)> {
    table.trim().lines().map(|line| {
        let mut cells = line.splitn(3, " | ");
        let mut cell = || cells.next().expect(line);
        let (path, fields, says) = (cell(), cell(), cell());
        (path, serde_json::from_str(fields).expect(line), says)
    })
}

/// Each row has its fault, in a variable of its own and in the list of the globals.
#[track_caller]
fn assert_faults(table: &str) {
    for (path, fields, says) in rows(table) {
        let (errors, _) = invalid(globals(json!({})), &[(OP, pay(fields.clone()))]);
        assert_fault(&errors, &format!("{OP}.{path}"), says);
        let (errors, _) = invalid(globals(json!({ "operations": [pay(fields)] })), &[]);
        assert_fault(&errors, &format!("operations[0].{path}"), says);
    }
}

const FAULTS: &str = r#"
name | {"name": 1} | must be a string, not a number
name | {"name": ""} | not a name
name | {"name": "Pay"} | "Pay" is not a name
name | {"name": "1pay"} | not a name
name | {"name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"} | not a name
match | {"match": 1} | must be a string or a list of strings, not a number
match | {"match": []} | must not be empty
match | {"match": "/v1/pay"} | one space
match[1] | {"match": ["POST /a", "post /b"]} | write POST
match[1] | {"match": ["POST /a", 2]} | must be a string
match[1] | {"match": ["POST /a/{x}", "POST /{y}/b"]} | "POST /a/{x}"
match[1] | {"match": ["POST /a", "POST /%61"]} | already
principal | {"principal": "jwt"} | "authorization:any", "jwt:CLAIM", "cookie:NAME", "header:NAME"
principal | {"principal": "jwt:"} | lacks the name of a claim
principal | {"principal": "jwt:sub"} | needs the table jwt
principal | {"principal": "cookie:a b"} | not a name
principal | {"principal": "cookie:"} | not a name
principal | {"principal": "header:Cookie"} | holds credentials
principal | {"principal": "header:Oncegate-User"} | never reaches the gate
principal | {"principal": "header:X-User"} | authorize_replay, or principal_trusted
principal_trusted | {"principal_trusted": true} | header:NAME only
principal_trusted | {"principal": "authorization", "principal_trusted": "yes"} | true or false
authorize_replay | {"authorize_replay": "GET /v1/me"} | asked about nobody
authorize_replay | {"principal": "authorization", "authorize_replay": "POST /v1/me"} | not GET
authorize_replay | {"principal": "authorization", "authorize_replay": "GET //evil.example"} | not GET
authorize_replay | {"principal": "authorization", "authorize_replay": "GET https://evil"} | not GET
authorize_replay | {"principal": "authorization", "authorize_replay": "GET /{id}"} | not GET
authorize_replay | {"principal": "authorization", "authorize_replay": "GET /a b"} | not GET
acknowledge | {"acknowledge": {"status": 200}} | on_repeat = "acknowledge" only
acknowledge | {"on_repeat": "acknowledge", "acknowledge": 200} | must be a table
acknowledge.status | {"on_repeat": "acknowledge", "acknowledge": {"status": 302}} | from 200 to 299
acknowledge.content_type | {"on_repeat": "acknowledge", "acknowledge": {"content_type": "a\nb/c", "body": "a"}} | media type
acknowledge.content_type | {"on_repeat": "acknowledge", "acknowledge": {"content_type": "text/plain"}} | write body
acknowledge.body | {"on_repeat": "acknowledge", "acknowledge": {"status": 204, "body": "a"}} | has no body
limit | {"principal": "authorization", "limit": 10} | true or false
limit | {"limit": true} | principal is "none"
placement | {"placement": "eu"} | must be a table
placement.jurisdiction | {"placement": {"jurisdiction": "de"}} | "eu", "us", "fedramp"
placement.hint | {"placement": {"hint": "mars"}} | "wnam"
key[0] | {"key": ["body:id"]} | starts with "/"
key[0] | {"key": ["body:"]} | one value of the body
key[0] | {"key": ["body:/items/*/id"]} | one value of the body
scope[0] | {"scope": ["body:/a~2"]} | "~0"
principal | {"principal": null} | must be a string, not null
scope | {"scope": "principal"} | must be a list, not a string
scope[0] | {"scope": ["tenant"]} | "principal", "header:NAME"
scope[1] | {"scope": ["principal", "principal"]} | twice
scope[0] | {"scope": ["path:account"]} | not a parameter of
scope | {"principal": "authorization", "scope": ["header:X-Tenant"]} | must hold "principal"
scope | {"principal": "authorization", "scope": []} | must hold
key | {"key": "header:X"} | must be a list
key | {"key": []} | at least one
key[0] | {"key": [["header:X"]]} | must be a string, not a list
key[0] | {"key": ["X"]} | "header:NAME", "query:NAME", "path:NAME"
key[0] | {"key": ["form:x"]} | "form:x" is not one of
key[0] | {"key": ["principal"]} | is not one of
key[0] | {"key": ["header:"]} | not the name of a header
key[0] | {"key": ["header:X Y"]} | not the name of a header
key[0] | {"key": ["header:Authorization"]} | credentials
key[0] | {"key": ["header:Cookie"]} | credentials
key[0] | {"key": ["header:Oncegate-Id"]} | removed
key[0] | {"key": ["query:"]} | lacks a name
key[1] | {"key": ["header:X", "header:x"]} | twice
key[0] | {"key": ["path:id"]} | "id" is not a parameter of "POST /v1
key[0] | {"match": ["POST /a/{id}", "POST /b"], "key": ["path:id"]} | not a parameter of "POST /b"
when_absent | {"when_absent": "ignore"} | "refuse", "pass"
on_mismatch | {"on_mismatch": "409"} | "refuse", "replay", "separate", "ignore"
on_mismatch | {"on_mismatch": "ignore"} | "refuse" or "acknowledge" only
on_repeat | {"on_repeat": true} | must be a string, not true or false
while_running | {"while_running": "block"} | "wait", "pending", 
while_running | {"while_running": ["wait"]} | a string or a table
while_running.answer | {"while_running": {"answer": 202}} | a string
while_running.fro | {"while_running": {"fro": "1s"}} | unknown name; known are "answer", "for"
while_running.for | {"while_running": {"for": "0s"}} | not a duration
while_running.then | {"while_running": {"then": "wait"}} | "conflict"
while_running.for | {"while_running": {"answer": "pending", "for": "1s"}} | goes with answer =
effect | {"effect": "exactly_once"} | "at_most_once", "at_least_once"
lease | {"lease": "60"} | "60" is not a duration: write a whole number
lease | {"lease": 60} | must be a string, not a number
lease | {"lease": "30s"} | longer than origin_timeout
lease | {"origin_timeout": "2m"} | longer than origin_timeout
origin_timeout | {"origin_timeout": "2 m"} | not a duration
max_body | {"max_body": "1MB"} | not a size
max_body | {"max_body": "17MiB"} | 16 MiB at most
keep | {"keep": "full"} | must be a table, not a string
keep.reply | {"keep": {"reply": "all"}} | "full", "reference", "none"
keep.fields | {"keep": {"fields": ["/id"]}} | goes with keep.reply = "reference" only
keep.fields[0] | {"keep": {"reply": "reference", "fields": ["id"]}} | starts with "/"
keep.fields[0] | {"keep": {"reply": "reference", "fields": ["/data/0"]}} | must name a member of an object
keep.fields[0] | {"keep": {"reply": "reference", "fields": ["/data/*/id"]}} | must name a member of an object
keep.headers[0] | {"keep": {"headers": ["Retry-After"]}} | is never replayed
keep.headers[0] | {"keep": {"headers": ["Access-Control-Allow-Origin"]}} | is never replayed
keep.headers[0] | {"keep": {"headers": [1]}} | must be a string
keep.encrypt | {"keep": {"encrypt": "yes"}} | must be true or false
stream | {"stream": "yes"} | must be true or false
keep.for | {"keep": {"for": "24"}} | "24" is not a duration
keep.tombstone | {"keep": {"for": "31d"}} | at least as long
keep.max_reply | {"keep": {"max_reply": "0KiB"}} | not a size
keep.ttl | {"keep": {"ttl": "1h"}} | known are "reply", "for", 
after_expiry | {"after_expiry": "run"} | "refuse", "execute"
recovery | {"recovery": "hold"} | must be a table
recovery.then | {"recovery": {"then": "retry"}} | "hold", "reconcile", "rerun"
recovery.probe | {"recovery": {"probe": "GET /x"}} | goes with then = "reconcile" only
recovery.schedule | {"recovery": {"then": "rerun", "schedule": ["1s"]}} | goes with then = "reconcile" only
recovery.probe | {"recovery": {"then": "reconcile", "verdicts": [{"status": 404, "verdict": "applied"}]}} | must be written
recovery.probe | {"recovery": {"then": "reconcile", "probe": "POST /x?{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}]}} | must be a GET
recovery.probe | {"recovery": {"then": "reconcile", "probe": "GET https://other.example/{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}]}} | must ask the origin
recovery.probe | {"recovery": {"then": "reconcile", "probe": "GET //other.example/{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}]}} | must ask the origin
recovery.probe | {"recovery": {"then": "reconcile", "probe": "GET /x", "verdicts": [{"status": 404, "verdict": "not_applied"}]}} | must contain {reference}
recovery.probe | {"recovery": {"then": "reconcile", "probe": "GET /x?{reference}&{secret}", "verdicts": [{"status": 404, "verdict": "not_applied"}]}} | no such placeholder
recovery.probe | {"recovery": {"then": "reconcile", "probe": "GET /x?{reference}&{path.id}", "verdicts": [{"status": 404, "verdict": "not_applied"}]}} | "id" is not a parameter of every match
recovery.confirm | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}], "confirm": {"id": "{reference}"}}} | starts with "/"
recovery.settle_after | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}], "settle_after": 60}} | must be a string
recovery.schedule | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}], "schedule": []}} | must be a list of 1 to 32 durations
recovery.verdicts | {"recovery": {"then": "reconcile", "probe": "GET /{reference}"}} | must be written
recovery.verdicts | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": []}} | must not be empty
recovery.verdicts[0].verdict | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 200, "verdict": "done"}]}} | "applied", "not_applied"
recovery.verdicts[0].status | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 401, "verdict": "failed"}]}} | 401 says nothing
recovery.verdicts[0].status | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 403, "verdict": "failed"}]}} | 403 says nothing
recovery.verdicts[0].status | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": [404, 429], "verdict": "failed"}]}} | 429 says nothing
recovery.verdicts[0].status | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 503, "verdict": "failed"}]}} | 503 says nothing
recovery.verdicts[0].pointer | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 200, "equals": 1, "verdict": "failed"}]}} | must be written
recovery.verdicts[0].verdict | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 200, "pointer": "/a", "equals": 1, "length": 1, "verdict": "failed"}]}} | takes one of equals
recovery.reply_pointer | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}], "reply_pointer": "/data/*"}} | names one place
recovery.reply_status | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}], "reply_status": 422}} | must be a status from 200 to 299
recovery.failed_status | {"recovery": {"then": "reconcile", "probe": "GET /{reference}", "verdicts": [{"status": 404, "verdict": "not_applied"}], "failed_status": 200}} | must be a status from 400 to 499
command | {"command": 1} | must be a table
command.version | {"command": {"version": 0}} | whole number from 1
command.version | {"command": {"version": "1"}} | whole number from 1
command.query | {"command": {"query": "some"}} | "all", "none", or a list
command.query | {"command": {"query": true}} | must be "all", "none" or a list of names
command.query[1] | {"command": {"query": ["a", 1]}} | must be a string
command.target | {"command": {"target": "no"}} | must be true or false, not a string
command.headers[0] | {"command": {"headers": ["X Y"]}} | not the name of a header
command.headers[0] | {"command": {"headers": ["Authorization"]}} | credentials
command.headers[0] | {"command": {"headers": ["User-Agent"]}} | how a request is sent
command.headers | {"command": {"headers": ["Idempotency-Key"]}} | is the key
command.ignore[0] | {"command": {"ignore": ["at"]}} | starts with "/"
command.decimals | {"command": {"decimals": "/a"}} | must be a list
command.casefold[0] | {"command": {"casefold": ["/~2"]}} | "~0"
command.defaults | {"command": {"defaults": ["/a"]}} | must be a table
command.defaults["a"] | {"command": {"defaults": {"a": 1}}} | starts with "/"
command.timestamps["/at"] | {"command": {"timestamps": {"/at": "day"}}} | "second"
command.timestamps["/at"] | {"command": {"timestamps": {"/at": 1}}} | a string
command.when_malformed | {"command": {"when_malformed": "pass"}} | "refuse", "bytes"
command.earlier | {"command": {"version": 2, "earlier": {"version": 1}}} | must be a list
command.earlier[0] | {"command": {"earlier": [1]}} | must be a table
command.earlier[0].version | {"command": {"earlier": [{"query": "none"}]}} | must be written
command.earlier[0].version | {"command": {"earlier": [{"version": 1}]}} | another recipe
command.earlier[0].query | {"command": {"earlier": [{"version": 2, "query": 1}]}} | must be "all"
command.earlier[0].earlier | {"command": {"earlier": [{"version": 2, "earlier": []}]}} | unknown
final | {"final": 409} | must be a list
final[0] | {"final": [99]} | from 100 to 599
final[0] | {"final": [409.5]} | from 100 to 599
final[0] | {"final": [200]} | it is a success
retryable[1] | {"retryable": [503, 204]} | it is a success
retryable[0] | {"retryable": [401]} | without credentials
ambiguous[0] | {"ambiguous": [100]} | never the answer
final[1] | {"final": [409, 409]} | already
ambiguous[0] | {"final": [409], "ambiguous": [409]} | already
statuses | {"statuses": [409]} | must be a table
statuses.key_used | {"statuses": {"key_used": 409}} | "key_reused"?
statuses.key_reused | {"statuses": {"key_reused": 202}} | from 400
statuses.duplicate | {"statuses": {"duplicate": "409"}} | from 400
preset | {"preset": "ietf"} | unknown name; known are "name", 
mach | {"mach": "POST /x"} | did you mean "match"?
"#;

#[test]
fn every_fault_of_an_operation_is_named_at_its_path() {
    assert_faults(FAULTS);
}

const OF_THE_GLOBALS: &str = r#"
origin | {"origin": 1} | must be a string
origin | {"origin": "https://u:p@a.example"} | credentials
preset | {"preset": "aws"} | "default", "ietf", "stripe"
unmatched | {"unmatched": "block"} | "pass", "refuse"
statuses.in_progress | {"statuses": {"in_progress": 200}} | 202 for
jwt | {"jwt": "https://a.example"} | must be a table
jwt.jwks | {"jwt": {"jwks": "http://a.example/k", "issuer": "a", "audience": "b"}} | "https://"
jwt.jwks | {"jwt": {"jwks": "http://localhost.a.example/k", "issuer": "a", "audience": "b"}} | "https://"
jwt.jwks | {"jwt": {"jwks": "https://u:p@a.example/k", "issuer": "a", "audience": "b"}} | without credentials
jwt.jwks | {"jwt": {"issuer": "a", "audience": "b"}} | must be written
jwt.issuer | {"jwt": {"jwks": "https://a.example/k", "issuer": " ", "audience": "b"}} | must not be empty
jwt.audience | {"jwt": {"jwks": "https://a.example/k", "issuer": "a", "audience": []}} | at least one
jwt.audience[1] | {"jwt": {"jwks": "https://a.example/k", "issuer": "a", "audience": ["b", 1]}} | must be a string
jwt.algorithms | {"jwt": {"jwks": "https://a.example/k", "issuer": "a", "audience": "b", "algorithms": ["none"]}} | unknown name
operations | {"operations": {}} | must be a list, not a table
operations[0] | {"operations": ["pay"]} | must be a table, not a string
orgin | {"orgin": "x"} | did you mean "origin"?
lease | {"lease": "60s"} | unknown name; known are "origin", "preset", 
"#;

#[test]
fn every_fault_of_the_globals_is_named_at_its_path() {
    for (path, fields, says) in rows(OF_THE_GLOBALS) {
        let (errors, _) = invalid(globals(fields), &[]);
        assert_fault(&errors, path, says);
    }
}

#[test]
fn every_required_field_is_asked_for() {
    for name in ["name", "match", "principal"] {
        let mut operation = pay(json!({}));
        operation.as_object_mut().expect("a table").remove(name);
        let (errors, _) = invalid(globals(json!({})), &[(OP, operation)]);
        assert_fault(&errors, &format!("{OP}.{name}"), "must be written: ");
    }
    let (errors, routes) = invalid(json!({}), &[]);
    assert_fault(
        &errors,
        "origin",
        "must be written: \"https://...\" or \"service:BINDING\"",
    );
    assert_eq!(routes, None);
}

#[test]
fn all_faults_are_reported_at_once_and_in_order() {
    let (errors, routes) = invalid(
        globals(json!({
            "preset": "x",
            "jwt": {},
            "operations": [
                { "match": "POST /a", "keep": { "for": "24", "ttl": 1 }, "lease": "1s" },
            ],
        })),
        &[
            (
                "ONCEGATE_OP_A",
                json!({ "name": "b", "match": "POST /b", "principal": "jwt:" }),
            ),
            (
                "ONCEGATE_OP_B",
                json!({ "name": "b", "match": "POST /b/", "principal": "none" }),
            ),
        ],
    );
    let paths: Vec<&str> = errors.iter().filter_map(|e| e.split(": ").next()).collect();
    assert_eq!(
        paths,
        [
            "preset",
            "jwt.jwks",
            "jwt.issuer",
            "jwt.audience",
            "operations[0].name",
            "operations[0].principal",
            "operations[0].lease",
            "operations[0].keep.ttl",
            "operations[0].keep.for",
            "ONCEGATE_OP_A.principal",
            "ONCEGATE_OP_B.name",
            "ONCEGATE_OP_B.match",
        ],
        "{errors:#?}"
    );
    assert_eq!(routes.map(|guarded| guarded.routes.len()), Some(3));
}

/// The places of the faults of one operation, in their order.
fn places(fields: Value) -> Vec<String> {
    let (errors, _) = invalid(globals(json!({})), &[(OP, pay(fields))]);
    let start = format!("{OP}.");
    let place = |error: &String| {
        let place = error.split(": ").next().unwrap_or_default();
        place.strip_prefix(&start).unwrap_or(place).to_owned()
    };
    errors.iter().map(place).collect()
}

#[test]
fn one_fault_hides_no_other_that_can_be_seen() {
    let verdict = json!([{ "status": 200, "verdict": "done" }]);
    for (fields, expected) in [
        (
            json!({ "match": ["POST /a", "POST"], "key": ["path:id", "body:id"] }),
            ["match[1]", "key[0]", "key[1]"].as_slice(),
        ),
        (
            json!({ "scope": ["path:id", "paht:x"] }),
            &["scope[0]", "scope[1]"],
        ),
        (
            json!({ "recovery": { "then": "reconcil", "probe": "GET /x", "verdicts": verdict } }),
            &[
                "recovery.then",
                "recovery.probe",
                "recovery.verdicts[0].verdict",
            ],
        ),
        (
            json!({ "recovery": { "than": "reconcile", "probe": "GET /x", "verdicts": verdict } }),
            &[
                "recovery.than",
                "recovery.probe",
                "recovery.verdicts[0].verdict",
            ],
        ),
        (
            json!({ "recovery": { "then": "reconcile",
                "probe": "GET /{reference}/{path.id}", "verdicts": verdict } }),
            &["recovery.probe", "recovery.verdicts[0].verdict"],
        ),
        (
            json!({ "effect": "pur", "recovery": { "probe": "GET /x" } }),
            &["effect", "recovery.probe"],
        ),
        // What was not misspelt is not judged as if it were.
        (
            json!({ "recovery": { "then": "holt" } }),
            &["recovery.then"],
        ),
    ] {
        let mut found = places(fields.clone());
        found.sort_by_key(|place| expected.iter().position(|it| it == place));
        assert_eq!(found, expected, "{fields}");
    }
}
