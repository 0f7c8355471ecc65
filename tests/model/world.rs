//! The state of the model: what is durable, what an instance of the gate has in memory, what is at
//! the origin, and what the clients know.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use oncegate::core::identity::{Fence, RequestId};
use oncegate::core::policy::{OnRepeat, Operation, Recovery};
use oncegate::core::record::Record;
use oncegate::core::time::Millis;
use serde_json::Value;

use crate::common::prepared::Prepared;
use crate::common::{OTHER, SAME, operation};

/// How far the model goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Requests of each client, beside the front's second tries.
    pub(crate) tries: [u8; 2],
    /// Crashes, failed writes and probes that find nothing out, together.
    pub(crate) faults: u8,
    /// How often time moves on, to the next moment at which something can change.
    pub(crate) advances: u8,
    /// Whether the second client sends another command.
    pub(crate) other_command: bool,
}

/// One run: a policy and its bounds.
pub(crate) struct Model {
    pub(crate) operation: &'static Operation,
    pub(crate) bounds: Bounds,
    same: Prepared,
    other: Prepared,
}

impl Model {
    pub(crate) fn new(fields: Value, bounds: Bounds) -> Self {
        let operation = operation(fields);
        Self {
            operation,
            bounds,
            same: Prepared::new(operation, SAME),
            other: Prepared::new(operation, OTHER),
        }
    }

    /// What a client sends.
    pub(crate) fn command(&self, client: usize) -> &Prepared {
        if self.sends_other(client) {
            &self.other
        } else {
            &self.same
        }
    }

    pub(crate) fn sends_other(&self, client: usize) -> bool {
        self.bounds.other_command && client == 1
    }

    pub(crate) fn reruns(&self) -> bool {
        self.operation.recovery == Recovery::Rerun
    }

    pub(crate) fn asks(&self) -> bool {
        matches!(self.operation.recovery, Recovery::Reconcile(_))
    }

    /// Whether a failure is an answer for good.
    pub(crate) fn failures_are_final(&self) -> bool {
        self.operation.on_repeat == OnRepeat::Replay
    }
}

/// A record as it is stored; its journal decides nothing and is left out.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    bytes: OnceLock<Vec<u8>>,
}

impl Stored {
    pub(crate) fn new(mut record: Record) -> Arc<Self> {
        record.journal.clear();
        Arc::new(Self {
            record,
            bytes: OnceLock::new(),
        })
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get_or_init(|| self.record.encode().unwrap())
    }
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Stored {}

impl Hash for Stored {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

/// An attempt at the origin.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Call {
    pub(crate) fence: Fence,
    /// Which command it carries.
    pub(crate) other: bool,
    pub(crate) sent: Millis,
    pub(crate) fate: Fate,
    /// Whether the instance that made it lives and still listens.
    pub(crate) heard: bool,
    /// The client that waits for its answer.
    pub(crate) caller: Option<usize>,
    /// Whether its head was stored.
    pub(crate) head: bool,
    pub(crate) timed_out: bool,
}

/// What the origin has made of an attempt.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Fate {
    /// Nothing yet; it may still come.
    Open,
    /// The effect.
    Applied,
    /// No effect, and none to come.
    Without,
}

/// A probe under way.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Asked {
    pub(crate) fence: Fence,
    pub(crate) since: Millis,
    pub(crate) sent: Millis,
    pub(crate) seen: Option<Seen>,
}

/// What the origin's look-up has answered.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Seen {
    Applied(Fence),
    Failed,
    NotApplied,
    Nothing,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Client {
    pub(crate) tries: u8,
    pub(crate) phase: Phase,
}

/// What a client, or the front for it, does.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Phase {
    Idle,
    /// Its attempt runs.
    Calling {
        request: RequestId,
        second: bool,
    },
    /// It waits in the object.
    Waiting {
        request: RequestId,
        second: bool,
        fence: Fence,
        until: Millis,
        woken: bool,
    },
    /// The call to the object failed: the front asks once more.
    Again(RequestId),
    Done,
}

/// An answer that was given out as the outcome.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Final {
    pub(crate) nonce: u64,
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether somebody got it who had sent another command.
    pub(crate) stranger: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct World {
    pub(crate) now: Millis,
    pub(crate) store: Option<Arc<Stored>>,
    pub(crate) alarm: Option<Millis>,
    pub(crate) calls: Vec<Call>,
    pub(crate) probe: Option<Asked>,
    pub(crate) clients: Vec<Client>,
    pub(crate) finals: Vec<Final>,
    pub(crate) faults: u8,
    pub(crate) advances: u8,
    pub(crate) drawn: u64,
}

impl World {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let client = |tries| Client {
            tries,
            phase: Phase::Idle,
        };
        Self {
            now: Millis(1_000),
            store: None,
            alarm: None,
            calls: Vec::new(),
            probe: None,
            clients: bounds.tries.map(client).into(),
            finals: Vec::new(),
            faults: bounds.faults,
            advances: bounds.advances,
            drawn: 0,
        }
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        self.store.as_ref().map(|stored| &stored.record)
    }

    /// The effects of one life.
    pub(crate) fn effects(&self, nonce: u64) -> impl Iterator<Item = &Call> {
        self.calls
            .iter()
            .filter(move |it| it.fence.nonce.0 == nonce && it.fate == Fate::Applied)
    }
}
