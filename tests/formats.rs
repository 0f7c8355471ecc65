//! The stored form of a record, pinned.
//!
//! Records outlive deploys: what an older version has stored must be readable, and what this one
//! stores must not change by accident. If a test here fails, either the change is wrong, or the
//! format needs a new version and a reader for the old one.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

mod common;

use common::{SAME, World, whole};
use oncegate::core::record::Record;
use oncegate::core::step::Event;
use oncegate::core::stored::Unreadable;
use serde_json::json;

const PINNED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/records-1.txt");

/// A record of each state, named.
fn records() -> Vec<(&'static str, Record)> {
    let claimed = || {
        let mut world = World::new(json!({ "keep": { "for": "60s", "tombstone": "90s" } }));
        world.arrive(SAME);
        world
    };
    let answered = |status: u16| {
        let mut world = claimed();
        let fence = world.fence();
        world.answer(fence, status, whole("{\"id\":\"pay_1\"}"));
        world
    };
    let mut expired = answered(201);
    expired.later(60).apply(Event::Alarm);
    let mut late = World::new(json!({ "effect": "at_least_once" }));
    late.arrive(SAME);
    let first = late.fence();
    late.lose(first);
    late.arrive(SAME);
    late.answer(first, 201, whole("late receipt"));
    vec![
        ("in_progress", claimed().record.unwrap()),
        ("completed", answered(201).record.unwrap()),
        ("failed_replayable", answered(422).record.unwrap()),
        ("failed_retryable", answered(429).record.unwrap()),
        ("unknown", answered(500).record.unwrap()),
        ("expired", expired.record.unwrap()),
        ("in_progress_with_late_success", late.record.unwrap()),
    ]
}

/// The stored bytes as text: none of the test records holds anything that is not.
fn stored(record: &Record) -> String {
    let bytes = record.encode().unwrap();
    assert_eq!(bytes.first(), Some(&1), "the version of the format");
    let length = u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize;
    let text = String::from_utf8(bytes[5..].to_vec()).unwrap();
    assert!(text.is_char_boundary(length));
    format!("{}\n{}", &text[..length], &text[length..])
}

#[test]
fn the_stored_form_of_every_state_is_pinned() {
    let pinned = std::fs::read_to_string(PINNED).unwrap();
    let mut now = String::new();
    for (name, record) in records() {
        now.push_str(&format!("# {name}\n{}\n", stored(&record)));
    }
    if std::env::var_os("ONCEGATE_PIN").is_some() {
        std::fs::write(PINNED, &now).unwrap();
    }
    for (now, pinned) in now.lines().zip(pinned.lines()) {
        assert_eq!(
            now, pinned,
            "set ONCEGATE_PIN=1 to pin a change that is meant"
        );
    }
    assert_eq!(now.lines().count(), pinned.lines().count());
}

#[test]
fn a_record_comes_back_as_it_was_stored() {
    for (name, record) in records() {
        assert_eq!(
            Record::decode(&record.encode().unwrap(), |_| None),
            Ok(record),
            "{name}"
        );
    }
}

#[test]
fn another_format_or_damage_is_an_error_and_never_an_empty_key() {
    let (_, record) = records().swap_remove(1);
    let bytes = record.encode().unwrap();
    let mut newer = bytes.clone();
    newer[0] = 2;
    assert_eq!(Record::decode(&newer, |_| None), Err(Unreadable::Format(2)));
    for cut in 0..bytes.len() {
        assert_eq!(
            Record::decode(&bytes[..cut], |_| None),
            Err(Unreadable::Damaged),
            "cut at {cut}"
        );
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(Record::decode(&longer, |_| None), Err(Unreadable::Damaged));
}

#[test]
fn the_journal_is_bounded() {
    let mut world = World::new(json!({}));
    for _ in 0..100 {
        world.arrive(SAME);
        let fence = world.fence();
        world.answer(fence, 429, whole(""));
    }
    let record = world.record.unwrap();
    assert_eq!(record.attempt, 100);
    assert_eq!(record.journal.len(), 50);
    assert_eq!(record.journal.last().unwrap().what, "failed_retryable");
}
