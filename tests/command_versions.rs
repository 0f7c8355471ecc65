//! Fingerprints across deploys: the stored format, and how a record judges a retry.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod command_request;

use command_request::*;
use oncegate::core::command::{
    Basis, Fingerprint, JsonText, Pointer, Precision, QueryRule, Recipe, Verdict, WhenMalformed,
};

#[test]
fn the_stored_format_of_a_fingerprint_is_pinned() {
    let recipe = Recipe {
        headers: vec!["account".into()],
        ..Recipe::default()
    };
    let fingerprint = Request::json(PAY).fingerprint(&recipe);
    let text = serde_json::to_string(&fingerprint).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"v":1,"r":"867449f8a2452fcf","#,
            r#""d":"030adddef6a0210463ee1377232d72ffd68bee13b55d696b3b41af8242f5131c","#,
            r#""w":"7c5ddf916b6845cfedc2494a509bea9f9b16f21fe13944dec6e2b174be75a7b6","#,
            r#""h":["account"]}"#
        )
    );
    assert_eq!(
        serde_json::from_str::<Fingerprint>(&text).unwrap(),
        fingerprint
    );
    let plain = Request::json(PAY).fingerprint(&Recipe::default());
    let text = serde_json::to_string(&plain).unwrap();
    assert!(!text.contains("\"h\""), "no empty list is stored");
    assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap(), plain);
    for bad in [
        text.replace("\"r\":\"", "\"r\":\"0"),
        text.replace("\"d\":\"", "\"d\":\"G"),
    ] {
        assert!(serde_json::from_str::<Fingerprint>(&bad).is_err());
    }
}

fn at(text: &str) -> Pointer {
    Pointer::parse(text).unwrap()
}

fn text(text: &str) -> JsonText {
    JsonText::parse(text).unwrap()
}

fn base() -> Recipe {
    Recipe {
        headers: vec!["b".into(), "a".into()],
        ignore: pointers(&["/x", "/y"]),
        defaults: vec![
            (at("/c"), text("{\"b\":1.0,\"a\":2}")),
            (at("/d"), text("1")),
        ],
        ..Recipe::default()
    }
}

/// Recipes that all differ in meaning.
fn meanings() -> Vec<Recipe> {
    vec![
        base(),
        Recipe {
            version: 2,
            ..base()
        },
        Recipe {
            query: QueryRule::None,
            ..base()
        },
        Recipe {
            query: QueryRule::Names(vec![]),
            ..base()
        },
        Recipe {
            query: QueryRule::Names(vec!["a".into()]),
            ..base()
        },
        Recipe {
            target: false,
            ..base()
        },
        Recipe {
            headers: vec!["a".into()],
            ..base()
        },
        Recipe {
            ignore: pointers(&["/x"]),
            ..base()
        },
        Recipe {
            decimals: pointers(&["/x"]),
            ..base()
        },
        Recipe {
            casefold: pointers(&["/x"]),
            ..base()
        },
        Recipe {
            echo: pointers(&["/x"]),
            ..base()
        },
        Recipe {
            defaults: vec![],
            ..base()
        },
        Recipe {
            timestamps: vec![(at("/x"), Precision::Second)],
            ..base()
        },
        Recipe {
            timestamps: vec![(at("/x"), Precision::Millisecond)],
            ..base()
        },
        Recipe {
            when_malformed: WhenMalformed::Bytes,
            ..base()
        },
    ]
}

#[test]
fn any_change_of_the_meaning_of_a_recipe_changes_its_digest_and_the_order_does_not() {
    let reordered = Recipe {
        headers: vec!["a".into(), "b".into(), "a".into()],
        ignore: pointers(&["/y", "/x"]),
        defaults: vec![
            (at("/d"), text(" 1 ")),
            (at("/c"), text("{\"a\":2,\"b\":1}")),
        ],
        earlier: vec![base()],
        ..Recipe::default()
    };
    assert_eq!(base().digest(), reordered.digest());
    let changed = meanings();
    for (i, a) in changed.iter().enumerate() {
        for (j, b) in changed.iter().enumerate() {
            assert_eq!(a.digest() == b.digest(), i == j, "{i} {j}");
        }
    }
}

/// The recipes before and after a deploy.
fn deploys() -> (Recipe, Recipe) {
    let old = Recipe::default();
    let new = Recipe {
        version: 2,
        headers: vec!["api-version".into()],
        ignore: pointers(&["/attempt"]),
        defaults: vec![(
            pointers(&["/channel"]).remove(0),
            JsonText::parse("\"web\"").unwrap(),
        )],
        earlier: vec![old.clone()],
        ..Recipe::default()
    };
    (old, new)
}

fn judge(stored: &Fingerprint, recipe: &Recipe, retry: &Request) -> (Verdict, Basis, bool) {
    let judgement = stored.judge(recipe, &retry.fingerprint(recipe), &retry.command());
    assert_eq!(judgement.is_same(), judgement.verdict == Verdict::Same);
    (judgement.verdict, judgement.basis, judgement.recipe_changed)
}

#[test]
fn a_retry_is_judged_by_the_recipe_of_its_record() {
    let (old, new) = deploys();
    let stored = Request::json(PAY).fingerprint(&old);
    let spaced = Request::json(PAY.replace(':', " : "));
    let other = Request::json(PAY.replace("10.00", "100.00"));
    let with_channel = Request::json(PAY.replace('}', ",\"channel\":\"web\"}"));
    assert_eq!(
        judge(&stored, &new, &spaced),
        (Verdict::Same, Basis::Earlier, false)
    );
    assert_eq!(
        judge(&stored, &new, &other),
        (Verdict::Different, Basis::Earlier, false)
    );
    assert_eq!(
        judge(&stored, &new, &with_channel),
        (Verdict::Different, Basis::Earlier, false)
    );
    let stored = Request::json(PAY).fingerprint(&new);
    assert_eq!(
        judge(&stored, &new, &with_channel),
        (Verdict::Same, Basis::Current, false)
    );
    assert_eq!(
        judge(&stored, &new, &other),
        (Verdict::Different, Basis::Current, false)
    );
}

#[test]
fn a_record_of_an_unknown_recipe_is_judged_byte_by_byte() {
    let (old, new) = deploys();
    let new = Recipe {
        earlier: vec![],
        ..new
    };
    let pay = Request::json(PAY);
    let stored = pay.fingerprint(&old);
    assert_eq!(
        judge(&stored, &new, &pay),
        (Verdict::Same, Basis::Raw, false)
    );
    for other in [
        Request::json(PAY.replace(':', ": ")),
        Request {
            path: "/v1/payment",
            ..pay.clone()
        },
        Request {
            method: "PUT",
            ..pay.clone()
        },
        pay.clone().query(""),
        pay.clone().with("content-type", "Application/json"),
        pay.clone().with("content-encoding", "identity"),
    ] {
        assert_eq!(
            judge(&stored, &new, &other),
            (Verdict::Different, Basis::Raw, false)
        );
    }
    same(&old, &pay, &pay.clone().with("accept", "*/*"));
    assert_eq!(
        judge(&stored, &new, &pay.with("accept", "x")).0,
        Verdict::Same
    );
}

#[test]
fn the_raw_digest_covers_the_semantic_headers_of_its_record() {
    let (_, new) = deploys();
    let pay = Request::json(PAY).with("api-version", "1");
    let stored = pay.fingerprint(&new);
    assert_eq!(stored.headers, ["api-version"]);
    // The next deploy knows neither the version nor the header any more, and an older one neither.
    for recipe in [
        Recipe {
            version: 3,
            ..Recipe::default()
        },
        Recipe::default(),
    ] {
        assert_eq!(
            judge(&stored, &recipe, &pay),
            (Verdict::Same, Basis::Raw, false)
        );
        let other = pay.clone().with("api-version", "2");
        assert_eq!(
            judge(&stored, &recipe, &other),
            (Verdict::Different, Basis::Raw, false)
        );
        let other = pay.clone().without("api-version");
        assert_eq!(
            judge(&stored, &recipe, &other),
            (Verdict::Different, Basis::Raw, false)
        );
    }
}

#[test]
fn a_recipe_that_changed_under_its_version_is_noticed_and_not_trusted() {
    let (old, new) = deploys();
    let pay = Request::json(PAY);
    let stored = pay.fingerprint(&old);
    let spaced = Request::json(PAY.replace(':', " : "));
    let crept = Recipe {
        ignore: pointers(&["/amount"]),
        ..old.clone()
    };
    assert_eq!(
        judge(&stored, &crept, &pay),
        (Verdict::Same, Basis::Raw, true)
    );
    assert_eq!(
        judge(&stored, &crept, &spaced),
        (Verdict::Different, Basis::Raw, true)
    );
    let rewritten = Recipe {
        earlier: vec![crept],
        ..new
    };
    assert_eq!(
        judge(&stored, &rewritten, &pay),
        (Verdict::Same, Basis::Raw, true)
    );
    assert_eq!(
        judge(&stored, &rewritten, &spaced),
        (Verdict::Different, Basis::Raw, true)
    );
}

#[test]
fn a_retry_that_is_malformed_now_or_was_then_is_judged_by_its_bytes() {
    let lax = Recipe {
        when_malformed: WhenMalformed::Bytes,
        ..Recipe::default()
    };
    let strict = Recipe {
        version: 2,
        earlier: vec![lax.clone()],
        ..Recipe::default()
    };
    let broken = Request::json("{\"a\":1,\"a\":2}");
    let stored = broken.fingerprint(&lax);
    let judgement = stored.judge_malformed(&strict, &broken.command());
    assert_eq!(
        (judgement.verdict, judgement.basis),
        (Verdict::Same, Basis::Earlier)
    );
    let gone = Recipe {
        earlier: vec![],
        ..strict.clone()
    };
    let judgement = stored.judge_malformed(&gone, &broken.command());
    assert_eq!(
        (judgement.verdict, judgement.basis),
        (Verdict::Same, Basis::Raw)
    );
    let other = Request::json("{\"a\":1,\"a\":3}");
    assert!(!stored.judge_malformed(&strict, &other.command()).is_same());
    assert!(!stored.judge_malformed(&lax, &other.command()).is_same());
    // The record is of a strict time, the retry cannot be read by that recipe.
    let strict_first = Request::json(PAY).fingerprint(&Recipe::default());
    let lax_now = Recipe {
        version: 2,
        earlier: vec![Recipe::default()],
        ..lax
    };
    assert_eq!(
        judge(&strict_first, &lax_now, &broken),
        (Verdict::Different, Basis::Raw, false)
    );
}
