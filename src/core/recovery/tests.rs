//! Tests of the reading of probes.

use super::*;
use serde_json::json;

const REFERENCE: &str = "og_abc.0000000000000001";

fn rule(statuses: &[u16], pointer: Option<&str>, test: Test, ruling: Ruling) -> Rule {
    let pointer = pointer.map(|pointer| Pointer::parse(pointer).unwrap());
    Rule {
        statuses: statuses.to_vec(),
        pointer,
        test,
        ruling,
    }
}

fn reconcile() -> Reconcile {
    let one_of = |values: &[&str]| Test::OneOf(values.iter().map(|it| json!(it)).collect());
    let status = Some("/data/0/status");
    Reconcile {
        probe: Template::parse("/v1/payments?reference={reference}&for={path.id}").unwrap(),
        confirm: vec![(
            Pointer::parse("/data/0/reference").unwrap(),
            Template::parse("{reference}").unwrap(),
        )],
        settle_after: Span::seconds(60),
        schedule: vec![Span::seconds(2), Span::seconds(5)],
        escalate_after: Span::seconds(3_600),
        verdicts: vec![
            rule(&[200], Some("/data"), Test::Length(0), Ruling::NotApplied),
            rule(
                &[200],
                status,
                one_of(&["created", "captured"]),
                Ruling::Applied,
            ),
            rule(&[200], status, one_of(&["refused"]), Ruling::Failed),
            rule(&[200], status, one_of(&["working"]), Ruling::Pending),
            rule(&[404], None, Test::Exists, Ruling::NotApplied),
        ],
        reply_pointer: Some(Pointer::parse("/data/0").unwrap()),
        reply_status: 201,
        failed_status: 422,
    }
}

fn found(status: u16, body: &str) -> Finding {
    reconcile().read(status, body.as_bytes(), REFERENCE, &[])
}

#[test]
fn an_answer_is_read_by_the_first_rule_that_matches() {
    let ours = |status: &str| {
        format!(
            "{{\"data\":[ {{\"reference\":\"{REFERENCE}\",\"status\":\"{status}\",\"n\":1.10}} ]}}"
        )
    };
    let Finding::Applied(receipt) = found(200, &ours("created")) else {
        panic!("a receipt")
    };
    let Body::Whole(body) = receipt.body else {
        panic!("a body")
    };
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert_eq!(receipt.status, 201);
    assert!(
        body.starts_with("{\"reference\"") && body.contains("1.10"),
        "{body}"
    );
    assert!(matches!(
        found(200, &ours("refused")),
        Finding::Failed(Reply { status: 422, .. })
    ));
    assert_eq!(found(200, &ours("working")), Finding::Pending);
    assert_eq!(found(200, "{\"data\":[]}"), Finding::NotApplied);
    assert_eq!(found(404, "nothing here"), Finding::NotApplied);
}

#[test]
fn what_no_rule_matches_or_what_is_not_ours_is_no_verdict() {
    let two = format!(
        "{{\"data\":[{{\"reference\":\"{REFERENCE}\",\"status\":\"created\"}},{{\"status\":\"created\"}}]}}"
    );
    for (status, body) in [
        (200, two.as_str()),
        (
            200,
            "{\"data\":[{\"reference\":\"og_other\",\"status\":\"created\"}]}",
        ),
        (200, "{\"data\":[{\"status\":\"created\"}]}"),
        (200, "{\"data\":[{\"status\":7}]}"),
        (200, "{\"data\":"),
        (200, ""),
        (200, "null"),
        (204, ""),
        (401, "{\"data\":[]}"),
        (429, "{\"data\":[]}"),
        (500, "{\"data\":[]}"),
    ] {
        assert_eq!(
            found(status, body),
            Finding::Inconclusive,
            "{status} {body}"
        );
    }
}

#[test]
fn values_are_put_into_the_target_as_one_value_each() {
    let kept = [("path.id".to_owned(), "a/b?c&d=\u{e9}".to_owned())];
    assert_eq!(
        reconcile().target("og_x.1", &kept).as_deref(),
        Some("/v1/payments?reference=og_x.1&for=a%2Fb%3Fc%26d%3D%C3%A9"),
    );
    assert_eq!(
        reconcile().target("og_x.1", &[]),
        None,
        "a value that was not kept"
    );
}

#[test]
fn a_template_says_what_is_wrong_with_it() {
    for wrong in [
        "{", "}", "a{b", "{}", "{path.}", "{secret}", "{body:x}", "{key}}",
    ] {
        assert!(Template::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Template::parse("{reference}/{key}/{path.id}/{body:/a/b}").is_ok());
}

#[test]
fn the_last_pause_repeats_and_jitter_only_lengthens() {
    let reconcile = reconcile();
    for (sent, least, most) in [(0, 2_000, 2_200), (1, 5_000, 5_500), (9, 5_000, 5_500)] {
        for draw in [0, 1, 199, 200, u64::MAX] {
            let Span(pause) = reconcile.pause(sent, draw);
            assert!((least..=most).contains(&pause), "{sent} {draw} {pause}");
        }
    }
}
