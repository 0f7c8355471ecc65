//! The published vectors of the command hash hold: canonical bytes, digests, recipe digests.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use oncegate::core::command::{
    Command, JsonText, Pointer, Precision, QueryRule, Recipe, WhenMalformed,
};
use serde_json::Value;
use std::collections::BTreeSet;

const VECTORS: &str = include_str!("vectors/command-hash.json");

fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(of: &Value, name: &str) -> Option<Vec<u8>> {
    let text = of[name].as_str().map(|text| text.as_bytes().to_vec());
    text.or_else(|| of[&format!("{name}_hex")].as_str().map(hex))
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

fn pointers(list: &Value) -> Vec<Pointer> {
    texts(list)
        .iter()
        .map(|text| Pointer::parse(text).unwrap())
        .collect()
}

fn table<T>(of: &Value, read: impl Fn(&Value) -> T) -> Vec<(Pointer, T)> {
    let entries = of.as_object().into_iter().flatten();
    entries
        .map(|(at, value)| (Pointer::parse(at).unwrap(), read(value)))
        .collect()
}

fn recipe(of: &Value) -> Recipe {
    let known = [
        "version",
        "query",
        "target",
        "headers",
        "ignore",
        "decimals",
        "casefold",
        "defaults",
        "timestamps",
        "echo",
        "when_malformed",
    ];
    assert!(
        of.as_object()
            .unwrap()
            .keys()
            .all(|name| known.contains(&name.as_str())),
        "{of}"
    );
    Recipe {
        version: of["version"]
            .as_u64()
            .map_or(1, |version| u32::try_from(version).unwrap()),
        query: match of["query"].as_str() {
            Some("all") => QueryRule::All,
            Some("none") => QueryRule::None,
            Some(other) => panic!("{other}"),
            None if of["query"].is_null() => QueryRule::All,
            None => QueryRule::Names(texts(&of["query"])),
        },
        target: of["target"].as_bool().unwrap_or(true),
        headers: texts(&of["headers"]),
        ignore: pointers(&of["ignore"]),
        decimals: pointers(&of["decimals"]),
        casefold: pointers(&of["casefold"]),
        defaults: table(&of["defaults"], |value| {
            JsonText::parse(&value.to_string()).unwrap()
        }),
        timestamps: table(&of["timestamps"], |value| match value.as_str().unwrap() {
            "second" => Precision::Second,
            "millisecond" => Precision::Millisecond,
            "microsecond" => Precision::Microsecond,
            "nanosecond" => Precision::Nanosecond,
            other => panic!("{other}"),
        }),
        echo: pointers(&of["echo"]),
        when_malformed: match of["when_malformed"].as_str() {
            None | Some("refuse") => WhenMalformed::Refuse,
            Some("bytes") => WhenMalformed::Bytes,
            Some(other) => panic!("{other}"),
        },
        earlier: Vec::new(),
    }
}

/// Runs one vector; gives its fingerprint's digest.
fn check(vector: &Value) -> Option<String> {
    let name = &vector["name"];
    let request = &vector["request"];
    let recipe = recipe(&vector["recipe"]);
    let headers = request["headers"].as_array().unwrap().iter();
    let headers: Vec<(String, String)> = headers
        .map(|pair| {
            (
                pair[0].as_str().unwrap().to_owned(),
                pair[1].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let body = bytes(request, "body").unwrap();
    let command = Command {
        operation: request["operation"].as_str().unwrap(),
        method: request["method"].as_str().unwrap(),
        path: request["path"].as_str().unwrap(),
        query: request["query"].as_str(),
        headers: &headers,
        body: &body,
        max_decoded: usize::try_from(request["max_decoded"].as_u64().unwrap()).unwrap(),
    };
    assert_eq!(
        to_hex(&recipe.digest()),
        vector["recipe_digest"].as_str().unwrap(),
        "{name}"
    );
    if vector["malformed"] == true {
        assert!(recipe.fingerprint(&command).is_err(), "{name}");
        return None;
    }
    let canonical = recipe.canonical(&command).unwrap();
    assert_eq!(
        canonical.body.kind(),
        vector["body_kind"].as_str().unwrap(),
        "{name}"
    );
    let mut written = Vec::new();
    canonical.body.write(&mut written);
    let expected = bytes(vector, "canonical").unwrap();
    assert_eq!(
        String::from_utf8_lossy(&written),
        String::from_utf8_lossy(&expected),
        "{name}"
    );
    assert_eq!(written, expected, "{name}");
    let fingerprint = recipe.fingerprint(&command).unwrap();
    assert_eq!(
        to_hex(&fingerprint.raw),
        vector["raw"].as_str().unwrap(),
        "{name}"
    );
    assert_eq!(
        to_hex(&fingerprint.digest),
        vector["digest"].as_str().unwrap(),
        "{name}"
    );
    Some(to_hex(&fingerprint.digest))
}

#[test]
fn every_vector_holds() {
    let vectors = vectors();
    let digests: Vec<_> = vectors.iter().filter_map(check).collect();
    assert!(vectors.len() >= 80, "the data file is complete");
    // Vectors that were made to be the same command share a digest; the others do not.
    assert_eq!(
        digests.iter().collect::<BTreeSet<_>>().len() + 15,
        digests.len()
    );
}

#[test]
fn every_vector_has_a_name_of_its_own() {
    let vectors = vectors();
    let names: BTreeSet<_> = vectors
        .iter()
        .map(|vector| vector["name"].as_str())
        .collect();
    assert_eq!(names.len(), vectors.len());
}
