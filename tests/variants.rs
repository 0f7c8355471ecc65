//! Several commands under one key: which record a request is about.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

mod common;

use common::{OTHER, SAME, World, whole};
use oncegate::core::identity::RequestId;
use oncegate::core::record::Record;
use oncegate::core::step::{Choice, MOST_RECORDS, Manner, choose};
use serde_json::{Value, json};

fn separate(command: &Value) -> World {
    World::new(json!({ "on_mismatch": "separate", "command": command }))
}

/// The record of a body, settled.
fn settled(command: &Value, body: &[u8]) -> Record {
    let mut world = separate(command);
    world.arrive(body);
    let fence = world.fence();
    world.answer(fence, 201, whole("receipt"));
    world.record.unwrap()
}

fn chosen(world: &mut World, records: &[Option<Record>], body: &[u8]) -> Choice {
    let now = world.now;
    world.with_arrival(RequestId(9), Manner::First, body, |arrival| {
        choose(records, arrival, now)
    })
}

#[test]
fn each_command_has_a_record_of_its_own() {
    let recipe = json!({});
    let mut world = separate(&recipe);
    let records = [Some(settled(&recipe, SAME)), Some(settled(&recipe, OTHER))];
    assert_eq!(chosen(&mut world, &[], SAME), Choice::Slot(0));
    assert_eq!(chosen(&mut world, &records, SAME), Choice::Slot(0));
    assert_eq!(chosen(&mut world, &records, OTHER), Choice::Slot(1));
    assert_eq!(chosen(&mut world, &records, b"{}"), Choice::Slot(2));
    let gap = [None, Some(settled(&recipe, OTHER))];
    assert_eq!(chosen(&mut world, &gap, OTHER), Choice::Slot(1));
    assert_eq!(
        chosen(&mut world, &gap, SAME),
        Choice::Slot(0),
        "a free slot is used again"
    );
}

#[test]
fn a_deploy_cannot_split_one_operation_in_two() {
    let first = json!({ "version": 1 });
    let with_earlier = json!({
        "version": 2, "ignore": ["/note"], "earlier": [{ "version": 1 }],
    });
    let without = json!({ "version": 2, "ignore": ["/note"] });
    let records = [Some(settled(&first, SAME))];
    let mut deployed = separate(&with_earlier);
    assert_eq!(chosen(&mut deployed, &records, SAME), Choice::Slot(0));
    assert_eq!(chosen(&mut deployed, &records, OTHER), Choice::Slot(1));
    let mut forgotten = separate(&without);
    assert_eq!(
        chosen(&mut forgotten, &records, SAME),
        Choice::Slot(0),
        "equal bytes"
    );
    assert_eq!(
        chosen(&mut forgotten, &records, OTHER),
        Choice::Refused,
        "whether it is that command cannot be told"
    );
}

#[test]
fn the_hundred_and_first_command_is_refused_until_one_is_forgotten() {
    let recipe = json!({});
    let mut world = separate(&recipe);
    let records: Vec<_> = (0..MOST_RECORDS)
        .map(|n| Some(settled(&recipe, format!("{{\"n\":{n}}}").as_bytes())))
        .collect();
    assert_eq!(chosen(&mut world, &records, SAME), Choice::Refused);
    assert_eq!(
        chosen(&mut world, &records, b"{\"n\":99}"),
        Choice::Slot(99)
    );
    world.later(31 * 24 * 3_600);
    assert_eq!(chosen(&mut world, &records, SAME), Choice::Slot(0));
}

#[test]
fn no_deploy_makes_a_record_disappear() {
    let recipe = json!({});
    let records = [
        None,
        Some(settled(&recipe, OTHER)),
        Some(settled(&recipe, SAME)),
    ];
    let mut single = World::new(json!({}));
    assert_eq!(
        chosen(&mut single, &records, SAME),
        Choice::Slot(2),
        "its own record"
    );
    assert_eq!(
        chosen(&mut single, &records, b"{}"),
        Choice::Slot(1),
        "another command"
    );
    assert_eq!(chosen(&mut single, &[None, None], SAME), Choice::Slot(0));
}

#[test]
fn a_tombstone_speaks_only_where_nothing_else_does() {
    let recipe = json!({});
    let mut old = settled(&recipe, OTHER);
    old.state = old.state.without_reply();
    let records = [Some(old), Some(settled(&recipe, SAME))];
    let mut single = World::new(json!({ "after_expiry": "execute" }));
    assert_eq!(chosen(&mut single, &records, b"{}"), Choice::Slot(1));
    assert_eq!(chosen(&mut single, &records[..1], b"{}"), Choice::Slot(0));
}
