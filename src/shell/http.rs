//! Requests and responses between the runtime and the core.
//!
//! Owns reading the head of a request, the headers that may travel, and building responses. It
//! never interprets any of them. Responses are built through calls that report errors, because the
//! convenient ones panic on a status or a body that the runtime refuses.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use web_sys::{Headers, ReadableStream, ResponseInit};
use worker::{EncodeBody, Response};

pub(super) use crate::core::head::{Target, travelling};
use crate::core::wire::{Message, bodiless};

/// The headers in lower case as the runtime gives them: repeats joined, each cookie by itself.
/// They cross over in one piece, which is much cheaper than one by one.
pub(super) fn pairs(headers: &Headers) -> Vec<(String, String)> {
    let text = js_sys::JSON::stringify(&Array::from(headers));
    let text = text.ok().and_then(|text| text.as_string());
    text.and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
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

/// A response that the gate makes, now.
pub(super) fn response(message: &Message) -> worker::Result<Response> {
    let body = if bodiless(message.status) {
        Body::None
    } else {
        Body::Bytes(&message.body)
    };
    // `toUTCString` writes an IMF-fixdate, RFC 9110 §5.6.7.
    let now = String::from(js_sys::Date::new_0().to_utc_string());
    let mut pairs = message.headers.clone();
    pairs.push(("Date".to_owned(), now));
    build(message.status, &pairs, body)
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
