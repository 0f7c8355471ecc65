//! Everything that can happen next.

use oncegate::core::identity::RequestId;
use oncegate::core::step::Manner;
use oncegate::core::time::Span;
use stateright::{Model as Checked, Property};

use crate::gate::Write;
use crate::origin;
use crate::properties;
use crate::world::{Fate, Model, Phase, Seen, World};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// A client sends a request; after a failed call to the object, the front does so once more.
    Sends {
        client: usize,
        write: Write,
    },
    /// A request that waits is looked at again.
    Woken {
        client: usize,
        gave_up: bool,
        write: Write,
    },
    /// The origin makes something of an attempt.
    Decides {
        call: usize,
        applied: bool,
    },
    /// Its answer reaches the gate.
    Answers {
        call: usize,
        way: Way,
        write: Write,
    },
    /// The head of its answer does, and the body takes its time.
    Head {
        call: usize,
        write: Write,
    },
    TimesOut {
        call: usize,
        write: Write,
    },
    Alarm {
        write: Write,
    },
    LookUp(Seen),
    ProbeReturns {
        write: Write,
    },
    Crash,
    Advance,
}

/// How an attempt is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    Success,
    BrokenOff,
    Refused,
    Busy,
    Denied,
    Relayed,
    Lost,
}

impl Checked for Model {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.bounds)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let mut writes = vec![Write::Works];
        if world.faults > 0 {
            writes.extend([Write::Lost, Write::Persisted]);
            actions.push(Action::Crash);
        }
        for write in writes {
            of_clients(world, self.bounds.other_command, write, actions);
            of_calls(world, write, actions);
            if world.store.is_some() {
                actions.push(Action::Alarm { write });
            }
            if world.probe.as_ref().is_some_and(|it| it.seen.is_some()) {
                actions.push(Action::ProbeReturns { write });
            }
        }
        for (call, it) in world.calls.iter().enumerate() {
            // As long as nobody can look, it makes no difference when it happens.
            let seen = !it.heard || it.timed_out;
            if it.fate == Fate::Open && seen {
                actions.push(Action::Decides {
                    call,
                    applied: true,
                });
                actions.push(Action::Decides {
                    call,
                    applied: false,
                });
            }
        }
        if let Some(asked) = world.probe.as_ref().filter(|it| it.seen.is_none()) {
            actions.extend(world.views(asked).into_iter().map(Action::LookUp));
        }
        if world.advances > 0 && world.next_moment(self).is_some() {
            actions.push(Action::Advance);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.happen(self, action).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}

fn of_clients(world: &World, other_command: bool, write: Write, actions: &mut Vec<Action>) {
    for (client, it) in world.clients.iter().enumerate() {
        match it.phase {
            // Two clients that do the same are one and the other: the first one begins.
            Phase::Idle if client == 1 && !other_command && world.drawn == 0 => {}
            Phase::Idle if it.tries > 0 => actions.push(Action::Sends { client, write }),
            Phase::Again(_) => actions.push(Action::Sends { client, write }),
            Phase::Waiting { until, woken, .. } => {
                if until <= world.now {
                    actions.push(Action::Woken {
                        client,
                        gave_up: true,
                        write,
                    });
                } else if woken {
                    actions.push(Action::Woken {
                        client,
                        gave_up: false,
                        write,
                    });
                }
            }
            Phase::Idle | Phase::Calling { .. } | Phase::Done => {}
        }
    }
}

fn of_calls(world: &World, write: Write, actions: &mut Vec<Action>) {
    for (call, it) in world.calls.iter().enumerate().filter(|(_, it)| it.heard) {
        for way in origin::ways(it) {
            actions.push(Action::Answers {
                call,
                way: *way,
                write,
            });
        }
        if it.fate != Fate::Without && !it.head {
            actions.push(Action::Head { call, write });
        }
        if !it.head && !it.timed_out && it.sent.after(Span(20)) <= world.now {
            actions.push(Action::TimesOut { call, write });
        }
    }
}

impl World {
    /// Lets something happen; no if it is nothing that can.
    pub(crate) fn happen(&mut self, model: &Model, action: Action) -> bool {
        match action {
            Action::Sends { client, write } => {
                let (request, manner) = self.request(client);
                self.arrive(model, client, request, manner, write)
            }
            Action::Woken {
                client,
                gave_up,
                write,
            } => {
                let Phase::Waiting { request, fence, .. } = self.clients[client].phase else {
                    return false;
                };
                let manner = Manner::Waited { fence, gave_up };
                self.arrive(model, client, request, manner, write)
            }
            Action::Decides { call, applied } => {
                self.calls[call].fate = if applied {
                    Fate::Applied
                } else {
                    Fate::Without
                };
                true
            }
            Action::Answers { call, way, write } => self.answered(model, call, way, write),
            Action::Head { call, write } => self.head(model, call, write),
            Action::TimesOut { call, write } => self.timed_out(model, call, write),
            Action::Alarm { write } => self.rings(model, write),
            Action::LookUp(seen) => {
                self.look_up(seen);
                true
            }
            Action::ProbeReturns { write } => self.probe_returns(model, write),
            Action::Crash => {
                self.crash();
                true
            }
            Action::Advance => {
                self.advances -= 1;
                let next = self.next_moment(model);
                self.now = next.unwrap_or(self.now);
                next.is_some()
            }
        }
    }

    /// The id of a client's next request, and how it comes.
    fn request(&mut self, client: usize) -> (RequestId, Manner) {
        if let Phase::Again(request) = self.clients[client].phase {
            return (request, Manner::SecondTry);
        }
        let it = &mut self.clients[client];
        let id = 100 * (client as u64 + 1) + u64::from(it.tries);
        it.tries -= 1;
        (RequestId(id), Manner::First)
    }
}
