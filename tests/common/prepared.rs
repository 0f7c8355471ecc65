//! Commands with their fingerprints, made once: where a test lets millions of requests arrive.

use oncegate::core::command::{Command, Fingerprint, Malformed};
use oncegate::core::identity::{Digest, Nonce, RequestId};
use oncegate::core::policy::Operation;
use oncegate::core::reply::{Body, Reply};
use oncegate::core::step::{Arrival, Manner};

/// A command with its fingerprint under the recipe of one policy.
#[derive(Debug)]
pub struct Prepared {
    command: Command<'static>,
    fingerprint: Result<Fingerprint, Malformed>,
}

/// How a request comes, beside what it asks for.
#[derive(Clone, Copy, Debug)]
pub struct Coming {
    pub request: RequestId,
    pub manner: Manner,
    pub nonce: Nonce,
    pub call_open: bool,
    pub probe_open: bool,
    pub events: bool,
}

impl Prepared {
    /// A request of the operation of these tests with a JSON body.
    pub fn new(operation: &Operation, body: &'static [u8]) -> Self {
        let headers: &'static [(String, String)] = Box::leak(Box::new([(
            "content-type".to_owned(),
            "application/json".to_owned(),
        )]));
        let command = Command {
            operation: "create_payment",
            method: "POST",
            path: "/v1/payments",
            query: None,
            headers,
            body,
            max_decoded: 1 << 20,
        };
        let fingerprint = operation.recipe.fingerprint(&command);
        Self {
            command,
            fingerprint,
        }
    }

    /// Its arrival.
    pub fn arrival<'a>(&'a self, operation: &'a Operation, coming: Coming) -> Arrival<'a> {
        Arrival {
            operation,
            request: coming.request,
            manner: coming.manner,
            command: &self.command,
            fingerprint: self.fingerprint.as_ref(),
            kept: &[],
            owner: Digest::of(b"owner"),
            nonce: coming.nonce,
            call_open: coming.call_open,
            probe_open: coming.probe_open,
            events: coming.events,
            secret: true,
            uncounted: false,
        }
    }
}

/// A reply of the origin, as it is kept.
pub fn reply(status: u16, body: Body) -> Reply {
    Reply {
        status,
        headers: Vec::new(),
        body,
        seal: None,
    }
}
