//! What a request must show before it goes to its object.
//!
//! Owns reading who and what a request is, and its body, in an order that costs least where it is
//! refused: the key, then the principal, which may have to be found out elsewhere, then the body,
//! unless the key stands in it. It decides nothing (`core::admission` does), and what it refuses
//! has touched no object and no origin.

use js_sys::Uint8Array;
use js_sys::futures::JsFuture;

use super::front::Incoming_;
use super::origin::read_up_to;
use super::principal;
use crate::core::admission::{Identified, Incoming, identify, key};
use crate::core::answer::Problem;
use crate::core::code::Code;
use crate::core::command::content;
use crate::core::identity::counted_as;
use crate::core::policy::{Operation, Params, Policy};
use crate::core::reply::Read;

/// A request that may go to its object.
pub(super) struct Admitted {
    pub(super) identified: Identified,
    pub(super) counted_as: Option<String>,
}

/// Why a request does not go to an object.
pub(super) enum Stop {
    /// It has no key, and the policy lets such requests pass; its body, if that has been read.
    Bypass(Option<Vec<u8>>),
    /// It is refused.
    Problem(Problem),
}

/// Reads who and what a request is, and its body. Whoever it is from is found out before the body
/// is read, unless the key stands in it.
pub(super) async fn admit(
    incoming: &Incoming_<'_>,
    policy: &Policy,
    operation: &Operation,
    params: &Params,
) -> worker::Result<Result<(Vec<u8>, Admitted), Stop>> {
    let headers = &incoming.headers;
    let mut body = None;
    if operation.reads_body() {
        match read_body(incoming, operation, headers).await? {
            Ok(read) => body = Some(read),
            Err(problem) => return Ok(Err(Stop::Problem(problem))),
        }
    }
    let found = async {
        let limit = operation.max_body.saturating_mul(8);
        let decoded = body.as_ref().map(|body| content(headers, body, limit));
        let decoded = decoded.transpose().map_err(|malformed| {
            Stop::Problem(Problem::detailed(Code::CommandMalformed, malformed.detail))
        })?;
        let identifying = Incoming {
            headers,
            query: incoming.target.query(),
            params,
            body: decoded.as_deref(),
        };
        let Some(key) = key(operation, identifying).map_err(Stop::Problem)? else {
            return Err(Stop::Bypass(None));
        };
        let principal = principal::of(policy, operation, headers).await;
        let principal = principal.map_err(Stop::Problem)?;
        let identified = identify(operation, identifying, &key, &principal);
        Ok(Admitted {
            identified: identified.map_err(Stop::Problem)?,
            counted_as: operation
                .limit
                .then(|| counted_as(&operation.name, &principal)),
        })
    };
    let admitted = match found.await {
        Ok(admitted) => admitted,
        Err(Stop::Bypass(_)) => return Ok(Err(Stop::Bypass(body))),
        Err(stop @ Stop::Problem(_)) => return Ok(Err(stop)),
    };
    let body = match body {
        Some(body) => body,
        None => match read_body(incoming, operation, headers).await? {
            Ok(body) => body,
            Err(problem) => return Ok(Err(Stop::Problem(problem))),
        },
    };
    Ok(Ok((body, admitted)))
}

/// Reads the whole body, as far as the operation takes it.
async fn read_body(
    incoming: &Incoming_<'_>,
    operation: &Operation,
    headers: &[(String, String)],
) -> worker::Result<Result<Vec<u8>, Problem>> {
    let most = operation.max_body;
    let too_large = || {
        let detail = format!("the body may be at most {most} bytes long");
        Ok(Err(Problem::detailed(Code::BodyTooLarge, detail)))
    };
    let declared = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.trim().parse::<usize>().ok());
    if declared.is_some_and(|length| length > most) {
        return too_large();
    }
    let raw = incoming.request.inner();
    let Some(stream) = raw.body() else {
        return Ok(Ok(Vec::new()));
    };
    let read = match declared {
        // One crossing for a body whose length is known.
        Some(length) => read_declared(raw, length).await,
        None => read_up_to(&stream, most).await,
    };
    let body = match read {
        Read::Whole(body) => body,
        Read::TooLong => return too_large(),
        Read::BrokeOff => {
            return Ok(Err(Problem::detailed(
                Code::CommandMalformed,
                "the body broke off before its end; nothing was forwarded",
            )));
        }
    };
    if !body.is_empty() && matches!(incoming.method.as_str(), "GET" | "HEAD") {
        let detail = format!(
            "a {} request on this operation has no body",
            incoming.method
        );
        return Ok(Err(Problem::detailed(Code::CommandMalformed, detail)));
    }
    Ok(Ok(body))
}

async fn read_declared(request: &web_sys::Request, length: usize) -> Read {
    let bytes = match request.array_buffer() {
        Ok(promise) => JsFuture::from(promise).await,
        Err(error) => Err(error),
    };
    match bytes.map(|buffer| Uint8Array::new(&buffer).to_vec()) {
        Ok(bytes) if bytes.len() == length => Read::Whole(bytes),
        Ok(_) | Err(_) => Read::BrokeOff,
    }
}
