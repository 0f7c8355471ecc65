//! Pairs of requests: the same command however it is spelt, and every place of another one.

use crate::explain::{FORM, JSON, TARGET, TEXT, pair, request};

const FILES: &str = "Content-Type: multipart/form-data; boundary=q\n";
const ONE_PART: &str = "--q\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--q--\r\n";
const ONE_PART_OTHERWISE: &str = "--zz\r\ncontent-disposition: form-data;name=a\r\n\r\n1\r\n--zz--";
const TWO_PARTS: &str = "--q\r\n\
    Content-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n2\r\n--q\r\n\
    Content-Disposition: form-data; name=\"b\"\r\n\r\n\r\n--q--\r\n";

/// The policy lines, what is sent first and second (method, target, headers, body).
type Sent<'a> = (&'a str, &'a str, &'a str);
const RECIPE: &str = "[vars.ONCEGATE_OP_PAY.command]
headers = [\"X-Mode\"]
query = [\"mode\"]
ignore = [\"/sent\"]
decimals = [\"/amount\"]
casefold = [\"/currency\"]
defaults = { \"/channel\" = \"web\" }
timestamps = { \"/at\" = \"second\" }";

const SAME: &[(&str, Sent<'_>, Sent<'_>)] = &[
    (
        "",
        (TARGET, JSON, r#"{"a":1,"b":[1,2]}"#),
        (TARGET, JSON, " {\"b\":[1.0,2e0],\n\"a\":1}"),
    ),
    (
        "",
        (TARGET, JSON, "{}"),
        (
            TARGET,
            "Content-Type: Application/json;charset=utf-8\n",
            "{ }",
        ),
    ),
    ("", (TARGET, JSON, ""), (TARGET, TEXT, "")),
    (
        "",
        (TARGET, JSON, "{}"),
        (
            TARGET,
            "Content-Type: application/json\nTraceparent: 1\n",
            "{}",
        ),
    ),
    (
        "",
        ("POST /v1/acme/pay?a=1&b=2", TEXT, "x"),
        ("POST /v1/acme/%70ay?b=2&a=1", TEXT, "x"),
    ),
    (
        "",
        (TARGET, FORM, "a=1&b=x+y"),
        (TARGET, FORM, "b=x%20y&a=1"),
    ),
    ("", (TARGET, TEXT, "x\n"), (TARGET, TEXT, "x\n")),
    (
        "",
        (TARGET, FILES, ONE_PART),
        (
            TARGET,
            "Content-Type: multipart/form-data; boundary=\"zz\"\n",
            ONE_PART_OTHERWISE,
        ),
    ),
    (
        RECIPE,
        (
            "POST /v1/acme/pay?mode=a&other=1",
            "Content-Type: application/json\nX-Mode: m\n",
            r#"{"amount":"10.0","currency":"eur","sent":1,"at":"2026-01-01T00:00:00Z"}"#,
        ),
        (
            "POST /v1/acme/pay?other=2&mode=a",
            "Content-Type: application/json\nX-Mode: m\n",
            r#"{"at":"2026-01-01T01:00:00.7+01:00","amount":"10.00","currency":"EUR",
                "channel":"web"}"#,
        ),
    ),
];

#[test]
fn a_retry_is_recognised_whatever_its_spelling() {
    for (n, (lines, first, second)) in SAME.iter().enumerate() {
        let [first, second] =
            [first, second].map(|(line, headers, body)| request(line, headers, body));
        let told = pair(&format!("same-{n}"), lines, &first, &second);
        told.is(0)
            .says("same command, same identity: the second is a retry of the first");
    }
}

/// As above, and the differences that are told: place, first, second.
type Told<'a> = &'a [(&'a str, &'a str, &'a str)];
const ABSENT: &str = "(absent)";
const DIFFERENT: &[(&str, Sent<'_>, Sent<'_>, Told<'_>)] = &[
    (
        "",
        (
            TARGET,
            JSON,
            r#"{"amount":"10.00","items":[{"p":1},2],"gone":null}"#,
        ),
        (
            TARGET,
            JSON,
            r#"{"items":[{"p":1.5},2,[]],"amount":"100.00","x~/y":true}"#,
        ),
        &[
            ("body /amount", r#""10.00""#, r#""100.00""#),
            ("body /gone", "null", ABSENT),
            ("body /items/0/p", "1", "15e-1"),
            ("body /items/2", ABSENT, "[]"),
            ("body /x~0~1y", ABSENT, "true"),
        ],
    ),
    (
        "",
        (TARGET, JSON, "9007199254740993"),
        (TARGET, JSON, "9007199254740992"),
        &[("body", "9007199254740993", "9007199254740992")],
    ),
    (
        "",
        (TARGET, JSON, "[]"),
        (TARGET, JSON, "{}"),
        &[("body", "[]", "{}")],
    ),
    (
        "match = [\"POST /v1/acme/pay\", \"PUT /v2/acme/pay\"]",
        (TARGET, JSON, "{}"),
        ("PUT /v2/acme/pay", JSON, "{}"),
        &[
            ("method", "POST", "PUT"),
            ("path", "/v1/acme/pay", "/v2/acme/pay"),
        ],
    ),
    (
        "",
        ("POST /v1/acme/pay?a=1&b=2&b=3", JSON, "{}"),
        ("POST /v1/acme/pay?b=3&b=2&c", JSON, "{}"),
        &[
            ("query a", "1", ABSENT),
            ("query b", "2, 3", "3, 2"),
            ("query c", ABSENT, ""),
        ],
    ),
    (
        "",
        (TARGET, JSON, "1"),
        (
            TARGET,
            "Content-Type: application/vnd.acme+json; v=2\n",
            "1",
        ),
        &[(
            "media type",
            "application/json",
            r#"application/vnd.acme+json;v="2""#,
        )],
    ),
    (
        RECIPE,
        (TARGET, "Content-Type: application/json\nX-Mode: m\n", "{}"),
        (TARGET, JSON, "{}"),
        &[("header x-mode", "m", ABSENT)],
    ),
    (
        "",
        (TARGET, FORM, "a=1&b=2&b=3&c=4"),
        (TARGET, FORM, "c=4&b=3&b=2&d=%C3%A9"),
        &[
            ("body a", "1", ABSENT),
            ("body b", "2, 3", "3, 2"),
            ("body d", ABSENT, "%C3%A9"),
        ],
    ),
    (
        "",
        (TARGET, TEXT, "line one\n"),
        (TARGET, TEXT, "line two\n"),
        &[("body from byte 5", "9 bytes, one\\n", "9 bytes, two\\n")],
    ),
    (
        "",
        (TARGET, JSON, "1"),
        (TARGET, TEXT, "1"),
        &[
            ("media type", "application/json", "text/plain"),
            ("body kind", "json", "bytes"),
        ],
    ),
    (
        "",
        (TARGET, FILES, ONE_PART),
        (TARGET, FILES, TWO_PARTS),
        &[
            ("body part 1, file name", ABSENT, "f"),
            ("body part 1, content", "1", "2"),
            ("body part 2", ABSENT, "b"),
        ],
    ),
];

#[test]
fn every_place_at_which_two_commands_differ_is_told() {
    for (n, (lines, first, second, places)) in DIFFERENT.iter().enumerate() {
        let [first, second] =
            [first, second].map(|(line, headers, body)| request(line, headers, body));
        let told = pair(&format!("different-{n}"), lines, &first, &second);
        told.is(1)
            .says("different command, same identity: the second is refused with 409 key_reused");
        let (_, found) = told.out.split_once("key_reused\n").expect("the places");
        let expected: String = places
            .iter()
            .map(|(place, first, second)| format!("  {place}\n    - {first}\n    + {second}\n"))
            .collect();
        assert_eq!(found, expected);
    }
}
