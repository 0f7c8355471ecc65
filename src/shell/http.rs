//! Requests and responses between the runtime and the core.
//!
//! Owns reading the head of a request, the headers that may travel, and building responses. It
//! never interprets any of them. Responses are built through calls that report errors, because the
//! convenient ones panic on a status or a body that the runtime refuses.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use web_sys::{Headers, ReadableStream, ResponseInit};
use worker::{EncodeBody, Response};

use crate::core::wire::{Message, bodiless};

/// Headers that belong to one connection and never travel on, RFC 9110 §7.6.1.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
];

/// The parts of a request's URL, as they came.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Scheme and authority.
    pub(super) base: String,
    /// Path and query.
    pub(super) target: String,
}

impl Target {
    /// Takes a URL apart without changing it.
    pub(super) fn of(url: &str) -> Self {
        let authority = url.find("://").map_or(0, |at| at.saturating_add(3));
        let rest = url.get(authority..).unwrap_or_default();
        let path = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, target) = rest.split_at_checked(path).unwrap_or((rest, ""));
        let target = target.split('#').next().unwrap_or_default();
        let slash = if target.starts_with('/') { "" } else { "/" };
        Self {
            base: format!("{}{host}", url.get(..authority).unwrap_or_default()),
            target: format!("{slash}{target}"),
        }
    }

    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(super) fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }
}

/// The headers in lower case as the runtime gives them: repeats joined, each cookie by itself.
/// They cross over in one piece, which is much cheaper than one by one.
pub(super) fn pairs(headers: &Headers) -> Vec<(String, String)> {
    let text = js_sys::JSON::stringify(&Array::from(headers));
    let text = text.ok().and_then(|text| text.as_string());
    text.and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Removes what belongs to one connection, and what only the gate may say.
pub(super) fn travelling(pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let listed: Vec<String> = pairs
        .iter()
        .filter(|(name, _)| name == "connection")
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let stays = |name: &str| {
        HOP_BY_HOP.binary_search(&name).is_ok()
            || name.starts_with("oncegate-")
            || listed.iter().any(|it| it == name)
    };
    pairs.into_iter().filter(|(name, _)| !stays(name)).collect()
}

/// The runtime's headers of some pairs; what it refuses is left out.
pub(super) fn headers(pairs: &[(String, String)]) -> Result<Headers, JsValue> {
    let headers = Headers::new()?;
    for (name, value) in pairs {
        if headers.append(name, value).is_err() {
            worker::console_warn!("a header was left out, because the runtime refuses its value");
        }
    }
    Ok(headers)
}

/// A response that the gate makes.
pub(super) fn response(message: &Message) -> worker::Result<Response> {
    let body = if bodiless(message.status) {
        Body::None
    } else {
        Body::Bytes(&message.body)
    };
    build(message.status, &message.headers, body)
}

/// The body of a response.
pub(super) enum Body<'a> {
    Bytes(&'a [u8]),
    None,
    Stream(&'a ReadableStream),
}

/// Builds a response whose body is as its headers say: the runtime encodes nothing.
pub(super) fn build(
    status: u16,
    pairs: &[(String, String)],
    body: Body<'_>,
) -> worker::Result<Response> {
    let init = ResponseInit::new();
    init.set_status(status);
    let headers = headers(pairs)?;
    init.set_headers(headers.as_ref());
    let response = match body {
        Body::Bytes(bytes) => {
            let bytes = Uint8Array::from(bytes);
            web_sys::Response::new_with_opt_buffer_source_and_init(Some(&bytes), &init)
        }
        Body::None => web_sys::Response::new_with_opt_str_and_init(None, &init),
        Body::Stream(stream) => {
            web_sys::Response::new_with_opt_readable_stream_and_init(Some(stream), &init)
        }
    }?;
    Ok(Response::from(response).with_encode_body(EncodeBody::Manual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_without_changing_it() {
        for (url, base, target) in [
            ("http://h/v1/%70ay?a=%2F", "http://h", "/v1/%70ay?a=%2F"),
            ("https://h:8443//v1;x", "https://h:8443", "//v1;x"),
            ("http://h", "http://h", "/"),
            ("http://h?a=1", "http://h", "/?a=1"),
        ] {
            let split = Target::of(url);
            assert_eq!((split.base.as_str(), split.target.as_str()), (base, target));
        }
    }

    #[test]
    fn what_belongs_to_a_connection_or_to_the_gate_does_not_travel() {
        assert!(HOP_BY_HOP.is_sorted());
        let pairs = [
            ("accept", "*/*"),
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("expect", "100-continue"),
            ("oncegate-reference", "forged"),
            ("idempotency-key", "k"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let left: Vec<_> = travelling(pairs.into())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(left, ["accept", "idempotency-key"]);
    }
}
