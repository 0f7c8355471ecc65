//! Properties of the hash of JSON: spellings never change it, any change of a value always does.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod reference;

use oncegate::core::command::{Command, JsonText, Pointer, Recipe};
use proptest::prelude::*;
use reference::spell::Speller;
use reference::{Rule, Value};
use std::collections::BTreeMap;

const JSON: &str = "application/json";

fn canonical(recipe: &Recipe, media: &str, body: &[u8]) -> Option<Vec<u8>> {
    let headers = [("content-type".to_owned(), media.to_owned())];
    let command = command(&headers, body);
    let canonical = recipe.canonical(&command).ok()?;
    let mut out = Vec::new();
    canonical.body.write(&mut out);
    Some(out)
}

fn digest(media: &str, body: &[u8]) -> [u8; 32] {
    let headers = [("content-type".to_owned(), media.to_owned())];
    Recipe::default()
        .fingerprint(&command(&headers, body))
        .unwrap()
        .digest
}

fn command<'a>(headers: &'a [(String, String)], body: &'a [u8]) -> Command<'a> {
    Command {
        operation: "pay",
        method: "POST",
        path: "/v1/payments",
        query: None,
        headers,
        body,
        max_decoded: 1 << 20,
    }
}

fn json(body: &[u8]) -> Option<String> {
    canonical(&Recipe::default(), JSON, body).map(|text| String::from_utf8(text).unwrap())
}

/// Any value of a few levels.
fn values() -> impl Strategy<Value = Value> {
    let number =
        (any::<bool>(), "[1-9][0-9]{0,25}", -40_i64..40).prop_map(|(sign, digits, exponent)| {
            let trimmed = digits.trim_end_matches('0').to_owned();
            let shift = i64::try_from(digits.len() - trimmed.len()).unwrap();
            Value::Number(sign, trimmed, (exponent + shift).to_string())
        });
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Number(false, "0".into(), "0".into())),
        number,
        texts().prop_map(Value::Text),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            prop::collection::vec((texts(), inner), 0..6).prop_map(|members| {
                let members = members
                    .into_iter()
                    .map(|(name, value)| (name.into_bytes(), value));
                Value::Object(members.collect())
            }),
        ]
    })
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "",
            "a",
            "b",
            "id",
            "__proto__",
            "aaaaaaaa",
            "aaaaaaaab",
            "\0",
            "a\0"
        ])
        .prop_map(str::to_owned),
        prop::collection::vec(any::<char>(), 0..5).prop_map(|text| text.into_iter().collect()),
        "[a-z\"\\\\/\u{0}-\u{1f}\u{7f}é😀]{0,12}",
    ]
}

/// Changes exactly one value or name of a tree: the one with a given number.
fn change(value: &mut Value, left: &mut usize) -> bool {
    if *left == 0 {
        *value = match value {
            Value::Null => Value::Bool(false),
            Value::Bool(value) => Value::Bool(!*value),
            Value::Number(sign, digits, exponent) if digits != "0" => {
                Value::Number(!*sign, digits.clone(), exponent.clone())
            }
            Value::Number(..) => Value::Text("0".into()),
            Value::Text(text) => Value::Text(format!("{text}x")),
            Value::List(items) => {
                let mut items = items.clone();
                items.push(Value::Null);
                Value::List(items)
            }
            Value::Object(members) => {
                let mut members = members.clone();
                match members.pop_first() {
                    Some(_) => {}
                    None => drop(members.insert(b"new".to_vec(), Value::Null)),
                }
                Value::Object(members)
            }
        };
        return true;
    }
    *left -= 1;
    match value {
        Value::List(items) => items.iter_mut().any(|item| change(item, left)),
        Value::Object(members) => members.values_mut().any(|item| change(item, left)),
        Value::Null | Value::Bool(_) | Value::Number(..) | Value::Text(_) => false,
    }
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..40)
}

/// A recipe and, for the reference, the same rules.
fn with_rules(rules: Vec<(String, Rule)>) -> (Recipe, Vec<(Vec<String>, Rule)>) {
    let mut recipe = Recipe::default();
    let mut slow = Vec::new();
    for (at, rule) in rules {
        let pointer = Pointer::parse(&at).unwrap();
        slow.push((pointer.tokens().to_vec(), rule.clone()));
        match rule {
            Rule::Ignore => recipe.ignore.push(pointer),
            Rule::Casefold => recipe.casefold.push(pointer),
            Rule::Decimal => recipe.decimals.push(pointer),
            Rule::Default(text) => {
                let value = JsonText::parse(&text).unwrap();
                recipe.defaults.push((pointer, value));
            }
        }
    }
    (recipe, slow)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_spelling_of_a_document_has_one_hash(
        value in values(),
        a in choices(),
        b in choices(),
    ) {
        let (a, b) = (Speller::spell(&value, a), Speller::spell(&value, b));
        prop_assert_eq!(json(&a), reference::canonical(&a));
        prop_assert_eq!(json(&a), json(&b));
        prop_assert_eq!(digest(JSON, &a), digest("application/json; charset=utf-8", &b));
        let text = json(&a).unwrap();
        prop_assert_eq!(json(text.as_bytes()), Some(text));
    }

    #[test]
    fn any_change_of_one_value_changes_the_hash(
        value in values(),
        place in 0_usize..64,
        choices in choices(),
    ) {
        let mut other = value.clone();
        if !change(&mut other, &mut { place }) {
            change(&mut other, &mut 0);
        }
        let spelled = Speller::spell(&value, choices.clone());
        let changed = Speller::spell(&other, choices);
        prop_assert_ne!(digest(JSON, &spelled), digest(JSON, &changed));
    }

    #[test]
    fn the_reader_and_the_reference_agree_on_any_text(
        text in "[\\[\\]{}:,\"\\\\ eE0-9.+\\-au\u{e9}tn]{1,24}",
    ) {
        prop_assert_eq!(json(text.as_bytes()), reference::canonical(text.as_bytes()));
    }

    #[test]
    fn the_reader_and_the_reference_agree_on_damaged_documents(
        value in values(),
        choices in choices(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut text = Speller::spell(&value, choices);
        let place = place.index(text.len());
        text[place] = byte;
        prop_assert_eq!(json(&text), reference::canonical(&text));
    }

    #[test]
    fn rules_do_what_the_reference_does(
        value in values(),
        rules in rules(),
        choices in choices(),
    ) {
        let (recipe, slow) = with_rules(rules);
        let wrapped = Value::Object(BTreeMap::from([
            (b"id".to_vec(), value.clone()),
            (b"b".to_vec(), Value::List(vec![value.clone(), value])),
            (b"a".to_vec(), Value::Text("1.50".into())),
        ]));
        let text = Speller::spell(&wrapped, choices);
        let fast = canonical(&recipe, JSON, &text).map(|text| String::from_utf8(text).unwrap());
        prop_assert_eq!(fast, reference::canonical_with(&text, &slow));
    }
}

fn rules() -> impl Strategy<Value = Vec<(String, Rule)>> {
    let token = prop::sample::select(vec!["a", "b", "id", "*", "0", "1", ""]);
    let pointer = prop::collection::vec(token, 1..4).prop_map(|tokens| {
        tokens
            .iter()
            .map(|token| format!("/{token}"))
            .collect::<String>()
    });
    let rule = prop_oneof![
        Just(Rule::Ignore),
        Just(Rule::Casefold),
        Just(Rule::Decimal),
        prop::sample::select(vec![
            "null",
            "\"1.5\"",
            "[]",
            "{}",
            "\"a\"",
            "{\"a\":null}",
            "[1.0]"
        ])
        .prop_map(|text| Rule::Default(text.to_owned())),
    ];
    prop::collection::vec((pointer, rule), 0..5)
}
