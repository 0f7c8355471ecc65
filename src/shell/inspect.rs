//! What an object shows of its record, and what an operator has forgotten of it.
//!
//! Owns the answers to the status route and to a purge. It decides neither: whether a record may
//! be purged is `core::step`'s, and what the status says is `core::wire`'s.

use std::rc::Rc;

use worker::Response;

use super::gate::{Object, not_found, unavailable};
use super::{clock, http, log, policy};
use crate::core::answer::{Answer, Problem};
use crate::core::code::Code;
use crate::core::envelope::Envelope;
use crate::core::identity::Nonce;
use crate::core::record::{Record, State};
use crate::core::step::Event;
use crate::core::wire::{self, Context};

impl Object {
    /// How far the operation is, for its own principal.
    pub(super) fn status(
        self: &Rc<Self>,
        envelope: &Envelope,
        nonce: Option<Nonce>,
    ) -> worker::Result<Response> {
        let record = match self.look(nonce) {
            Ok(record) => record,
            Err(fault) => {
                log::fault(&fault);
                return unavailable("the record cannot be read");
            }
        };
        let visible = record.as_ref().filter(|record| {
            record.owner == envelope.owner
                && !record.forgotten(clock())
                && record.operation == envelope.operation
        });
        match visible {
            Some(record) => {
                let reference = envelope.name.reference(record.nonce);
                http::response(&wire::status(record, &reference))
            }
            None => http::response(&not_found(
                policy::loaded(&self.env).statuses(),
                &envelope.base,
            )),
        }
    }

    /// Has a settled reply forgotten, and shows what is left.
    pub(super) fn purge(
        self: &Rc<Self>,
        envelope: &Envelope,
        nonce: Nonce,
        reason: &str,
    ) -> worker::Result<Response> {
        let step = match self.transact(Event::Purged { nonce, reason }) {
            Ok(step) => step,
            Err(fault) => {
                log::fault(&fault);
                return unavailable("the record cannot be read");
            }
        };
        let meant = |record: &&Record| {
            record.nonce == nonce
                && record.operation == envelope.operation
                && !record.forgotten(clock())
        };
        let house = policy::loaded(&self.env).statuses();
        let Some(record) = step.record.as_ref().filter(meant) else {
            return http::response(&not_found(house, &envelope.base));
        };
        let running = match record.state {
            State::InProgress { .. } => Some(Code::InProgress),
            State::Unknown { .. } => Some(Code::OutcomeUnknown),
            State::Completed(_)
            | State::Expired { .. }
            | State::FailedReplayable(_)
            | State::FailedRetryable { .. } => None,
        };
        let reference = envelope.name.reference(record.nonce);
        let Some(code) = running else {
            return http::response(&wire::status(record, &reference));
        };
        let context = Context {
            operation: None,
            house,
            base: &envelope.base,
            reference: Some(&reference),
            mismatch: false,
        };
        let detail = "only what is settled can be purged";
        let problem = Problem {
            status: Some(409),
            ..Problem::detailed(code, detail)
        };
        http::response(&wire::message(&Answer::Problem(problem), context))
    }
}
