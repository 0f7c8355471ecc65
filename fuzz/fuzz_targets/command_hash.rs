//! Looks for bodies that make the command hash panic, or disagree with the slow reference.
//!
//! The first byte chooses media type, coding and rules; the rest is the body. To run it:
//! `cargo +nightly fuzz run command_hash -- -dict=fuzz/json.dict -max_len=2048`.

#![no_main]

#[path = "../../tests/reference/mod.rs"]
mod reference;

use libfuzzer_sys::fuzz_target;
use oncegate::core::command::echo;
use oncegate::core::command::{Command, JsonText, Pointer, Recipe, WhenMalformed, identity_value};
use reference::Rule;

const MEDIA: [&str; 4] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "application/octet-stream",
];
const CODINGS: [&str; 4] = ["", "gzip", "deflate", "deflate, gzip"];

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else {
        return;
    };
    let choice = usize::from(*choice);
    let (media, coding) = (MEDIA[choice % 4], CODINGS[choice / 4 % 4]);
    let headers = [
        ("content-type".to_owned(), media.to_owned()),
        ("content-encoding".to_owned(), coding.to_owned()),
    ];
    let command = Command {
        operation: "pay",
        method: "POST",
        path: "/v1/payments",
        query: std::str::from_utf8(body).ok(),
        headers: &headers,
        body,
        max_decoded: 1 << 16,
    };
    let (recipe, rules) = recipe(choice / 16);
    check(&recipe, &command, &rules);
    let lax = Recipe {
        when_malformed: WhenMalformed::Bytes,
        ..recipe
    };
    lax.fingerprint(&command)
        .expect("nothing is malformed that is compared as bytes");
});

/// What must hold for every command.
fn check(recipe: &Recipe, command: &Command<'_>, rules: &[(Vec<String>, Rule)]) {
    let written = recipe.canonical(command).ok().map(|canonical| {
        let mut out = Vec::new();
        canonical.body.write(&mut out);
        (canonical.body.kind(), out)
    });
    let is_json = command.headers[0].1 == MEDIA[0] && command.headers[1].1.is_empty();
    if is_json && !command.body.is_empty() {
        let fast = written.as_ref().map(|(_, text)| text.clone());
        let slow = reference::canonical_with(command.body, rules);
        assert_eq!(fast, slow.map(String::into_bytes));
        let pointer = Pointer::parse("/a/0").expect("a pointer");
        let identity = identity_value(command.body, &pointer);
        assert!(fast_reads(command.body) || identity.is_err());
        let echoes = echo::values(recipe, command);
        let patched = echo::patch(command.body, &echoes);
        assert_eq!(
            patched, command.body,
            "a request's own values change nothing in it"
        );
    }
    let Some((kind @ ("json" | "form"), text)) = written else {
        return;
    };
    if text.is_empty() {
        return;
    }
    // Canonical text is its own canonical text. (Only defaults may leave out more of it then.)
    if rules
        .iter()
        .any(|(_, rule)| matches!(rule, Rule::Default(_) | Rule::Ignore))
    {
        return;
    }
    let media = if kind == "json" { MEDIA[0] } else { MEDIA[1] };
    let headers = [("content-type".to_owned(), media.to_owned())];
    let again = Command {
        headers: &headers,
        body: &text,
        ..*command
    };
    let again = recipe
        .canonical(&again)
        .expect("canonical text is well-formed");
    let mut out = Vec::new();
    again.body.write(&mut out);
    assert_eq!(out, text);
}

fn fast_reads(body: &[u8]) -> bool {
    reference::parse(body).is_some()
}

/// One of some recipes, for the product and for the reference.
fn recipe(choice: usize) -> (Recipe, Vec<(Vec<String>, Rule)>) {
    let sets: [&[(&str, Rule)]; 6] = [
        &[],
        &[
            ("/a", Rule::Ignore),
            ("/*/a", Rule::Ignore),
            ("/b/*/a/0", Rule::Ignore),
        ],
        &[
            ("/a", Rule::Casefold),
            ("/*", Rule::Casefold),
            ("/a/*", Rule::Casefold),
        ],
        &[
            ("/a", Rule::Decimal),
            ("/*/a", Rule::Decimal),
            ("/0", Rule::Casefold),
        ],
        &[
            ("/a", Rule::Default(String::new())),
            ("/*/b", Rule::Default(String::new())),
        ],
        &[
            ("/a/b", Rule::Default(String::new())),
            ("/a", Rule::Default(String::new())),
        ],
    ];
    let defaults = ["null", "{}", "[]", "1.0", "\"x\"", "{\"b\":1}"];
    let mut recipe = Recipe::default();
    let mut slow = Vec::new();
    for (index, (at, rule)) in sets[choice % sets.len()].iter().enumerate() {
        let pointer = Pointer::parse(at).expect("a pointer");
        let mut rule = rule.clone();
        match &mut rule {
            Rule::Ignore if index % 2 == 1 => recipe.echo.push(pointer.clone()),
            Rule::Ignore => recipe.ignore.push(pointer.clone()),
            Rule::Casefold => recipe.casefold.push(pointer.clone()),
            Rule::Decimal => recipe.decimals.push(pointer.clone()),
            Rule::Default(text) => {
                *text = defaults[(choice + index) % defaults.len()].to_owned();
                let value = JsonText::parse(text).expect("a JSON text");
                recipe.defaults.push((pointer.clone(), value));
            }
        }
        slow.push((pointer.tokens().to_vec(), rule));
    }
    (recipe, slow)
}
