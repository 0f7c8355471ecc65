//! All storage of an object.
//!
//! Owns where the record is kept and the object's alarm. It never decides: it loads, saves and
//! erases what it is told. It is correct because every call is synchronous: load, decision, save
//! and alarm are one stretch without an await, which the runtime commits as one write and before
//! anything that the object sends.

use js_sys::Uint8Array;
use wasm_bindgen::{JsCast, JsValue};
use worker::State;

use super::js;
use crate::core::record::{Record, Unreadable};
use crate::core::time::Millis;

/// The row of the record. Rows are named by record, so that an object may come to hold several.
const RECORD: &str = "record/0";

/// Something that keeps the object from doing its work safely.
#[derive(Debug)]
pub(super) enum Fault {
    /// The storage refused.
    Storage(String),
    /// The record is of another version of the code, or damaged.
    Record(Unreadable),
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

    /// The record, if there is one.
    pub(super) fn load(&self) -> Result<Option<Record>, Fault> {
        let value = self.storage.kv()?.get(RECORD)?;
        if value.is_undefined() || value.is_null() {
            return Ok(None);
        }
        let bytes: Uint8Array = value
            .dyn_into()
            .map_err(|_| Fault::Record(Unreadable::Damaged))?;
        Record::decode(&bytes.to_vec())
            .map(Some)
            .map_err(Fault::Record)
    }

    /// Stores the record, and sets the alarm to when it has to be looked at again.
    pub(super) fn save(&self, record: &Record, wake: Option<Millis>) -> Result<(), Fault> {
        let bytes = record
            .encode()
            .map_err(|error| Fault::Storage(error.to_string()))?;
        self.storage
            .kv()?
            .put(RECORD, &Uint8Array::from(bytes.as_slice()))?;
        match wake {
            Some(at) => self.wake_at(at),
            // An alarm that is left over finds nothing to do.
            None => Ok(()),
        }
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

    /// Leaves nothing in the object, the alarm included.
    pub(super) fn erase(&self) -> Result<(), Fault> {
        self.storage.delete_all().map(drop).map_err(Fault::from)
    }
}

impl From<JsValue> for Fault {
    fn from(error: JsValue) -> Self {
        Self::Storage(format!("{error:?}"))
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
