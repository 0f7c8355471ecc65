//! Request targets: what is protected, what is ambiguous, what passes, and which patterns collide.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test fail it this way"
)]

use oncegate::core::policy::{Found, Guarded, Origin, Route, Unmatched, normalise};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

fn guard(routes: &[&str]) -> Guarded {
    let routes = routes.iter().map(|text| route(text)).collect();
    Guarded {
        origin: Origin::Service("ORIGIN".to_owned()),
        unmatched: Unmatched::Pass,
        routes,
    }
}

fn route(text: &str) -> Route {
    Route::parse(text).expect(text)
}

#[track_caller]
fn params(guard: &Guarded, path: &str) -> Vec<(String, String)> {
    let Found::Operation((), params) = guard.find("POST", path) else {
        panic!("{path} is not the operation");
    };
    params
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn equivalent_spellings_are_the_operation() {
    let guard = guard(&["POST /v1/payments", "POST /v1/café/a:b", "POST /"]);
    for path in [
        "/v1/payments",
        "/v1/%70ayments",
        "/%76%31/%70%61yments",
        "/v1/caf%c3%a9/a:b",
        "/v1/caf%C3%A9/%61:b",
        "/v1/café/a:b",
        "/",
    ] {
        assert!(
            matches!(guard.find("POST", path), Found::Operation((), _)),
            "{path}"
        );
    }
}

#[test]
fn other_spellings_of_a_protected_target_are_ambiguous() {
    let guard = guard(&[
        "POST /v1/payments",
        "POST /v1/payments/{id}/capture",
        "POST /v1/a:b",
        "POST /",
    ]);
    for path in [
        // Slashes too many.
        "//v1/payments",
        "/v1//payments",
        "/v1/payments/",
        "/v1/payments//",
        "///v1///payments///",
        "/v1/payments/p1/capture/",
        "/v1/payments//p1/capture",
        // Path parameters.
        "/v1/payments;",
        "/v1/payments;v=1",
        "/v1;v=1/payments",
        "/v1/;x/payments",
        "/;/v1/payments",
        "/v1/payments;a/",
        "/v1/payments/p1;x/capture;y",
        "/v1/payments%3B",
        "/v1/payments%3Bx=1",
        // Backslashes.
        "/v1\\payments",
        "\\v1\\payments",
        "/v1/payments\\",
        "/v1%5Cpayments",
        "/v1%5cpayments",
        "/v1/payments/p1%5Ccapture",
        // Escaped slashes.
        "/v1%2Fpayments",
        "/v1%2fpayments",
        "%2Fv1%2Fpayments",
        "/%2Fv1/payments",
        "/v1/payments%2F",
        "/v1/payments/p1%2Fcapture",
        // Dot segments, and what servers make of them together with the rest.
        "/v1/./payments",
        "/./v1/payments",
        "/v1/payments/.",
        "/../v1/payments",
        "/v1/payments/x/..",
        "/v1/%2e/payments",
        "/v1/%2E/payments",
        "/v1/x/../payments",
        "/v1/x/%2e%2e/payments",
        "/v1/x/.%2e/payments",
        "/v1/x%2F..%2Fpayments",
        "/x%2f..%2fv1/payments",
        "/v1/x/..;/payments",
        "/v1//..%2Fpayments",
        "/v1/;/..%2Fpayments",
        "/v1/a\\b/..%2Fpayments",
        // Escapes of escapes.
        "/v1/%2570ayments",
        "/v1/%25%37%30ayments",
        "/v1/%%370ayments",
        "/v1/%252e/payments",
        "/v1%252Fpayments",
        "/v1/payments%25252F",
        // Escapes of what needs none.
        "/v1/a%3Ab",
        "/v1/a%3ab/",
        // What some servers drop.
        "/v1/payments%00",
        "/v1/payments%20",
        "/v1/payments ",
        "/v1/payments%09",
        "/v1/pay%0Aments",
        "/v1/payments%3Fx=1",
        "/v1/payments%23x",
        // No slash to start with, or nothing but.
        "v1/payments",
        "",
        "//",
        "/.",
        "/;x",
    ] {
        assert_eq!(guard.find("POST", path), Found::Ambiguous, "{path}");
        assert_eq!(
            guard.find("PUT", path),
            Found::Unmatched,
            "{path} by another method"
        );
    }
}

#[test]
fn other_targets_and_methods_are_unmatched() {
    let guard = guard(&["POST /v1/payments", "POST /v1/payments/{id}/capture"]);
    for path in [
        "/",
        "/v1",
        "/v1/payment",
        "/v1/paymentss",
        "/v1/paymentss/",
        "/V1/payments",
        "/v1/Payments",
        "/v1/%50ayments",
        "/v2//payments/",
        "/v1/payments/p1",
        "/v1/payments//capture",
        "/v1/payments/../capture",
        "/v1/payments/a/b/capture",
        "/x/v1/payments",
        "/v1/pay;ments",
        "/v1/refunds/../disputes",
        "/v1/x/..",
        "/v1/%zzpayments",
        "/v1/payments%",
        "*",
    ] {
        assert_eq!(guard.find("POST", path), Found::Unmatched, "{path}");
    }
    for method in [
        "GET", "HEAD", "post", "Post", "PUT", "", "POST ", "PROPFIND",
    ] {
        assert_eq!(
            guard.find(method, "/v1/payments"),
            Found::Unmatched,
            "{method}"
        );
    }
}

#[test]
fn a_parameter_takes_one_whole_segment_and_keeps_its_value_apart() {
    let guard = guard(&["POST /v1/{customer}/orders/{order_id}"]);
    let pair = |c: &str, o: &str| {
        vec![
            ("customer".to_owned(), c.to_owned()),
            ("order_id".to_owned(), o.to_owned()),
        ]
    };
    assert_eq!(params(&guard, "/v1/c1/orders/42"), pair("c1", "42"));
    assert_eq!(params(&guard, "/v1/c:1/orders/%34%32"), pair("c%3A1", "42"));
    assert_eq!(
        params(&guard, "/v1/c%3a1/orders/a%2fb"),
        pair("c%3A1", "a%2Fb")
    );
    assert_eq!(params(&guard, "/v1/é/orders/a;b"), pair("%C3%A9", "a%3Bb"));
    assert_eq!(
        params(&guard, "/v1/100%25/orders/100%"),
        pair("100%25", "100%25")
    );
    for path in [
        "/v1//orders/42",
        "/v1/c1/orders/",
        "/v1/c1/orders",
        "/v1/c1/orders/..",
    ] {
        assert_eq!(guard.find("POST", path), Found::Unmatched, "{path}");
    }
}

#[test]
fn a_trailing_slash_can_be_part_of_a_pattern() {
    let slash = guard(&["POST /v1/payments/"]);
    assert!(matches!(
        slash.find("POST", "/v1/payments/"),
        Found::Operation(..)
    ));
    assert_eq!(slash.find("POST", "/v1/payments"), Found::Ambiguous);
    assert_eq!(slash.find("POST", "/v1/payments//"), Found::Ambiguous);
    let both = guard(&["POST /v1/payments/", "POST /v1/payments"]);
    assert!(matches!(
        both.find("POST", "/v1/payments"),
        Found::Operation(..)
    ));
    assert!(matches!(
        both.find("POST", "/v1/payments/"),
        Found::Operation(..)
    ));
}

#[test]
fn patterns_that_one_request_could_match_overlap() {
    for (a, b, overlaps, collides) in [
        ("POST /a", "POST /a", true, true),
        ("POST /a", "PUT /a", false, false),
        ("POST /a", "POST /b", false, false),
        ("POST /a", "POST /A", false, false),
        ("POST /a", "POST /%61", true, true),
        ("POST /a", "POST /a/", false, true),
        ("POST /a", "POST /a/b", false, false),
        ("POST /{x}", "POST /a", true, true),
        ("POST /{x}", "POST /{y}", true, true),
        ("POST /{x}", "POST /", false, false),
        ("POST /a/{x}", "POST /{y}/b", true, true),
        ("POST /a/{x}/c", "POST /{y}/b/c", true, true),
        ("POST /a/{x}/c", "POST /{y}/b/d", false, false),
        ("POST /a/{x}", "POST /a/", false, false),
        ("POST /a/{x}/", "POST /a/b", false, true),
        ("POST /a:b", "POST /a%3Ab", false, true),
        ("POST /é", "POST /%c3%a9", true, true),
    ] {
        let (first, second) = (route(a), route(b));
        for (one, other) in [(&first, &second), (&second, &first)] {
            assert_eq!(one.overlaps(other), overlaps, "{one} and {other}");
            assert_eq!(
                one.collides(other),
                collides,
                "{one} and {other}, any spelling"
            );
        }
    }
}

#[test]
fn a_pattern_that_could_not_be_matched_or_told_apart_is_refused() {
    for (text, why) in [
        ("", "one space"),
        ("/v1/payments", "one space"),
        ("POST", "one space"),
        ("POST  /v1", "must start with"),
        ("POST v1", "must start with"),
        ("POST https://a.example/v1", "must start with"),
        (" /v1", "HTTP method"),
        ("PO(ST /v1", "HTTP method"),
        ("post /v1", "write POST"),
        ("Delete /v1", "write DELETE"),
        ("TRACE /v1", "cannot be forwarded"),
        ("connect /v1", "cannot be forwarded"),
        ("POST /v1?x=1", "query"),
        ("POST /v1#x", "query"),
        ("POST //v1", "empty segment"),
        ("POST /v1//x", "empty segment"),
        ("POST /v1 ", "white space"),
        ("POST /v1/a b", "white space"),
        ("POST /v1/a%20b", "white space"),
        ("POST /v1/a%00b", "control"),
        ("POST /v1/a;b", "ambiguous"),
        ("POST /v1/a%3Bb", "ambiguous"),
        ("POST /v1/a\\b", "ambiguous"),
        ("POST /v1/a%5cb", "ambiguous"),
        ("POST /v1/a%2fb", "ambiguous"),
        ("POST /v1/%2570", "ambiguous"),
        ("POST /v1/%zz", "ambiguous"),
        ("POST /v1/./a", "ambiguous"),
        ("POST /v1/%2e%2E", "ambiguous"),
        ("POST /v1/{}", "name in braces"),
        ("POST /v1/{1a}", "name in braces"),
        ("POST /v1/{a-b}", "name in braces"),
        ("POST /v1/{a}{b}", "name in braces"),
        ("POST /v1/x{a}", "whole segment"),
        ("POST /v1/{a}.json", "whole segment"),
        ("POST /v1/{a", "whole segment"),
        ("POST /v1/a}", "whole segment"),
        ("POST /{a}/{b}/{a}", "twice"),
        ("GET /.well-known/idempotency", "the gate itself"),
        (
            "GET /.well-known/idempotency/status/{operation}",
            "the gate itself",
        ),
        ("POST /.oncegate/x", "the gate itself"),
        ("POST /%2Eoncegate/x", "the gate itself"),
    ] {
        let fault = Route::parse(text).expect_err(text);
        assert!(fault.contains(why), "{text}: {fault}");
    }
}

#[test]
fn a_pattern_is_shown_as_it_was_written() {
    let shown = route("PROPFIND /v1/{id}/caf%c3%a9/");
    assert_eq!(shown.to_string(), "PROPFIND /v1/{id}/caf%c3%a9/");
    assert!(shown.has_param("id") && !shown.has_param("caf"));
}

/// Ways to write a byte that a server may undo.
fn spelt(byte: u8) -> impl Strategy<Value = String> {
    prop_oneof![
        Just(char::from(byte).to_string()),
        Just(format!("%{byte:02x}")),
        Just(format!("%{byte:02X}")),
        Just(format!("%25{byte:02x}")),
    ]
}

proptest! {
    #[test]
    fn no_spelling_of_a_protected_target_passes(
        letters in b"/v1/payments".map(spelt),
        noise in prop_oneof![Just(""), Just("/"), Just(";x"), Just("%2f"), Just("/."), Just("%00")],
    ) {
        let path = format!("{}{noise}", letters.concat());
        assert_ne!(guard(&["POST /v1/payments"]).find("POST", &path), Found::Unmatched, "{path}");
    }

    #[test]
    fn the_normal_form_of_any_text_is_normal_and_finds_the_same(
        path in prop_oneof![any::<String>(), "[/%;.a-f0-9 {}\\\\é]{0,12}"],
    ) {
        let guard = guard(&["POST /v1/payments", "POST /{a}/{b}", "POST /"]);
        let normal = normalise(&path);
        assert!(normal.is_ascii());
        assert_eq!(normalise(&normal), normal);
        assert_eq!(guard.find("POST", &normal), guard.find("POST", &path));
        let below = format!("/{path}/{path}");
        assert_eq!(guard.find("POST", &normalise(&below)), guard.find("POST", &below));
    }
}
