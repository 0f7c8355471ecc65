//! Requests that the gate does not protect.
//!
//! Owns passing a request to the origin untouched: any method, streaming both ways, the exact
//! status, headers and bytes of the answer. It makes no record and reads no body. Redirects are the
//! client's to follow, and codings stay as the origin chose them.

use js_sys::futures::JsFuture;
use js_sys::{Object, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::RequestInit;
use worker::{EncodeBody, Response};

use super::front::Incoming_;
use super::{http, js, origin};
use crate::core::policy::Origin;

/// Passes a request through.
pub(super) async fn through(
    incoming: &Incoming_<'_>,
    origin: &Origin,
) -> Result<Response, JsValue> {
    // The bytes are coded already, as the origin chose: the runtime must not code them again.
    let response = Response::from(send(incoming, origin, None).await?);
    Ok(response.with_encode_body(EncodeBody::Manual))
}

/// Passes a request through, and adds headers to the answer. If its body has been read, it goes out
/// as it came.
pub(super) async fn marked(
    incoming: &Incoming_<'_>,
    origin: &Origin,
    marks: &[(String, String)],
    body: Option<Vec<u8>>,
) -> Result<Response, JsValue> {
    let response = send(incoming, origin, body).await?;
    let mut pairs = http::travelling(http::pairs(&response.headers()));
    pairs.extend_from_slice(marks);
    let stream = response.body();
    let body = match &stream {
        Some(stream) => http::Body::Stream(stream),
        None => http::Body::None,
    };
    Ok(http::build(response.status(), &pairs, body)?)
}

async fn send(
    incoming: &Incoming_<'_>,
    origin: &Origin,
    read: Option<Vec<u8>>,
) -> Result<web_sys::Response, JsValue> {
    let request = incoming.request.inner();
    let init = Object::new();
    let mut pairs = incoming.headers.clone();
    let upgrade = pairs.iter().any(|(name, _)| name == "upgrade");
    pairs.retain(|(name, _)| name != "host");
    // A change of protocol needs the headers that would otherwise end at this hop.
    let mut travelling = http::travelling(pairs);
    if upgrade {
        let value = request.headers().get("upgrade")?.unwrap_or_default();
        travelling.push(("upgrade".to_owned(), value));
    }
    js::set(&init, "headers", http::headers(&travelling)?)?;
    js::set(&init, "redirect", "manual")?;
    js::set(&init, "encodeResponseBody", "manual")?;
    let url = origin::url(origin, &incoming.target.target);
    // Made of the client's own request, it takes over method and body, even where a GET has one.
    let same = match read {
        None => web_sys::Request::new_with_str_and_init(&url, request.unchecked_ref())?,
        Some(body) => {
            let init = RequestInit::new();
            init.set_method(&incoming.method);
            if !body.is_empty() {
                init.set_body(&Uint8Array::from(body.as_slice()));
            }
            web_sys::Request::new_with_str_and_init(&url, &init)?
        }
    };
    let promise = origin::dispatch(incoming.env, origin, &same, &init)?;
    Ok(JsFuture::from(promise).await?.unchecked_into())
}
