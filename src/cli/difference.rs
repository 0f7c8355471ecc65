//! Where two canonical commands differ.
//!
//! Owns naming the places: parts of the head, parameters, fields, JSON pointers. It compares
//! canonical forms only, so what it finds is exactly what makes two fingerprints differ, and what
//! the recipe leaves out is never shown as a difference.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::frames::{self, PIECES, Part};
use super::words::{printable, short};
use crate::core::command::Canonical;

/// One place, with what stands there in each of the two.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Difference {
    pub(super) place: String,
    pub(super) first: Option<String>,
    pub(super) second: Option<String>,
}

/// Every place at which two commands differ.
pub(super) fn differences(first: &Canonical<'_>, second: &Canonical<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    let (mine, theirs): (Parts, Parts) = (
        first.parts().into_iter().collect(),
        second.parts().into_iter().collect(),
    );
    // The order of the hash, then what only the second has.
    let order = first.parts().into_iter().chain(second.parts());
    let mut seen: Vec<String> = Vec::new();
    for (name, _) in order {
        if seen.contains(&name) {
            continue;
        }
        let (one, other) = (
            mine.get(&name).cloned().flatten(),
            theirs.get(&name).cloned().flatten(),
        );
        if name == "query" {
            if let (Some(one), Some(other)) = (&one, &other) {
                pairs("query", one, other, &mut found);
            }
        } else if one != other && name != "headers" && !name.starts_with("header name ") {
            note(&name, one.as_deref(), other.as_deref(), &mut found);
        }
        seen.push(name);
    }
    bodies(first, second, &mut found);
    found
}

type Parts = BTreeMap<String, Option<Vec<u8>>>;

fn note(place: &str, first: Option<&[u8]>, second: Option<&[u8]>, found: &mut Vec<Difference>) {
    let shown = |bytes: Option<&[u8]>| bytes.map(|bytes| short(&printable(bytes)));
    found.push(Difference {
        place: place.to_owned(),
        first: shown(first),
        second: shown(second),
    });
}

fn bodies(first: &Canonical<'_>, second: &Canonical<'_>, found: &mut Vec<Difference>) {
    let (kind, other_kind) = (first.body.kind(), second.body.kind());
    if kind != other_kind {
        return; // the kind itself has been noted
    }
    let (mut one, mut other) = (Vec::new(), Vec::new());
    first.body.write(&mut one);
    second.body.write(&mut other);
    if one == other {
        return;
    }
    let texts = (std::str::from_utf8(&one), std::str::from_utf8(&other));
    match (kind, texts) {
        ("json", (Ok(one), Ok(other))) => json(&mut String::new(), one, other, found),
        ("form", _) => pairs("body", &one, &other, found),
        ("multipart", _) => files(&one, &other, found),
        _ => bytes(&one, &other, found),
    }
}

/// Compares the pairs of a query or a form, name by name.
fn pairs(of: &str, first: &[u8], second: &[u8], found: &mut Vec<Difference>) {
    let (mine, theirs) = (by_name(first), by_name(second));
    let mut names: Vec<&[u8]> = mine.keys().chain(theirs.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (one, other) = (mine.get(name), theirs.get(name));
        if one != other {
            let place = format!("{of} {}", printable(name));
            let joined = |values: Option<&Vec<&[u8]>>| values.map(|it| it.join(&b", "[..]));
            note(
                &place,
                joined(one).as_deref(),
                joined(other).as_deref(),
                found,
            );
        }
    }
}

fn by_name(text: &[u8]) -> BTreeMap<&[u8], Vec<&[u8]>> {
    let mut names: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for pair in text.split(|byte| *byte == b'&').filter(|it| !it.is_empty()) {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let (name, value) = (halves.next(), halves.next());
        names
            .entry(name.unwrap_or_default())
            .or_default()
            .push(value.unwrap_or_default());
    }
    names
}

/// Compares canonical JSON, member by member and item by item. The core has bounded its depth.
fn json(path: &mut String, first: &str, second: &str, found: &mut Vec<Difference>) {
    if first == second {
        return;
    }
    let length = path.len();
    if let (Some(mine), Some(theirs)) = (members(first), members(second)) {
        let mut names: Vec<&String> = mine.keys().chain(theirs.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            path.push('/');
            path.push_str(&name.replace('~', "~0").replace('/', "~1"));
            below(
                path,
                mine.get(name).copied(),
                theirs.get(name).copied(),
                found,
            );
            path.truncate(length);
        }
    } else if let (Some(mine), Some(theirs)) = (items(first), items(second)) {
        for n in 0..mine.len().max(theirs.len()) {
            path.push_str(&format!("/{n}"));
            below(path, mine.get(n).copied(), theirs.get(n).copied(), found);
            path.truncate(length);
        }
    } else {
        below_note(path, Some(first), Some(second), found);
    }
}

fn below(
    path: &mut String,
    first: Option<&RawValue>,
    second: Option<&RawValue>,
    found: &mut Vec<Difference>,
) {
    match (first.map(RawValue::get), second.map(RawValue::get)) {
        (Some(first), Some(second)) => json(path, first, second, found),
        (first, second) => below_note(path, first, second, found),
    }
}

fn below_note(path: &str, first: Option<&str>, second: Option<&str>, found: &mut Vec<Difference>) {
    let place = if path.is_empty() {
        "body".to_owned()
    } else {
        format!("body {}", printable(path.as_bytes()))
    };
    note(
        &place,
        first.map(str::as_bytes),
        second.map(str::as_bytes),
        found,
    );
}

fn members(text: &str) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(text).ok()
}

fn items(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

/// Compares forms with files, part by part in their order.
fn files(first: &[u8], second: &[u8], found: &mut Vec<Difference>) {
    let (Some(mine), Some(theirs)) = (frames::parts(first), frames::parts(second)) else {
        return bytes(first, second, found);
    };
    for n in 0..mine.len().max(theirs.len()) {
        let place = format!("body part {}", n + 1);
        match (mine.get(n), theirs.get(n)) {
            (Some(one), Some(other)) => {
                for ((piece, one), other) in PIECES.iter().zip(one).zip(other) {
                    if one != other {
                        note(&format!("{place}, {piece}"), *one, *other, found);
                    }
                }
            }
            (one, other) => {
                note(&place, name_of(one), name_of(other), found);
            }
        }
    }
}

fn name_of<'a>(part: Option<&Part<'a>>) -> Option<&'a [u8]> {
    part.and_then(|[name, ..]| *name)
}

fn bytes(first: &[u8], second: &[u8], found: &mut Vec<Difference>) {
    const AROUND: usize = 20;
    let same = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    let from = |bytes: &[u8]| {
        let rest = bytes.get(same..).unwrap_or_default();
        let start = rest.get(..AROUND).unwrap_or(rest);
        format!("{} bytes, {}", bytes.len(), printable(start))
    };
    found.push(Difference {
        place: format!("body from byte {same}"),
        first: Some(from(first)),
        second: Some(from(second)),
    });
}
