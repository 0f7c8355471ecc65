//! `oncegate policy`: the seven questions, errors, environments and bindings.

use serde_json::json;

use crate::{Folder, config, operation, pay};

const QUESTIONS: [&str; 7] = [
    "scope",
    "operation",
    "mismatch",
    "concurrency",
    "stored",
    "expiry",
    "recovery",
];

#[test]
fn every_operation_answers_the_seven_questions() {
    let operations = [
        pay(""),
        operation("ship", "POST /v1/ship", "lease = \"2m\""),
    ];
    let folder = Folder::with("seven", &config("", &operations));
    let told = folder.run("policy");
    told.is(0).says("a valid policy, 2 operations");
    for heading in ["1 scope", "2 operation", "3 same key", "4 at once"]
        .into_iter()
        .chain(["5 stored", "6 expiry", "7 unknown"])
    {
        assert_eq!(
            told.out.matches(&format!("  {heading} ")).count(),
            2,
            "{heading}"
        );
    }
    let document = folder.run("policy --json");
    let document = document.is(0).json();
    assert_eq!(document["valid"], true);
    for (n, name) in ["pay", "ship"].into_iter().enumerate() {
        let operation = &document["operations"][n];
        assert_eq!(operation["name"], name);
        let questions = operation["questions"].as_object().expect("a table");
        assert_eq!(questions.len(), QUESTIONS.len());
        for question in QUESTIONS {
            let answer = questions[question].as_str().expect("words");
            assert!(answer.ends_with('.'), "{question}: {answer}");
        }
    }
}

#[test]
fn the_web_pages_that_may_call_are_told() {
    for (cors, words) in [
        (
            "cors = { origins = \"*\" }",
            "All web pages, without their cookies, may call",
        ),
        (
            "cors = { origins = [\"https://a.example\", \"https://b.example\"] }",
            "Web pages of https://a.example and https://b.example may call",
        ),
    ] {
        let globals = format!("origin = \"https://api.example.com\"\n{cors}");
        let folder = Folder::with("pages", &config(&globals, &[pay("")]));
        folder.run("policy").is(0).says(words);
    }
    let folder = Folder::with("no-pages", &config("", &[pay("")]));
    let told = folder.run("policy");
    assert!(!told.is(0).out.contains("eb pages"), "{}", told.out);
}

#[test]
fn operations_that_answer_alike_are_told_together() {
    let operations = [pay(""), operation("ship", "POST /v1/ship", "")];
    let folder = Folder::with("alike", &config("", &operations));
    let told = folder.run("policy");
    told.is(0)
        .says("pay POST /v1/{tenant}/pay ship POST /v1/ship 1 scope");
    assert_eq!(told.out.matches("7 unknown").count(), 1);
}

/// The lines of an operation, the question, and what the answer says.
const ANSWERS: &[(&str, &str, &str)] = &[
    (
        "",
        "scope",
        "the caller (digest of the header Authorization, opaque",
    ),
    (
        "",
        "scope",
        "without credentials gets 401 principal_missing",
    ),
    (
        "principal = \"authorization:any\"",
        "scope",
        "Authorization, whatever it holds",
    ),
    (
        "principal = \"none\"",
        "scope",
        "One set of keys for everybody",
    ),
    (
        "scope = [\"principal\", \"path:tenant\"]",
        "scope",
        " and the path parameter tenant: the same key from elsewhere",
    ),
    ("", "operation", "The key is the header idempotency-key."),
    (
        "key = [\"header:K\", \"query:q\"]",
        "operation",
        "the header k and the query parameter q",
    ),
    ("", "operation", "without it is refused: 400 key_missing"),
    (
        "when_absent = \"pass\"",
        "operation",
        "goes to the origin unprotected",
    ),
    (
        "",
        "mismatch",
        "is refused: 409 key_reused. The same command again gets the stored answer",
    ),
    (
        "statuses = { key_reused = 422 }",
        "mismatch",
        "is refused: 422 key_reused",
    ),
    (
        "on_mismatch = \"replay\"",
        "mismatch",
        "gets the first answer, marked as a mismatch",
    ),
    (
        "on_mismatch = \"ignore\"\non_repeat = \"refuse\"",
        "mismatch",
        "The key alone counts: the content is not compared. The same command again is refused \
         after a success (409 duplicate)",
    ),
    (
        "on_repeat = \"acknowledge\"",
        "mismatch",
        "gets the stored status after a success",
    ),
    (
        "",
        "mismatch",
        "What counts: method, path, the query, media type and body; recipe version 1",
    ),
    (
        "command = { version = 3, query = [\"mode\"], target = false, headers = [\"X-A\"], \
         ignore = [\"/sent\"], earlier = [{ version = 2 }] }",
        "mismatch",
        "What counts: the query parameters mode, the headers x-a, media type and body (without \
         /sent); recipe version 3, and still knows 2",
    ),
    (
        "command = { when_malformed = \"bytes\" }",
        "mismatch",
        "is compared byte by byte",
    ),
    (
        "",
        "concurrency",
        "waits up to 10s for the first answer, then gets 202 in_progress",
    ),
    (
        "while_running = \"pending\"",
        "concurrency",
        "gets 202 in_progress at once",
    ),
    (
        "while_running = \"conflict\"",
        "concurrency",
        "gets 409 in_progress at once",
    ),
    (
        "while_running = { for = \"3s\", then = \"conflict\" }",
        "concurrency",
        "waits up to 3s for the first answer, then gets 409 in_progress",
    ),
    (
        "lease = \"5m\"\norigin_timeout = \"90s\"",
        "concurrency",
        "An attempt has 5m; callers wait 90s for the origin, then get 504 origin_timeout",
    ),
    (
        "",
        "stored",
        "headers and body of the answer, up to 4MiB, unencrypted",
    ),
    ("keep = { max_reply = \"64KiB\" }", "stored", "up to 64KiB"),
    (
        "keep = { reply = \"none\" }",
        "stored",
        "but no body, unencrypted. A repeat whose answer is not kept",
    ),
    (
        "keep = { reply = \"reference\", fields = [\"/id\", \"/at\"], headers = [\"X-A\"] }",
        "stored",
        "Status, location and of the body /id and /at, and the headers x-a, unencrypted.",
    ),
    (
        "keep = { encrypt = true }\nstream = true",
        "stored",
        "up to 4MiB, encrypted with the secret ONCEGATE_RECORD_SECRET. A repeat whose answer is \
         not kept gets 409 reply_unavailable. A success is passed on while it comes. A request",
    ),
    (
        "max_body = \"2MiB\"",
        "stored",
        "A request body may have 2MiB.",
    ),
    (
        "",
        "expiry",
        "replayed for 24h; then a repeat is refused: 409 key_expired. 30d after",
    ),
    (
        "after_expiry = \"execute\"",
        "expiry",
        "then a repeat runs as a new operation",
    ),
    (
        "on_repeat = \"refuse\"",
        "expiry",
        "There is no reply to expire. 30d after completion",
    ),
    (
        "",
        "recovery",
        "must not happen twice: an outcome that nobody knows stays unknown",
    ),
    (
        "effect = \"at_least_once\"",
        "recovery",
        "more than once: an outcome that nobody knows lets",
    ),
    ("", "recovery", "repeats get 202 outcome_unknown"),
    (
        "on_repeat = \"acknowledge\"",
        "recovery",
        "repeats get 503 outcome_unknown",
    ),
    (
        "final = [500]\nretryable = [404, 409]",
        "recovery",
        "read: 500 as final failures; 404 and 409 as certainly without effect",
    ),
    (
        "[vars.ONCEGATE_OP_PAY.recovery]\nthen = \"reconcile\"\n\
         probe = \"GET /v1/pay?reference={reference}\"\nschedule = [\"2s\", \"1m\"]\n\
         verdicts = [{ status = 200, verdict = \"applied\" }]",
        "recovery",
        "looked up at the origin after 2s, 1m (repeated), nothing runs again until it says \
         \"not applied\" (believed 1m after",
    ),
];

#[test]
fn answers_say_what_the_fields_say() {
    for (n, (lines, question, says)) in ANSWERS.iter().enumerate() {
        let folder = Folder::with(&format!("answers-{n}"), &config("", &[pay(lines)]));
        let document = folder.run("policy --json");
        let document = document.is(0).json();
        let answer = document["operations"][0]["questions"][question].as_str();
        let answer = answer.expect("an answer");
        assert!(answer.contains(says), "{lines}\n{says}\nin: {answer}");
    }
}

#[test]
fn all_errors_are_told_at_once_with_their_places() {
    let operations = [
        pay("lease = \"1s\"\nkeep = { for = \"24\" }"),
        operation("ship", "POST /v1/ship", "principal = \"token\""),
    ];
    let folder = Folder::with("errors", &config("preset = \"aws\"", &operations));
    let told = folder.run("policy");
    told.is(1).says("the policy is not valid, 4 errors");
    told.says("error preset: \"aws\" is not one of")
        .says("error ONCEGATE_OP_PAY.lease: must be longer than origin_timeout")
        .says("error ONCEGATE_OP_PAY.keep.for: \"24\" is not a duration")
        .says("error ONCEGATE_OP_SHIP.principal: \"token\" is not one of");
    let document = folder.run("policy --json");
    let document = document.is(1).json();
    assert_eq!(document["valid"], false);
    let paths: Vec<_> = document["errors"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|error| error["path"].clone())
        .collect();
    let expected = [
        "preset",
        "ONCEGATE_OP_PAY.lease",
        "ONCEGATE_OP_PAY.keep.for",
        "ONCEGATE_OP_SHIP.principal",
    ];
    assert_eq!(paths, expected);
    assert_eq!(
        folder.read("oncegate.lock"),
        None,
        "nothing is written for an invalid policy"
    );
}

#[test]
fn an_environment_inherits_nothing() {
    let top = config("preset = \"ietf\"", &[pay("")]);
    let staging = "[env.staging.vars.ONCEGATE]\norigin = \"https://staging.example.com\"\n\
                   [env.staging.vars.ONCEGATE_OP_SHIP]\nname = \"ship\"\n\
                   match = \"POST /v1/ship\"\nprincipal = \"authorization\"\n\
                   [env.bare]\nroute = \"x\"\n";
    let folder = Folder::with("environment", &format!("{top}\n{staging}"));
    folder
        .run("policy")
        .is(0)
        .says("top level")
        .says("pay")
        .says_not("ship");
    let told = folder.run("policy --env staging");
    told.is(0)
        .says("environment staging")
        .says("https://staging.example.com");
    told.says("ship")
        .says_not("preset ietf")
        .says_not("pay POST");
    folder
        .run("policy -e bare")
        .is(1)
        .says("ONCEGATE: the variable is missing");
    folder.run("policy --env=").is(0).says("top level");
    folder
        .run("policy --env prod")
        .fails("no [env.prod]; there are bare, staging");
}

#[test]
fn an_origin_that_is_a_binding_must_be_bound_in_the_same_environment() {
    let globals = "origin = \"service:API\"";
    let services = "[[services]]\nbinding = \"API\"\nservice = \"api\"\n";
    let bound = format!("{}\n{services}", config(globals, &[pay("")]));
    let folder = Folder::with("binding", &bound);
    folder
        .run("policy")
        .is(0)
        .says("Origin: the service binding API.");
    folder.write("wrangler.toml", config(globals, &[pay("")]));
    folder
        .run("policy")
        .is(1)
        .says("origin: there is no binding \"API\" in [[services]]");
}

#[test]
fn a_binding_with_a_name_of_the_policy_is_a_fault_as_in_the_worker() {
    let stray = "[[kv_namespaces]]\nbinding = \"ONCEGATE_KV\"\nid = \"1\"\n";
    let folder = Folder::with("stray", &format!("{}\n{stray}", config("", &[pay("")])));
    folder
        .run("policy")
        .is(1)
        .says("ONCEGATE_KV: is no variable of the policy");
    let events = "[[queues.producers]]\nbinding = \"ONCEGATE_EVENTS\"\nqueue = \"events\"\n";
    folder.write(
        "wrangler.toml",
        format!("{}\n{events}", config("", &[pay("")])),
    );
    folder.run("policy").is(0);
}

#[test]
fn values_of_toml_arrive_as_the_worker_sees_them() {
    let globals = "unmatched = 1979-05-27\npreset = nan\nstatuses = { duplicate = 409.5 }";
    let folder = Folder::with("toml", &config(globals, &[pay("")]));
    let told = folder.run("policy");
    told.is(1).says("unmatched: \"1979-05-27\" is not one of");
    told.says("preset: must be a string, not null")
        .says("statuses.duplicate: must be a status");
}

#[test]
fn a_policy_may_be_empty() {
    let folder = Folder::with("empty", &config("", &[]));
    folder.run("policy").is(0).says("0 operations");
    let document = folder.run("policy --json").json();
    assert_eq!(document["operations"], json!([]));
    assert_eq!(document["lock"]["state"], "agrees");
}

#[test]
fn a_limit_needs_its_binding_in_the_same_environment() {
    let limited = config("", &[pay("limit = true")]);
    let folder = Folder::with("limited", &limited);
    folder
        .run("policy")
        .is(1)
        .says("pay.limit: there is no binding \"ONCEGATE_LIMIT\" in [[ratelimits]]");
    let limiter = "[[ratelimits]]\nname = \"ONCEGATE_LIMIT\"\nnamespace_id = \"1\"\n\
                   simple = { limit = 100, period = 60 }\n";
    folder.write("wrangler.toml", format!("{limited}\n{limiter}"));
    folder
        .run("policy")
        .is(0)
        .says("New keys of one caller are counted");
}

#[test]
fn the_lock_holds_the_issuer_of_tokens_and_the_jurisdiction() {
    let jwt = |issuer: &str| {
        format!(
            "jwt = {{ jwks = \"https://login.example/keys\", issuer = \"{issuer}\", \
             audience = \"pay\" }}"
        )
    };
    let by_token = pay("principal = \"jwt:sub\"\nplacement = { jurisdiction = \"eu\" }");
    let first = config(&jwt("https://a.example"), std::slice::from_ref(&by_token));
    let folder = Folder::with("issuer", &first);
    folder.run("policy --write").is(0);
    folder.run("policy --locked").is(0).says("agrees");
    folder.write(
        "wrangler.toml",
        config(&jwt("https://b.example"), &[by_token]),
    );
    folder
        .run("policy --locked")
        .is(1)
        .says("issuer was \"https://a.example\" and is \"https://b.example\"");
    let moved = pay("principal = \"jwt:sub\"\nplacement = { jurisdiction = \"us\" }");
    folder.write("wrangler.toml", config(&jwt("https://a.example"), &[moved]));
    folder
        .run("policy --locked")
        .is(1)
        .says("jurisdiction was \"eu\" and is \"us\"");
}

#[test]
fn every_example_has_a_valid_policy() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).expect("examples") {
        let policy = entry.expect("an entry").path().join("policy.toml");
        let Ok(text) = std::fs::read_to_string(&policy) else {
            continue;
        };
        seen += 1;
        let folder = Folder::with(&format!("example-{seen}"), &text);
        folder.run("policy").is(0).says("a valid policy");
    }
    assert!(seen >= 4, "{seen} examples");
}
