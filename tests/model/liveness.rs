//! Liveness, bounded: from every state, with no client, no further fault and fair scheduling, the
//! alarms alone bring the record to rest.

use oncegate::core::record::State;

use crate::actions::{Action, Way};
use crate::gate::Write;
use crate::world::{Model, Phase, Seen, World};

/// How many alarms that may take.
const ROUNDS: u32 = 12;

/// Whether a record that is left alone comes to rest: where the origin can be asked, truthful
/// answers settle it, and answers that say nothing have it escalated; elsewhere it settles or is
/// held as unknown, which no time may change.
pub(crate) fn settles(model: &Model, world: &World) -> bool {
    let open = world.record().is_some_and(|record| {
        matches!(
            record.state,
            State::InProgress { .. } | State::Unknown { .. }
        )
    });
    !open || (left_alone(model, world, true) && (!model.asks() || left_alone(model, world, false)))
}

fn left_alone(model: &Model, world: &World, truthful: bool) -> bool {
    let mut world = world.clone();
    for client in &mut world.clients {
        client.phase = Phase::Done;
    }
    for _ in 0..ROUNDS {
        calls_end(model, &mut world);
        probe_ends(model, &mut world, truthful);
        let at_rest = match world.record() {
            None => true,
            Some(record) => match record.state {
                State::InProgress { .. } => false,
                State::Unknown { .. } if model.asks() => !truthful && record.escalated,
                _ => true,
            },
        };
        if at_rest {
            return true;
        }
        let Some(alarm) = world.alarm else {
            return false;
        };
        world.now = world.now.max(alarm);
        world.happen(
            model,
            Action::Alarm {
                write: Write::Works,
            },
        );
    }
    false
}

/// The connection of every attempt ends, in the worst way.
fn calls_end(model: &Model, world: &mut World) {
    for call in 0..world.calls.len() {
        if world.calls[call].heard {
            let way = if world.calls[call].head {
                Way::BrokenOff
            } else {
                Way::Lost
            };
            world.answered(model, call, way, Write::Works);
        }
    }
}

fn probe_ends(model: &Model, world: &mut World, truthful: bool) {
    let Some(asked) = world.probe.clone() else {
        return;
    };
    if asked.seen.is_none() {
        let nonce = asked.fence.nonce.0;
        let applied = world
            .effects(nonce)
            .next()
            .map(|it| Seen::Applied(it.fence));
        let seen = if truthful {
            applied.unwrap_or(Seen::NotApplied)
        } else {
            world.faults += 1;
            Seen::Nothing
        };
        world.look_up(seen);
    }
    world.probe_returns(model, Write::Works);
}
