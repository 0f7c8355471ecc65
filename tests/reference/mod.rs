//! A slow reference for the canonical text of JSON.
//!
//! It shares nothing with the product: it parses into a tree, counts exponents up and down by one,
//! sorts with a map and applies rules by walking the tree. Tests and the fuzz target compare.

#![allow(dead_code, reason = "each user takes what it needs")]
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod parse;
pub(crate) mod spell;

pub(crate) use parse::parse;
use std::collections::BTreeMap;

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// Sign, digits without zeros at either end, exponent as a signed integer in text.
    Number(bool, String, String),
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<Vec<u8>, Self>),
}

/// What a rule does at a place.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Ignore,
    Casefold,
    Decimal,
    Default(String),
}

/// The canonical text of a document, or nothing if it is not strict JSON.
pub(crate) fn canonical(source: &[u8]) -> Option<String> {
    let mut out = String::new();
    write(&parse(source)?, &mut out);
    Some(out)
}

/// The canonical text under rules: pointer tokens and what they do.
pub(crate) fn canonical_with(source: &[u8], rules: &[(Vec<String>, Rule)]) -> Option<String> {
    let mut rules: Vec<_> = rules.iter().collect();
    // The default whose pointer sorts last holds: an index rather than `*`.
    rules.sort_by_key(|(at, rule)| {
        let text = if let Rule::Default(text) = rule {
            text.as_str()
        } else {
            ""
        };
        std::cmp::Reverse((at.clone(), text))
    });
    let rules: Vec<_> = rules
        .iter()
        .map(|(at, rule)| (at.as_slice(), rule.clone()))
        .collect();
    let mut out = String::new();
    if let Some(value) = apply(parse(source)?, &rules, false) {
        write(&value, &mut out);
    }
    Some(out)
}

fn apply(value: Value, rules: &[(&[String], Rule)], member: bool) -> Option<Value> {
    let below = |wanted: &dyn Fn(&str) -> bool| -> Vec<(&[String], Rule)> {
        let found = rules
            .iter()
            .filter(|(at, _)| at.first().is_some_and(|token| wanted(token)));
        found.map(|(at, rule)| (&at[1..], rule.clone())).collect()
    };
    let here = || {
        rules
            .iter()
            .filter(|(at, _)| at.is_empty())
            .map(|(_, rule)| rule)
    };
    if here().any(|rule| matches!(rule, Rule::Ignore)) {
        return None;
    }
    let mut value = match value {
        Value::List(items) => {
            let items = items.into_iter().enumerate();
            Value::List(
                items
                    .filter_map(|(index, item)| {
                        let own = index.to_string();
                        apply(item, &below(&|token| token == own || token == "*"), false)
                    })
                    .collect(),
            )
        }
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter_map(|(name, item)| {
                    let own = String::from_utf8(name.clone()).unwrap();
                    Some((name, apply(item, &below(&|token| token == own), true)?))
                })
                .collect(),
        ),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(..) | Value::Text(_)) => scalar,
    };
    if let Value::Text(text) = &value {
        let number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let number = number && text.ends_with(|c: char| c.is_ascii_digit());
        let decimal = number.then(|| parse(text.as_bytes())).flatten();
        if let (true, Some(decimal)) = (here().any(|r| matches!(r, Rule::Decimal)), decimal) {
            let mut out = String::new();
            write(&decimal, &mut out);
            value = Value::Text(out);
        } else if here().any(|rule| matches!(rule, Rule::Casefold)) {
            value = Value::Text(text.chars().map(|c| c.to_ascii_lowercase()).collect());
        }
    }
    for rule in here() {
        let Rule::Default(default) = rule else {
            continue;
        };
        let others: Vec<_> = rules
            .iter()
            .filter(|(at, r)| !(at.is_empty() && matches!(r, Rule::Default(_))))
            .cloned()
            .collect();
        let default = apply(parse(default.as_bytes()).unwrap(), &others, member);
        return (!member || default.as_ref() != Some(&value)).then_some(value);
    }
    Some(value)
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(negative, digits, exponent) => {
            if *negative {
                out.push('-');
            }
            out.push_str(digits);
            if exponent != "0" {
                out.push('e');
                out.push_str(exponent);
            }
        }
        Value::Text(text) => write_text(text, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (name, item)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(std::str::from_utf8(name).unwrap(), out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{9}' => out.push_str("\\t"),
            '\u{a}' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\u{d}' => out.push_str("\\r"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
