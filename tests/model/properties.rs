//! What must hold in every state, and what must be reachable, so that the model is not empty.

use oncegate::core::record::State;
use oncegate::core::time::Millis;
use stateright::Property;

use crate::gate::ALARM_AGAIN;
use crate::liveness;
use crate::world::{Call, Client, Fate, Model, Phase, World};

type Test = fn(&Model, &World) -> bool;

pub(crate) fn all(model: &Model) -> Vec<Property<Model>> {
    let mut properties = vec![
        Property::always("an effect happens once, or once per attempt", effects),
        Property::always("one command per life", one_command),
        Property::always("no two different answers as final", one_answer),
        Property::always("a success that was told happened", truth),
        Property::always("at most one claim", one_claim),
        Property::always("a record that is open wakes or is held", wakes),
        Property::always("left alone, it settles or is escalated", liveness::settles),
        Property::sometimes("a success is stored", |_, world: &World| {
            state(world, "completed")
        }),
        Property::sometimes("an outcome is unknown", |_, world: &World| {
            state(world, "unknown")
        }),
        Property::sometimes("a second attempt runs", |_, world: &World| {
            world.record().is_some_and(|it| it.attempt > 1)
        }),
        Property::sometimes("both clients know the outcome", |_, world: &World| {
            let done = |it: &Client| it.phase == Phase::Done;
            world.clients.iter().all(done)
        }),
    ];
    let reached: Option<(&'static str, Test)> = if model.asks() {
        Some(("a probe opens the key again", reopened))
    } else if model.reruns() {
        Some(("an effect happens twice", |_, world: &World| {
            lives(world).any(|nonce| world.effects(nonce).count() == 2)
        }))
    } else {
        None
    };
    properties.extend(reached.map(|(name, test)| Property::sometimes(name, test)));
    properties
}

fn state(world: &World, name: &str) -> bool {
    world.record().is_some_and(|it| it.state.name() == name)
}

fn lives(world: &World) -> impl Iterator<Item = u64> {
    let mut lives: Vec<u64> = world.calls.iter().map(|it| it.fence.nonce.0).collect();
    lives.dedup();
    lives.into_iter()
}

fn effects(model: &Model, world: &World) -> bool {
    lives(world).all(|nonce| {
        let effects = world.effects(nonce).count();
        let attempts = world.calls.iter().filter(|it| it.fence.nonce.0 == nonce);
        effects <= if model.reruns() { attempts.count() } else { 1 }
    })
}

fn one_command(_: &Model, world: &World) -> bool {
    let strangers = world.finals.iter().any(|it| it.stranger);
    let mixed = lives(world).any(|nonce| {
        let mut calls = world.calls.iter().filter(|it| it.fence.nonce.0 == nonce);
        let first = calls.next().map(|it| it.other);
        calls.any(|it| Some(it.other) != first)
    });
    !strangers && !mixed
}

fn one_answer(model: &Model, world: &World) -> bool {
    let counts = |status: u16| status < 300 || model.failures_are_final();
    lives(world).all(|nonce| {
        let finals = world.finals.iter().filter(|it| it.nonce == nonce);
        finals.filter(|it| counts(it.status)).count() <= 1
    })
}

/// A success was applied, and, where nothing runs twice, a final failure never was.
fn truth(model: &Model, world: &World) -> bool {
    world.finals.iter().all(|told| {
        let applied = world.effects(told.nonce).count() > 0;
        if told.status < 300 {
            applied
        } else {
            !applied || model.reruns() || !model.failures_are_final()
        }
    })
}

/// Of one life, one attempt whose outcome is open and which the gate still listens to.
fn one_claim(_: &Model, world: &World) -> bool {
    let open = |it: &&Call| it.heard && it.fate == Fate::Open;
    lives(world).all(|nonce| {
        let calls = world.calls.iter().filter(|it| it.fence.nonce.0 == nonce);
        calls.filter(open).count() <= 1
    })
}

fn wakes(model: &Model, world: &World) -> bool {
    let Some(record) = world.record() else {
        return true;
    };
    let asked = model.asks() && matches!(record.state, State::Unknown { .. });
    let must = record
        .state
        .ends_at()
        .into_iter()
        .chain(record.plan.filter(|_| asked).and_then(|it| it.next))
        .min();
    // An alarm that failed rings again a little later.
    let in_time = |must: Millis| must.max(world.now.after(ALARM_AGAIN));
    must.is_none_or(|must| world.alarm.is_some_and(|alarm| alarm <= in_time(must)))
}

/// A later attempt after one of which the look-up said that it is not there.
fn reopened(_: &Model, world: &World) -> bool {
    let second = |it: &Call| it.fence.attempt == 2 && it.fate == Fate::Open;
    let dropped = |it: &Call| it.fence.attempt == 1 && !it.heard;
    world.calls.iter().any(second) && world.calls.iter().any(dropped)
}
