//! All storage of an object.
//!
//! Owns where the record is kept and the object's alarm. It never decides: it loads, saves and
//! erases what it is told. It is correct because every call is synchronous: load, decision, save
//! and alarm are one stretch without an await, which the runtime commits as one write and before
//! anything that the object sends.

use std::sync::Arc;

use js_sys::Uint8Array;
use wasm_bindgen::{JsCast, JsValue};
use worker::State;

use super::js;
use crate::core::record::Record;
use crate::core::stored::{CHUNK, Unreadable};
use crate::core::time::Millis;

/// The row that counts the slots, where there is more than one.
const SLOTS: &str = "slots";

/// The row of the record in a slot.
fn record_row(slot: usize) -> String {
    format!("record/{slot}")
}

/// Something that keeps the object from doing its work safely.
#[derive(Debug)]
pub(super) enum Fault {
    /// The storage refused.
    Storage(String),
    /// The record is of another version of the code, or damaged.
    Record(Unreadable),
}

/// What was stored of bodies before a step, so that they are not stored again after it.
#[derive(Debug, Default)]
pub(super) struct Before {
    bodies: Vec<Arc<Vec<u8>>>,
    chunks: usize,
}

impl Before {
    pub(super) fn of(record: Option<&Record>) -> Self {
        let Some(record) = record.filter(|record| record.is_long()) else {
            return Self::default();
        };
        Self {
            bodies: record.bodies().cloned().collect(),
            chunks: record.chunks(),
        }
    }

    fn has_bodies_of(&self, record: &Record) -> bool {
        let long: Vec<_> = if record.is_long() {
            record.bodies().collect()
        } else {
            Vec::new()
        };
        long.len() == self.bodies.len()
            && long
                .iter()
                .zip(&self.bodies)
                .all(|(after, before)| Arc::ptr_eq(after, before))
    }
}

/// The row of a chunk of long bodies.
fn chunk_row(slot: usize, number: usize) -> String {
    format!("record/{slot}/body/{number}")
}

/// The storage of one object.
#[derive(Clone)]
pub(super) struct Store {
    storage: js::Storage,
}

impl Store {
    pub(super) fn of(state: &State) -> Self {
        let storage = state.storage();
        let raw: &JsValue = storage.as_raw().as_ref();
        Self {
            storage: raw.clone().unchecked_into(),
        }
    }

    /// How many slots there are; an object that holds one record at most has one.
    pub(super) fn slots(&self) -> Result<usize, Fault> {
        let value = self.storage.kv()?.get(SLOTS)?;
        let slots = value.as_f64().unwrap_or(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small whole number that this module has written"
        )]
        Ok(slots as usize)
    }

    /// Counts a slot that is used for the first time.
    pub(super) fn set_slots(&self, slots: usize, slot: usize, used: bool) -> Result<(), Fault> {
        if used && slot >= slots {
            let count = u32::try_from(slot.saturating_add(1)).unwrap_or(u32::MAX);
            self.storage.kv()?.put(SLOTS, &JsValue::from(count))?;
        }
        Ok(())
    }

    /// The record in a slot, if there is one.
    pub(super) fn load(&self, slot: usize) -> Result<Option<Record>, Fault> {
        let value = self.storage.kv()?.get(&record_row(slot))?;
        if value.is_undefined() || value.is_null() {
            return Ok(None);
        }
        let bytes: Uint8Array = value
            .dyn_into()
            .map_err(|_| Fault::Record(Unreadable::Damaged))?;
        Record::decode(&bytes.to_vec(), |length| {
            self.load_chunks(slot, length).ok()
        })
        .map(Some)
        .map_err(Fault::Record)
    }

    /// Stores a record. The outcome goes first and long bodies after it: if one of them cannot be
    /// stored, the reply is lost and the outcome is not.
    pub(super) fn save(&self, slot: usize, record: &Record, before: &Before) -> Result<(), Fault> {
        self.put_record(slot, record)?;
        if let Err(fault) = self.save_chunks(slot, record, before) {
            worker::console_error!("a long reply is lost: {fault}");
            // What was written of it would be found by nobody, and be left behind.
            for number in 0..record.chunks() {
                self.storage.kv()?.delete(&chunk_row(slot, number))?;
            }
            let mut record = record.clone();
            record.lose_bodies();
            self.put_record(slot, &record)?;
        }
        Ok(())
    }

    fn put_record(&self, slot: usize, record: &Record) -> Result<(), Fault> {
        let bytes = record
            .encode()
            .map_err(|error| Fault::Storage(error.to_string()))?;
        let value = Uint8Array::from(bytes.as_slice());
        Ok(self.storage.kv()?.put(&record_row(slot), &value)?)
    }

    /// Stores long bodies in chunks, unless they are the very ones that are stored already.
    fn save_chunks(&self, slot: usize, record: &Record, before: &Before) -> Result<(), Fault> {
        if before.has_bodies_of(record) {
            return Ok(());
        }
        let kv = self.storage.kv()?;
        let bytes = record.long_bodies();
        let mut stored = 0;
        for chunk in bytes.chunks(CHUNK) {
            super::faults::write_chunk(stored)?;
            kv.put(&chunk_row(slot, stored), &Uint8Array::from(chunk))?;
            stored = stored.saturating_add(1);
        }
        for left_over in stored..before.chunks {
            kv.delete(&chunk_row(slot, left_over))?;
        }
        Ok(())
    }

    fn load_chunks(&self, slot: usize, length: usize) -> Result<Vec<u8>, Fault> {
        let kv = self.storage.kv()?;
        let mut bytes = Vec::with_capacity(length);
        for number in 0..length.div_ceil(CHUNK) {
            let chunk: Uint8Array = kv
                .get(&chunk_row(slot, number))?
                .dyn_into()
                .map_err(|_| Fault::Record(Unreadable::Damaged))?;
            let start = bytes.len();
            bytes.resize(start.saturating_add(chunk.length() as usize), 0);
            if let Some(space) = bytes.get_mut(start..) {
                chunk.copy_to(space);
            }
        }
        Ok(bytes)
    }

    /// Sets the alarm. To set it to the time that it has costs nothing.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds stay far below 2^53"
    )]
    pub(super) fn wake_at(&self, at: Millis) -> Result<(), Fault> {
        // The promise only tells when the alarm is durable, and the output gate waits for that.
        self.storage
            .set_alarm(at.0 as f64)
            .map(drop)
            .map_err(Fault::from)
    }

    /// Leaves nothing of the record in a slot; with the last record the object is emptied, its
    /// alarm included.
    pub(super) fn erase(&self, slot: usize, before: &Before) -> Result<(), Fault> {
        let kv = self.storage.kv()?;
        for other in (0..self.slots()?).filter(|other| *other != slot) {
            if !kv.get(&record_row(other))?.is_undefined() {
                kv.delete(&record_row(slot))?;
                for number in 0..before.chunks {
                    kv.delete(&chunk_row(slot, number))?;
                }
                return Ok(());
            }
        }
        self.storage.delete_all().map(drop).map_err(Fault::from)
    }
}

impl From<JsValue> for Fault {
    fn from(error: JsValue) -> Self {
        Self::Storage(js::said(&error))
    }
}

impl From<worker::Error> for Fault {
    fn from(error: worker::Error) -> Self {
        Self::Storage(error.to_string())
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Storage(error) => write!(f, "the storage refused: {error}"),
            Self::Record(Unreadable::Format(format)) => {
                write!(
                    f,
                    "the record has format {format}, which this version does not know"
                )
            }
            Self::Record(Unreadable::Damaged) => f.write_str("the record is damaged"),
        }
    }
}
