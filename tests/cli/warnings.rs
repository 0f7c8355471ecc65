//! Every cross-effect is warned of, under its name, and `--strict` makes it fail.

use std::collections::BTreeSet;

use oncegate::core::policy::warnings;

use crate::{Folder, config, operation, pay};

/// Lines that bring no warning with them; the others are put before them.
const QUIET: &str = "statuses = { in_progress = 409, outcome_unknown = 409 }";

/// The warning, the globals and the lines of an operation that bring it about.
const CAUSES: &[(&str, &str, &str)] = &[
    (
        "origin_in_plain_text",
        "origin = \"http://api.example.com\"",
        "",
    ),
    (
        "origin_in_plain_text",
        "origin = \"http://127.example.com:80/v1\"",
        "",
    ),
    (
        "origin_in_plain_text",
        "origin = \"http://[2001:db8::1]:8080\"",
        "",
    ),
    ("principal_none", "", "principal = \"none\""),
    (
        "credentials_may_change",
        "",
        "principal = \"authorization:any\"",
    ),
    (
        "principal_written_by_others",
        "",
        "principal = \"header:X-User\"\nprincipal_trusted = true",
    ),
    ("cookie_may_change", "", "principal = \"cookie:session\""),
    ("absent_key_passes", "", "when_absent = \"pass\""),
    ("replay_on_mismatch", "", "on_mismatch = \"replay\""),
    (
        "content_not_compared",
        "",
        "on_mismatch = \"ignore\"\non_repeat = \"refuse\"",
    ),
    ("target_not_compared", "", "command = { target = false }"),
    (
        "target_not_compared",
        "",
        "command = { target = false }\nmatch = \"POST /{tenant}/{id}\"\n\
         key = [\"header:k\", \"path:id\"]",
    ),
    ("reply_not_kept", "", "keep = { reply = \"none\" }"),
    ("body_kept_in_plain_text", "", "keep = { for = \"25h\" }"),
    (
        "body_kept_in_plain_text",
        "",
        "on_repeat = \"refuse\"\nkeep = { reply = \"full\" }",
    ),
    (
        "key_forgotten_early",
        "",
        "keep = { for = \"1h\", tombstone = \"23h\" }",
    ),
    ("runs_again_after_expiry", "", "after_expiry = \"execute\""),
    (
        "rerun_of_at_most_once",
        "",
        "recovery = { then = \"rerun\" }",
    ),
    (
        "probe_without_reference",
        "",
        "recovery = { then = \"reconcile\", probe = \"GET /v1/pay?key={key}\", \
         probe_unscoped = true, verdicts = [{ status = 200, verdict = \"applied\" }] }",
    ),
    (
        "settled_early",
        "",
        "recovery = { then = \"reconcile\", probe = \"GET /v1/pay?r={reference}\", \
         settle_after = \"59s\", verdicts = [{ status = 200, verdict = \"applied\" }] }",
    ),
    ("failure_assumed", "", "retryable = [404, 503]"),
    ("failure_taken_for_final", "", "final = [408]"),
    (
        "pending_looks_done",
        "",
        "statuses = { outcome_unknown = 409 }",
    ),
    ("pending_looks_done", "", "statuses = { in_progress = 409 }"),
    (
        "pending_looks_done",
        "",
        "on_repeat = \"acknowledge\"\nstatuses = { in_progress = 202 }",
    ),
];

/// Like those, but without the effect.
const HARMLESS: &[(&str, &str)] = &[
    ("", ""),
    ("origin = \"http://127.0.0.1:8788\"", ""),
    ("origin = \"http://[::1]:8788/v1\"", ""),
    ("origin = \"http://localhost\"", ""),
    ("preset = \"ietf\"", "statuses = {}"),
    ("preset = \"stripe\"", "statuses = {}"),
    ("", "on_repeat = \"acknowledge\"\nstatuses = {}"),
    (
        "",
        "while_running = \"conflict\"\nstatuses = { outcome_unknown = 409 }",
    ),
    (
        "",
        "command = { target = false }\nmatch = \"POST /{tenant}/{id}\"\n\
         key = [\"header:k\", \"path:id\"]\nscope = [\"principal\", \"path:tenant\"]",
    ),
    (
        "",
        "command = { target = false }\nmatch = [\"POST /v1/pay\", \"POST /v2/pay\"]",
    ),
    ("", "on_repeat = \"refuse\"\nkeep = { reply = \"none\" }"),
    ("", "keep = { for = \"24h\", tombstone = \"24h\" }"),
    ("", "keep = { for = \"30d\", encrypt = true }"),
    (
        "",
        "keep = { for = \"30d\", reply = \"reference\", fields = [\"/id\"] }",
    ),
    (
        "",
        "effect = \"at_least_once\"\nafter_expiry = \"execute\"\nretryable = [503]",
    ),
    (
        "",
        "effect = \"at_least_once\"\nrecovery = { then = \"rerun\" }",
    ),
    (
        "",
        "recovery = { then = \"hold\" }\nfinal = [501]\nretryable = [505]",
    ),
];

fn quiet(lines: &str) -> String {
    if lines.contains("statuses") {
        pay(lines)
    } else {
        pay(&format!("{QUIET}\n{lines}"))
    }
}

#[test]
fn every_cross_effect_is_warned_of_alone_and_fails_when_strict() {
    for (n, (code, globals, lines)) in CAUSES.iter().enumerate() {
        let folder = Folder::with(&format!("cause-{n}"), &config(globals, &[quiet(lines)]));
        folder.run("policy --strict").is(1);
        assert_eq!(
            folder.read("oncegate.lock"),
            None,
            "{code}: nothing is written"
        );
        folder
            .run("policy")
            .is(0)
            .says(&format!("warning {code}: "));
        let document = folder.run("policy --json").json();
        let warnings = document["warnings"].as_array().expect("a list");
        let codes: Vec<_> = warnings.iter().map(|it| it["code"].clone()).collect();
        assert_eq!(codes, [*code], "{globals}\n{lines}");
    }
}

#[test]
fn what_only_looks_like_it_is_not_warned_of() {
    for (n, (globals, lines)) in HARMLESS.iter().enumerate() {
        let folder = Folder::with(&format!("harmless-{n}"), &config(globals, &[quiet(lines)]));
        folder.run("policy --strict").is(0).says_not("warning");
    }
}

#[test]
fn every_warning_of_the_core_has_its_cause_here_and_its_row_in_the_documents() {
    let core: BTreeSet<&str> = warnings::codes().collect();
    assert_eq!(
        core.len(),
        warnings::codes().count(),
        "one row has one name"
    );
    let causes = CAUSES.iter().map(|(code, ..)| *code);
    let causes: BTreeSet<&str> = causes.chain(["nothing_protected"]).collect();
    assert_eq!(core, causes);
    let page = include_str!("../../docs/operations.md");
    let table = page.split_once("| warning | field |").expect("the table").1;
    let rows = table
        .lines()
        .skip(2)
        .map_while(|row| row.strip_prefix("| `"));
    let documented: BTreeSet<&str> = rows
        .filter_map(|row| Some(row.split_once('`')?.0))
        .collect();
    assert_eq!(core, documented);
}

#[test]
fn a_gate_that_protects_nothing_is_warned_of() {
    let folder = Folder::with("nothing", &config("", &[]));
    folder
        .run("policy --strict")
        .is(1)
        .says("nothing_protected: operations: there is no");
}

#[test]
fn a_warning_is_told_once_with_all_its_operations() {
    let loud = |name: &str| operation(name, &format!("POST /{name}"), "");
    let operations = [
        loud("pay"),
        loud("refund"),
        quiet("match = \"POST /x\"").replace("pay", "q"),
    ];
    let operations =
        operations.map(|it| it.replace("OP_PAY]\nname = \"q\"", "OP_Q]\nname = \"q\""));
    let folder = Folder::with("once", &config("", &operations));
    let told = folder.run("policy");
    told.is(0)
        .says("2 warnings:")
        .says("pending_looks_done: statuses of pay and refund: a repeat");
    assert_eq!(told.out.matches("pending_looks_done").count(), 1);
}
