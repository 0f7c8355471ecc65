//! oncegate: an idempotency gate for HTTP APIs that runs at the edge.
//!
//! An effect never happens twice because of the gate, nobody gets somebody else's answer, and what
//! the gate does not know it says it does not know.
//!
//! # Bird's eye
//!
//! ```text
//! client ──> front Worker ────────────> Gate (Durable Object, one per scoped key) ──> origin
//!            match the operation         load ─ step ─ save ─ alarm                    ▲
//!            read key, principal, scope      │   (one synchronous stretch)             probe
//!            read the body, name the object  └─> perform ── what comes of it re-enters as an event
//! ```
//!
//! [`core`] decides and never acts; `shell` acts and never decides. The core is a function of
//! values, `step(record, event, moment) -> Step`, without I/O, clock, randomness or panic, so that
//! everything that decides is tested on the host. The shell loads, steps, saves, sets the alarm and
//! performs, and what its actions come to enters again as an event.
//!
//! # Code map
//!
//! | where | what it owns |
//! |---|---|
//! | `core::policy` | the policy: reading, checking, matching of targets |
//! | `core::admission`, `parts`, `key`, `identity` | what a request must show, and the name of its object |
//! | `core::principal`, `jwt`, `keys` | who a request is from |
//! | `core::command` | the canonical command, its hash, and how a record judges a retry |
//! | `core::step` | the state machine |
//! | `core::record`, `stored`, `reply`, `outbox` | what is persisted, and how |
//! | `core::outcome`, `recovery` | what the origin's answers and probes mean |
//! | `core::answer`, `code`, `wire` | what clients see |
//! | `core::envelope` | what the front hands to the object |
//! | `shell::front`, `pass`, `well_known` | a request before it reaches its object |
//! | `shell::principal`, `authorize`, `limit` | what has to be asked elsewhere: keys, the origin, the limiter |
//! | `shell::gate`, `records`, `store` | the object: its requests, its records, its rows |
//! | `shell::attempt`, `origin`, `probe` | calls to the origin |
//! | `shell::events`, `waiters`, `seal` | delivery, waiting, encryption |
//!
//! # The states of a record
//!
//! | state | meaning | ends |
//! |---|---|---|
//! | in progress | claimed: the command is at the origin or about to be | by an answer, or at the end of its lease |
//! | completed | done; the reply is kept, not kept, or lost | at the end of its windows |
//! | failed, replayable | a final failure: repeats get the same answer | likewise |
//! | failed, retryable | certainly without effect: the same command may run again | by a claim, or with the tombstone |
//! | unknown | nobody knows | by evidence only: a late answer, a probe's verdict |
//! | expired | the reply is gone, the key still remembered | with the tombstone |
//!
//! # Invariants
//!
//! * **Insert first.** A claim is stored in the stretch that decides it, and the runtime's output
//!   gate holds the call to the origin until that write is durable.
//! * **The object owns the attempt.** A client that hangs up ends nothing; nothing here sends a
//!   command twice, follows a redirect or trusts a hint that a call may be repeated.
//! * **Nothing of an answer leaves the object before its outcome is stored.**
//! * **Every life of a key has a nonce, every attempt a number.** An answer that does not match is
//!   evidence at most, and never overwrites.
//! * **Content is compared before state.** Another command never waits and never gets a receipt.
//! * **Unknown is a state of its own.** Time alone never ends it.
//! * **Memory may extend or hold back, never decide.** Waiters and open calls may be lost.
//! * **Fail closed.** Without store, policy, secret or a known version nothing is forwarded.
//! * **The core imports nothing of the platform**, and nothing but `shell::records` writes a record.
//!
//! # Where this differs from the usual proposal
//!
//! * The status of an operation, events and alarms go through the same `step` as requests do: what
//!   a record's own times say is settled by whoever looks first.
//! * A step that finds something to ask or to tell says so beside its reaction (`probe`,
//!   `deliver`), instead of a list of actions: there is at most one of each.
//! * The synchronous key-value interface of the storage holds one value a record, with short
//!   bodies behind it, so that a new key costs four rows up to its stored reply.

#[cfg(feature = "cli")]
pub mod cli;
pub mod core;
mod shell;

pub use shell::Gate;
