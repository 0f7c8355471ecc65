//! The records of an object, and the one way to change them.
//!
//! Owns the synchronous stretch: find the record that an event is about, load, step, save and
//! alarm, without an await. It never decides, and nothing else writes to the storage. An object
//! holds one record, or one for every command where the policy says so; the alarm is the earliest
//! time at which any of them has to be looked at.

use std::rc::Rc;

use super::gate::Object;
use super::store::{Before, Fault};
use super::{clock, events, log, policy, probe, random};
use crate::core::code::Code;
use crate::core::identity::Nonce;
use crate::core::outbox::Notice;
use crate::core::policy::{OnMismatch, Operation};
use crate::core::record::Record;
use crate::core::step::{Arrival, Choice, Event, Moment, Note, Step, choose, step};
use crate::core::time::{Millis, Span};

/// How soon a record is looked at again that this version of the code cannot read.
const UNREADABLE: Span = Span::seconds(3_600);

/// A slot, and the record that was loaded from it.
type Aim = (usize, Option<Record>);

impl Object {
    /// Lets an event happen to the record that it is about.
    pub(super) fn transact(self: &Rc<Self>, event: Event<'_>) -> Result<Step, Fault> {
        let slots = self.store.slots()?;
        match self.aim(&event, slots)? {
            Some((slot, stored)) => self.happen(slot, slots, stored, event),
            None => Ok(Step::refused(Code::KeyReused)),
        }
    }

    /// Lets an event happen to the record in a slot.
    pub(super) fn transact_in(
        self: &Rc<Self>,
        slot: usize,
        event: Event<'_>,
    ) -> Result<Step, Fault> {
        let stored = self.store.load(slot)?;
        self.happen(slot, self.store.slots()?, stored, event)
    }

    /// Lets an event happen to a record that was loaded in this very stretch.
    fn happen(
        self: &Rc<Self>,
        slot: usize,
        slots: usize,
        stored: Option<Record>,
        event: Event<'_>,
    ) -> Result<Step, Fault> {
        let before = Before::of(stored.as_ref());
        let (event, operation) = self.complete(event, stored.as_ref());
        let moment = Moment {
            now: clock(),
            operation,
            draw: random()?,
        };
        let step = step(stored, event, moment);
        if step.save {
            let wake = self.earliest(slot, slots, step.wake, moment.now)?;
            match &step.record {
                Some(record) => self.store.save(slot, record, &before)?,
                None => self.store.erase(slot, &before)?,
            }
            self.store.set_slots(slots, slot, step.record.is_some())?;
            if let Some(wake) = wake {
                self.store.wake_at(wake)?;
            }
        }
        self.report(&step);
        self.follow_up(&step);
        Ok(step)
    }

    fn operation_of(&self, record: Option<&Record>) -> Option<&'static Operation> {
        policy::operation(&self.env, &record?.operation)
    }

    /// The alarm rang: everything that is due happens, and the alarm is set anew.
    pub(super) fn ring(self: &Rc<Self>) -> Result<(), Fault> {
        let mut next: Option<Millis> = None;
        let mut fault = None;
        let slots = self.store.slots()?;
        for slot in 0..slots {
            let rung = self
                .store
                .load(slot)
                .and_then(|stored| self.happen(slot, slots, stored, Event::Alarm));
            let step = match rung {
                Ok(step) => step,
                Err(error @ Fault::Storage(_)) => return Err(error),
                // It stays as it is, and keeps no other from what is due.
                Err(error @ Fault::Record(_)) => {
                    next = next.into_iter().chain([clock().after(UNREADABLE)]).min();
                    fault = fault.or(Some(error));
                    continue;
                }
            };
            if step.save {
                self.wake_waiters(step.record.as_ref().map(|record| record.nonce));
            }
            // What was saved has set the alarm already.
            let set = step.save && slots == 1;
            next = next.into_iter().chain(step.wake.filter(|_| !set)).min();
        }
        if let Some(at) = next {
            self.store.wake_at(at)?;
        }
        if let Some(fault) = fault {
            log::fault(&fault);
        }
        Ok(())
    }

    /// The record to show: of this life, or the one that changed last.
    pub(super) fn look(self: &Rc<Self>, nonce: Option<Nonce>) -> Result<Option<Record>, Fault> {
        let meant = |record: &Record| nonce.is_none_or(|nonce| nonce == record.nonce);
        let mut shown: Option<Record> = None;
        let slots = self.store.slots()?;
        for slot in 0..slots {
            let step = self.happen(slot, slots, self.store.load(slot)?, Event::Looked)?;
            if step.save {
                self.wake_waiters(step.record.as_ref().map(|record| record.nonce));
            }
            if let Some(record) = step.record.filter(meant)
                && shown
                    .as_ref()
                    .is_none_or(|shown| shown.since <= record.since)
            {
                shown = Some(record);
            }
        }
        Ok(shown)
    }

    /// What waits to be told outside, and of which record.
    pub(super) fn news(&self) -> Option<(usize, String, Vec<Notice>)> {
        (0..self.store.slots().ok()?).find_map(|slot| {
            let record = self.store.load(slot).ok()??;
            let outbox = record.outbox.filter(|outbox| !outbox.waiting.is_empty())?;
            Some((slot, record.operation, outbox.waiting))
        })
    }

    /// The record that an event is about, and its slot; none if the request is refused for all.
    fn aim(&self, event: &Event<'_>, slots: usize) -> Result<Option<Aim>, Fault> {
        if let Some(life) = event.life()
            && let Some(found) = self.find(life, slots)?
        {
            return Ok(Some(found));
        }
        if let Event::Arrived(arrival) = event {
            return self.choose(*arrival, slots);
        }
        Ok(Some((0, self.store.load(0)?)))
    }

    /// The record of a life. One that cannot be read keeps nobody from another one.
    fn find(&self, life: Nonce, slots: usize) -> Result<Option<Aim>, Fault> {
        let mut fault = None;
        for slot in 0..slots {
            match self.store.load(slot) {
                Ok(Some(record)) if record.nonce == life => return Ok(Some((slot, Some(record)))),
                Ok(_) => {}
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(None), Err)
    }

    /// The record that a request is about. One record is looked at by `step` itself; several are
    /// told apart by their content, also when the policy keeps only one by now.
    fn choose(&self, arrival: Arrival<'_>, slots: usize) -> Result<Option<Aim>, Fault> {
        if slots == 1 && arrival.operation.on_mismatch != OnMismatch::Separate {
            return Ok(Some((0, self.store.load(0)?)));
        }
        let mut records = (0..slots)
            .map(|slot| self.store.load(slot))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(match choose(&records, arrival, clock()) {
            Choice::Slot(slot) => {
                let stored = records.get_mut(slot).and_then(Option::take);
                Some((slot, stored))
            }
            Choice::Refused => None,
        })
    }

    /// Puts into an event what only this instance knows, and finds the policy of its operation.
    fn complete<'a>(
        &self,
        event: Event<'a>,
        stored: Option<&Record>,
    ) -> (Event<'a>, Option<&'static Operation>) {
        let Event::Arrived(arrival) = event else {
            return (event, self.operation_of(stored));
        };
        let nonce = stored.map(|record| record.nonce);
        let arrival = Arrival {
            call_open: nonce.is_some_and(|nonce| self.has_call(nonce)),
            probe_open: nonce.is_some_and(|nonce| self.is_probing(nonce)),
            ..arrival
        };
        let operation = policy::operation(&self.env, &arrival.operation.name);
        (Event::Arrived(arrival), operation)
    }

    /// The earliest time at which any record has to be looked at.
    fn earliest(
        &self,
        slot: usize,
        slots: usize,
        wake: Option<Millis>,
        now: Millis,
    ) -> Result<Option<Millis>, Fault> {
        let mut earliest = wake;
        for other in (0..slots).filter(|other| *other != slot) {
            let wake = match self.store.load(other) {
                Ok(record) => record.and_then(|record| record.wake_at(now, true)),
                // It stops nobody else, and may be readable after the next deploy.
                Err(Fault::Record(_)) => Some(now.after(UNREADABLE)),
                Err(fault) => return Err(fault),
            };
            earliest = earliest.into_iter().chain(wake).min();
        }
        Ok(earliest)
    }

    /// Starts what a step asks for beside its reaction.
    fn follow_up(self: &Rc<Self>, step: &Step) {
        let Some(record) = &step.record else { return };
        if let Some(order) = step.probe
            && self.begin_probe(record.nonce)
        {
            self.spawn(probe::run(self.clone(), record.clone(), order));
        }
        if step.deliver && !self.delivering.replace(true) {
            self.spawn(events::deliver(self.clone()));
        }
    }

    fn report(&self, step: &Step) {
        let operation = step
            .record
            .as_ref()
            .map_or("-", |record| record.operation.as_str());
        for note in &step.notes {
            let what = match note {
                Note::AnotherLife => "an answer came for a life of the key that is over",
                Note::Disputed => "two attempts contradict each other",
                Note::Escalated => "an outcome is still unknown and needs a person",
                Note::LeaseLapsed => "an attempt ended without a result",
                Note::RecipeChanged => {
                    "the command recipe changed its meaning without a new version"
                }
            };
            log::warn(operation, self.name().as_deref(), what);
        }
    }
}
