//! `oncegate explain`: one request under the policy, and which requests are retries of each other.

use oncegate::core::command::{Command, Recipe};
use oncegate::core::identity::Digest;

use crate::{Folder, Outcome, config, operation, pay};

const SECRET: &str = "sk_live_9f8a7b";
pub(crate) const TARGET: &str = "POST /v1/acme/pay";
pub(crate) const JSON: &str = "Content-Type: application/json\n";
pub(crate) const FORM: &str = "Content-Type: application/x-www-form-urlencoded\n";
pub(crate) const TEXT: &str = "Content-Type: text/plain\n";

/// A request with credentials and a key; lines may be put before the others.
pub(crate) fn request(first_line: &str, headers: &str, body: &str) -> String {
    let key = if headers.contains("idempotency-key") {
        ""
    } else {
        "idempotency-key: k-1\r\n"
    };
    let length = body.len();
    let headers = headers.replace('\n', "\r\n");
    format!(
        "{first_line} HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer {SECRET}\r\n{key}{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

fn json(body: &str) -> String {
    request(
        "POST /v1/acme/pay",
        "Content-Type: application/json\n",
        body,
    )
}

fn policy(lines: &str) -> String {
    config("", &[pay(lines), operation("ship", "POST /v1/ship", "")])
}

/// Explains two requests under a policy.
pub(crate) fn pair(test: &str, lines: &str, first: &str, second: &str) -> Outcome {
    let folder = Folder::with(test, &policy(lines));
    folder.write("a.http", first);
    folder.write("b.http", second);
    let outcome = folder.run("explain a.http b.http");
    assert!(!outcome.out.contains(SECRET), "{}", outcome.out);
    outcome
}

#[test]
fn one_request_is_told_with_operation_identity_form_and_fingerprint() {
    let body = r#"{ "b": "é", "a": 10.0 }"#;
    let folder = Folder::with("one", &policy(""));
    folder.write(
        "a.http",
        request(
            "POST /v1/acme/%70ay?y=2&x=1",
            "Content-Type: Application/JSON\n",
            body,
        ),
    );
    let told = folder.run("explain a.http");
    told.is(0)
        .says("a.http: POST /v1/acme/%70ay?y=2&x=1 operation pay identity ");
    told.says("of pay, principal, header:idempotency-key algorithm oncegate-command-1 recipe 1");
    told.says("method POST path /v1/acme/pay query x=1&y=2 media type application/json");
    told.says(r#"body json, 18 bytes {"a":1e1,"b":"é"}"#);
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let command = Command {
        operation: "pay",
        method: "POST",
        path: "/v1/acme/pay",
        query: Some("x=1&y=2"),
        headers: &headers,
        body: body.as_bytes(),
        max_decoded: 1 << 20,
    };
    let fingerprint = Recipe::default().fingerprint(&command).expect("a command");
    told.says(&format!(
        "fingerprint {} raw digest",
        Digest(fingerprint.digest)
    ));
    assert!(!told.out.contains(SECRET));
}

#[test]
fn the_identity_is_the_name_of_the_object_and_depends_on_caller_operation_and_key() {
    let folder = Folder::with("identity", &policy(""));
    let identity = |text: &str| {
        folder.write("a.http", text);
        let told = folder.run("explain a.http");
        let line = told
            .is(0)
            .out
            .lines()
            .find(|line| line.contains("  identity "));
        let name = line.and_then(|line| line.split_whitespace().nth(1));
        name.expect("an identity").to_owned()
    };
    let mine = identity(&json("{}"));
    assert!(
        mine.len() == 52 && mine.bytes().all(|b| b.is_ascii_alphanumeric()),
        "{mine}"
    );
    assert_eq!(mine, identity(&json("{}").replace(": k-1", ": \"k-1\"")));
    assert_eq!(mine, identity(&json("[1]")));
    for other in [
        json("{}").replace(": k-1", ": k-2"),
        json("{}").replace(SECRET, "sk_other"),
        json("{}").replace("/v1/acme/pay", "/v1/ship"),
    ] {
        assert_ne!(mine, identity(&other), "{other}");
    }
}

#[test]
fn what_follows_is_told_as_the_policy_has_it() {
    let (first, second) = (json("1"), json("2"));
    for (lines, says) in [
        (
            "on_mismatch = \"replay\"",
            "different command, same identity: the second gets the answer",
        ),
        (
            "on_mismatch = \"ignore\"\non_repeat = \"refuse\"",
            "different command, same identity, and the content is not compared",
        ),
        (
            "statuses = { key_reused = 422 }",
            "the second is refused with 422 key_reused",
        ),
    ] {
        let told = pair("follows", lines, &first, &second);
        told.is(1).says(says);
    }
    let told = pair("follows", "", &first, &first.replace(": k-1", ": k-2"));
    told.is(1)
        .says("same command, another identity: two operations that do not know each other");
    let told = pair("follows", "", &first, &first.replace("/acme/pay", "/ship"));
    told.is(1)
        .says("different command, another identity")
        .says("operation - pay + ship");
    let told = pair(
        "follows",
        "",
        &first,
        &first.replace("idempotency-key", "x-key"),
    );
    told.is(1).says("same command: not both would be admitted");
}

#[test]
fn a_compressed_body_is_compared_decoded() {
    // gzip of {"a": 1}, and of {"a":1.0} with another level.
    let gzip = |bytes: &[u8]| {
        let mut text = request(
            TARGET,
            "Content-Type: application/json\nContent-Encoding: gzip\n",
            "",
        )
        .replace(
            "Content-Length: 0",
            &format!("Content-Length: {}", bytes.len()),
        )
        .into_bytes();
        text.extend_from_slice(bytes);
        text
    };
    let stored = |text: &[u8], check: u32| {
        let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1];
        let length = u16::try_from(text.len()).expect("short");
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend_from_slice(text);
        bytes.extend(check.to_le_bytes());
        bytes.extend(u32::from(length).to_le_bytes());
        bytes
    };
    let folder = Folder::with("gzip", &policy(""));
    let text = br#"{"a": 1}"#;
    folder.write("a.http", gzip(&stored(text, crc32(text))));
    folder.write("b.http", json(r#"{"a":1.0}"#));
    folder
        .run("explain a.http b.http")
        .is(0)
        .says("same command");
    folder.write("b.http", gzip(&stored(text, 0)));
    folder
        .run("explain b.http")
        .is(1)
        .says("refused: 400 command_malformed");
}

/// The checksum of gzip, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let lowest = sum & 1;
            sum = (sum >> 1) ^ (0xedb8_8320 * lowest);
        }
    }
    !sum
}

#[test]
fn a_request_that_would_be_refused_is_told_with_its_answer() {
    let small = "max_body = \"1KiB\"";
    for (lines, text, says) in [
        (
            "",
            json("{}").replace("idempotency-key: k-1\r\n", ""),
            "refused: 400 key_missing",
        ),
        (
            "statuses = { key_missing = 428 }",
            json("{}").replace(": k-1", ":"),
            "refused: 428 key_m",
        ),
        (
            "",
            json("{}").replace(": k-1", ": a, b"),
            "refused: 400 key_malformed",
        ),
        (
            "",
            json("{}").replace("Authorization", "X-Auth"),
            "refused: 401 principal_missing",
        ),
        (
            "",
            json("{}").replace("Bearer", "DPoP"),
            "refused: 401 principal_unstable",
        ),
        (
            "",
            json(r#"{"a":1,"\u0061":2}"#),
            "command refused: 400 command_malformed; ",
        ),
        ("", json("{"), "at byte 1"),
        (
            small,
            json(&format!("\"{}\"", "x".repeat(1023))),
            "refused: 413 body_too_large; the body",
        ),
        (
            "",
            json("{}").replace("/v1/acme", "/v1//acme"),
            "refused: 400 target_ambiguous",
        ),
    ] {
        let folder = Folder::with("refused", &policy(lines));
        folder.write("a.http", text);
        let told = folder.run("explain a.http");
        told.is(1).says(says);
        assert!(!told.out.contains(SECRET), "{}", told.out);
    }
}

#[test]
fn a_request_without_an_operation_or_a_key_is_told() {
    let folder = Folder::with("unprotected", &policy("when_absent = \"pass\""));
    folder.write("a.http", json("{}").replace("POST", "GET"));
    folder
        .run("explain a.http")
        .is(0)
        .says("no operation: it passes through unprotected");
    folder
        .run("explain a.http a.http")
        .is(1)
        .says("cannot be compared: not both are protected");
    folder.write("b.http", json("{}").replace(": k-1", ":"));
    folder
        .run("explain b.http")
        .is(0)
        .says("identity none: without a key it is bypassed");
    let refusing = config("unmatched = \"refuse\"", &[pay("")]);
    folder.write("wrangler.toml", refusing);
    folder
        .run("explain a.http")
        .is(1)
        .says("refused: 404 target_unmatched");
}

#[test]
fn a_line_break_at_the_end_of_the_file_is_pointed_out_where_it_counts() {
    let folder = Folder::with("break", &policy(""));
    let open = |headers: &str, body: &str| {
        let text = request(TARGET, headers, body);
        text.replace(&format!("Content-Length: {}\r\n", body.len()), "")
    };
    for (headers, body, noted) in [
        (FORM, "a=1\n", true),
        (TEXT, "x\n", true),
        (JSON, "{}\n", false),
        (TEXT, "x", false),
    ] {
        folder.write("a.http", open(headers, body));
        let told = folder.run("explain a.http");
        assert_eq!(
            told.is(0).out.contains("line break"),
            noted,
            "{body:?}\n{}",
            told.out
        );
    }
}

#[test]
fn what_is_printed_cannot_move_a_terminal() {
    let folder = Folder::with("terminal", &policy(""));
    folder.write("a.http", request(TARGET, TEXT, "a\u{1b}[2Jb"));
    let told = folder.run("explain a.http");
    told.is(0).says("a\\u{1b}[2Jb");
    assert!(!told.out.contains('\u{1b}'));
}

#[test]
fn environments_have_policies_of_their_own() {
    let staging = "[env.staging.vars.ONCEGATE]\norigin = \"https://staging.example.com\"\n\
                   [env.staging.vars.ONCEGATE_OP_SHIP]\nname = \"ship\"\n\
                   match = \"POST /v1/acme/pay\"\nprincipal = \"none\"\n";
    let folder = Folder::with("explain-env", &format!("{}\n{staging}", policy("")));
    folder.write("a.http", json("{}"));
    folder
        .run("explain --env staging a.http")
        .is(0)
        .says("operation ship");
    folder.run("explain a.http").is(0).says("operation pay");
}

#[test]
fn files_and_policies_that_cannot_be_used_are_told() {
    let folder = Folder::with("bad-files", &policy(""));
    folder.write("a.http", "{\"a\": 1}");
    folder
        .run("explain a.http")
        .fails("a.http is no HTTP request: line 1: must be a method");
    folder
        .run("explain none.http")
        .fails("cannot read none.http: ");
    folder
        .run("explain")
        .fails("explain takes one file with a request, or two");
    folder
        .run("explain a b c")
        .fails("explain takes one file with a request, or two");
    folder.run("explain --strict a.http").fails("--strict");
    folder.write("wrangler.toml", policy("lease = \"1s\""));
    folder
        .run("explain a.http")
        .fails("the policy is not valid:\n  ONCEGATE_OP_PAY.lease: ");
    folder
        .run("explain --help")
        .is(0)
        .says("usage: oncegate explain [options] A.http [B.http]");
}
