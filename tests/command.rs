//! What of a request is the command: its parts, and what every rule of a recipe means.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod command_request;

use command_request::*;
use oncegate::core::command::echo;
use oncegate::core::command::{JsonText, Precision, QueryRule, Recipe, may_be_semantic, sha256};

#[test]
fn every_part_of_the_identity_of_a_command_counts() {
    let recipe = Recipe::default();
    let pay = Request::json(PAY);
    different(
        &recipe,
        &pay,
        &Request {
            operation: "refund",
            ..pay.clone()
        },
    );
    different(
        &recipe,
        &pay,
        &Request {
            method: "PUT",
            ..pay.clone()
        },
    );
    different(
        &recipe,
        &pay,
        &Request {
            path: "/v1/payments/1",
            ..pay.clone()
        },
    );
    different(&recipe, &pay, &pay.clone().query("dry_run=1"));
    different(
        &recipe,
        &pay,
        &pay.clone().with("content-type", "text/plain"),
    );
    different(&recipe, &pay, &pay.clone().without("content-type"));
    same(&recipe, &pay, &pay.clone().query(""));
    same(
        &recipe,
        &pay,
        &pay.clone()
            .with("content-type", "Application/JSON;charset=UTF-8"),
    );
}

#[test]
fn transport_metadata_never_counts() {
    let recipe = Recipe::default();
    let pay = Request::json(PAY);
    for name in [
        "authorization",
        "cookie",
        "idempotency-key",
        "accept",
        "user-agent",
        "traceparent",
    ] {
        same(&recipe, &pay, &pay.clone().with(name, "x"));
    }
    for name in [
        "authorization",
        "cookie",
        "accept",
        "content-type",
        "x-forwarded-for",
        "cf-ray",
    ] {
        assert!(!may_be_semantic(name), "{name}");
    }
    assert!(may_be_semantic("acting-account") && may_be_semantic("upload-concat"));
}

#[test]
fn a_target_can_be_left_out_for_several_paths_of_one_operation() {
    let recipe = Recipe {
        target: false,
        ..Recipe::default()
    };
    let pay = Request::json(PAY);
    same(
        &recipe,
        &pay,
        &Request {
            path: "/v2/payments",
            method: "PUT",
            ..pay.clone()
        },
    );
    different(&recipe, &pay, &pay.clone().query("a=1"));
}

#[test]
fn the_query_counts_as_the_recipe_says() {
    let names = Recipe {
        query: QueryRule::Names(vec!["id".into()]),
        ..Recipe::default()
    };
    let none = Recipe {
        query: QueryRule::None,
        ..Recipe::default()
    };
    let pixel = Request::new("", "").without("content-type");
    let (a, b) = (
        pixel.clone().query("id=imp_9&cb=149"),
        pixel.clone().query("cb=150&i%64=imp_9"),
    );
    different(&Recipe::default(), &a, &b);
    same(&names, &a, &b);
    different(&names, &a, &pixel.clone().query("id=imp_8&cb=149"));
    same(&none, &a, &pixel);
    same(
        &Recipe::default(),
        &a,
        &pixel.clone().query("cb=149&id=imp_9"),
    );
}

#[test]
fn semantic_headers_count_and_an_absent_one_is_not_an_empty_one() {
    let recipe = Recipe {
        headers: vec!["upload-concat".into(), "account".into()],
        ..Recipe::default()
    };
    let files = Request::new("", "").with("upload-concat", "final;/files/a /files/b");
    same(
        &recipe,
        &files,
        &files
            .clone()
            .with("upload-concat", "  final;/files/a /files/b "),
    );
    different(
        &recipe,
        &files,
        &files.clone().with("upload-concat", "final;/files/c"),
    );
    different(&recipe, &files, &files.clone().with("account", ""));
    same(
        &Recipe::default(),
        &files,
        &files.clone().with("account", "a"),
    );
}

#[test]
fn a_rule_on_a_value_of_the_wrong_type_leaves_it_exact() {
    let recipe = Recipe {
        decimals: pointers(&["/a", "/b"]),
        casefold: pointers(&["/a", "/c"]),
        timestamps: vec![(pointers(&["/a"]).remove(0), Precision::Second)],
        ..Recipe::default()
    };
    let canonical = |body: &str| {
        let request = Request::json(body);
        let command = request.command();
        let mut out = Vec::new();
        recipe.canonical(&command).unwrap().body.write(&mut out);
        String::from_utf8(out).unwrap()
    };
    for (source, expected) in [
        (r#"{"a":"10.0"}"#, r#"{"a":"1e1"}"#),
        (r#"{"a":10.0}"#, r#"{"a":1e1}"#),
        (
            r#"{"a":"2026-01-01T00:00:00.5+00:00"}"#,
            r#"{"a":"2026-01-01T00:00:00Z"}"#,
        ),
        (r#"{"a":"2026-01-01 ABC"}"#, r#"{"a":"2026-01-01 abc"}"#),
        (
            r#"{"a":["10.0"],"b":{"c":"10.0"},"c":null}"#,
            r#"{"a":["10.0"],"b":{"c":"10.0"},"c":null}"#,
        ),
        (r#"{"b":"010.0"}"#, r#"{"b":"010.0"}"#),
        (r#"{"b":" 10.0"}"#, r#"{"b":" 10.0"}"#),
        (r#"{"c":"A\u0041\u000AÄ"}"#, r#"{"c":"aa\nÄ"}"#),
        (r#"["10.0"]"#, r#"["10.0"]"#),
    ] {
        assert_eq!(canonical(source), expected, "{source}");
    }
}

#[test]
fn rules_speak_of_the_fields_of_every_kind_of_form() {
    let recipe = Recipe {
        ignore: pointers(&["/attempt"]),
        decimals: pointers(&["/amount"]),
        casefold: pointers(&["/currency"]),
        defaults: vec![(
            pointers(&["/channel"]).remove(0),
            JsonText::parse("\"web\"").unwrap(),
        )],
        timestamps: vec![(pointers(&["/at"]).remove(0), Precision::Second)],
        ..Recipe::default()
    };
    let a = "attempt=1&amount=10.0&currency=EUR&at=2026-01-01T01:00:00%2B01:00";
    let b = "attempt=2&channel=web&currency=eur&amount=10.00&at=2026-01-01T00:00:00.9Z";
    let c = "attempt=2&channel=app&currency=eur&amount=10.00&at=2026-01-01T00:00:00.9Z";
    let forms = |text: &str| Request::new(FORM, text);
    same(&recipe, &forms(a), &forms(b));
    different(&recipe, &forms(a), &forms(c));
    let query = |text: &'static str| Request::new("", "").query(text);
    same(&recipe, &query(a), &query(b));
    different(&recipe, &query(a), &query(c));
    let parts = |pairs: &[(&str, &str)]| {
        let head = |name: &str| format!("Content-Disposition: form-data; name=\"{name}\"");
        let heads: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (head(name), value))
            .collect();
        let parts: Vec<_> = heads
            .iter()
            .map(|(head, value)| (head.as_str(), value.as_bytes()))
            .collect();
        form(&parts, "b")
    };
    let a = [("attempt", "1"), ("amount", "10.0"), ("currency", "EUR")];
    let b = [
        ("amount", "10.00"),
        ("channel", "web"),
        ("currency", "eur"),
        ("attempt", "2"),
    ];
    let c = [
        ("amount", "10.00"),
        ("channel", "web"),
        ("channel", "web"),
        ("currency", "eur"),
    ];
    same(&recipe, &parts(&a), &parts(&b));
    different(&recipe, &parts(&a), &parts(&c));
}

#[test]
fn volatile_members_do_not_count_and_new_ones_do() {
    let recipe = Recipe {
        ignore: pointers(&["/sdkData/createdAt", "/checkoutAttemptId"]),
        ..Recipe::default()
    };
    let r1 =
        Request::json(r#"{"amount":1,"sdkData":{"createdAt":1,"v":1},"checkoutAttemptId":"a"}"#);
    let r2 = Request::json(r#"{"amount":1,"sdkData":{"createdAt":2,"v":1}}"#);
    let r3 = Request::json(r#"{"amount":1,"sdkData":{"createdAt":1,"v":1},"metadata":{"note":1}}"#);
    same(&recipe, &r1, &r2);
    different(&recipe, &r1, &r3);
}

#[test]
fn a_fault_names_its_place_and_no_value() {
    let recipe = Recipe::default();
    let secret = Request::json(r#"{"card":"4111111111111111","card":"5555555555554444"}"#);
    assert_eq!(
        secret.fault(&recipe),
        "the JSON body has a duplicate member name at byte 27"
    );
}

#[test]
fn an_echoed_value_comes_from_the_retry_and_everything_else_is_byte_exact() {
    let recipe = Recipe {
        echo: pointers(&["/id", "/params/token"]),
        ..Recipe::default()
    };
    let r1 = Request::json(r#"{"jsonrpc":"2.0","id":7,"method":"pay","params":{"token":"a"}}"#);
    let r2 = Request::json(
        r#"{"params":{"token" : "b\u0022"},"method":"pay","id": 8e0 ,"jsonrpc":"2.0"}"#,
    );
    same(&recipe, &r1, &r2);
    let stored = b"\r\n{ \"jsonrpc\":\"2.0\" , \"id\" :\t7 ,\"result\":{\"id\":7,\"x\":1.0}}\n";
    let echoes = echo::values(&recipe, &r2.command());
    let expected = b"\r\n{ \"jsonrpc\":\"2.0\" , \"id\" :\t8e0 ,\"result\":{\"id\":7,\"x\":1.0}}\n";
    assert_eq!(echo::patch(stored, &echoes), expected);
    let nested = br#"{"params":{"token":{"deep":[1]}},"id":null}"#;
    let expected = br#"{"params":{"token":"b\u0022"},"id":8e0}"#;
    assert_eq!(echo::patch(nested, &echoes), expected);
    for reply in [
        &b"not json"[..],
        b"",
        b"[7]",
        b"{\"ID\":7}",
        b"{\"id\":1,\"id\":2}",
        b"\xff",
    ] {
        assert_eq!(echo::patch(reply, &echoes), reply);
    }
}

#[test]
fn echoes_follow_wildcards_by_position_and_come_from_forms_as_strings() {
    let recipe = Recipe {
        echo: pointers(&["/*/id", "/a~1b"]),
        ..Recipe::default()
    };
    let batch = Request::json(r#"[{"id":1},{"id":"x"},{"n":3}]"#);
    let echoes = echo::values(&recipe, &batch.command());
    let reply = br#"[{"id":9},{"id":9},{"id":9}]"#;
    assert_eq!(
        echo::patch(reply, &echoes),
        br#"[{"id":1},{"id":"x"},{"id":9}]"#
    );
    let fields = Request::new(FORM, "a%2Fb=%22q%22&c=1");
    let echoes = echo::values(&recipe, &fields.command());
    let [echo] = echoes.as_slice() else {
        panic!("one echo: {echoes:?}")
    };
    assert_eq!(
        (echo.pointer.as_str(), &echo.value[..]),
        ("/a~1b", &b"\"\\\"q\\\"\""[..])
    );
    assert_eq!(echo::patch(br#"{"a/b":0}"#, &echoes), br#"{"a/b":"\"q\""}"#);
    let name = "Content-Disposition: form-data; name=\"a/b\"";
    let file = name.replace("\"a/b\"", "\"a/b\"; filename=x");
    let multipart = form(&[(&file, b"no"), (name, b"\"q\"")], "x");
    assert_eq!(echo::values(&recipe, &multipart.command()), echoes);
    let query = Request::new("", "").query("c=1&a/b=%22q%22&a/b=2");
    assert_eq!(echo::values(&recipe, &query.command()), echoes);
    assert!(echo::values(&Recipe::default(), &batch.command()).is_empty());
    assert!(echo::values(&recipe, &Request::json("[").command()).is_empty());
}

#[test]
fn a_batch_of_many_echoes_is_patched_in_one_go() {
    let recipe = Recipe {
        echo: pointers(&["/*/id"]),
        ..Recipe::default()
    };
    let batch = |from: usize| {
        let calls: Vec<_> = (0..50_000)
            .map(|n| format!("{{\"id\":{}}}", from + n))
            .collect();
        format!("[{}]", calls.join(","))
    };
    let request = Request::json(batch(70_000));
    let echoes = echo::values(&recipe, &request.command());
    let patched = echo::patch(batch(10_000).as_bytes(), &echoes);
    assert!(patched == batch(70_000).as_bytes());
}

#[test]
fn the_body_is_never_changed_by_looking_at_it() {
    let recipe = Recipe {
        ignore: pointers(&["/amount"]),
        ..Recipe::default()
    };
    let request = Request::json(PAY);
    let before = sha256(&request.body);
    request.fingerprint(&recipe);
    assert_eq!(sha256(&request.body), before);
}
