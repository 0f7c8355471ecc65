//! Calls to the origin.
//!
//! Owns how a command is sent and how its answer is read. It never looks at a record. A command is
//! sent once: nothing here sends a request again, follows a redirect or lets the client's
//! connection end the call. The client's bytes go out as they came.

use js_sys::futures::JsFuture;
use js_sys::{Array, Object, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{AbortController, AbortSignal, ReadableStream, ReadableStreamDefaultReader};
use worker::Env;

use super::{http, js};
use crate::core::envelope::Request;
use crate::core::policy::Origin;
use crate::core::reply::{READ_AHEAD, Read};
use crate::core::time::Millis;

/// Codings that the runtime decodes while a body is read, as it compares them: to the letter.
const DECODED: [&str; 2] = ["br", "gzip"];

/// What is no longer true of a body once it is decoded.
const OF_CODED: [&str; 5] = [
    "content-digest",
    "content-encoding",
    "content-md5",
    "digest",
    "repr-digest",
];

/// The head of the origin's answer, with its unread body.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// When it came.
    pub(super) at: Millis,
    response: web_sys::Response,
    /// Whether the request was one whose answer has no body.
    head_only: bool,
    /// The length that the answer promises for its bytes as they are read.
    length: Option<usize>,
}

/// The body of an answer, as far as it was read.
pub(super) struct Reading {
    /// What is known of it.
    pub(super) read: Read,
    /// The whole of what was too long, for the caller.
    pub(super) stream: Option<ReadableStream>,
}

/// Ends a call to the origin.
pub(super) struct Call {
    controller: AbortController,
}

impl Call {
    pub(super) fn new() -> Result<Self, JsValue> {
        AbortController::new().map(|controller| Self { controller })
    }

    pub(super) fn end(&self) {
        self.controller.abort();
    }

    pub(super) fn signal(&self) -> AbortSignal {
        self.controller.signal()
    }
}

/// Sends a command, once.
pub(super) async fn send(
    env: &Env,
    origin: &Origin,
    request: &Request,
    marks: &[(String, String)],
    body: &[u8],
    call: &Call,
) -> Result<Head, JsValue> {
    let mut pairs = http::travelling(request.headers.clone());
    // The runtime writes these two itself.
    pairs.retain(|(name, _)| name != "content-length" && name != "host");
    accept_decodable(&mut pairs);
    pairs.extend_from_slice(marks);
    let init = Object::new();
    js::set(&init, "method", request.method.as_str())?;
    js::set(&init, "headers", http::headers(&pairs)?)?;
    js::set(&init, "redirect", "manual")?;
    js::set(&init, "signal", call.signal())?;
    let safe = matches!(request.method.as_str(), "GET" | "HEAD");
    if safe {
        js::set(&init, "cache", "no-store")?;
    } else {
        js::set(&init, "body", Uint8Array::from(body))?;
    }
    let promise = dispatch(env, origin, &url(origin, &request.target).into(), &init)?;
    let response: web_sys::Response = JsFuture::from(promise).await?.unchecked_into();
    let head_only = request.method == "HEAD";
    Ok(Head::of(response, head_only))
}

/// Offers the origin no coding that the runtime does not decode: a reply is kept decoded, so that
/// it fits whatever a retry accepts.
fn accept_decodable(pairs: &mut [(String, String)]) {
    for (_, value) in pairs
        .iter_mut()
        .filter(|(name, _)| name == "accept-encoding")
    {
        let offered = |coding: &&str| {
            value.split(',').any(|item| {
                let mut parts = item.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let refused = parts.any(|it| matches!(it, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
                name.eq_ignore_ascii_case(coding) && !refused
            })
        };
        let codings: Vec<&str> = DECODED.iter().copied().filter(|it| offered(it)).collect();
        *value = if codings.is_empty() {
            "identity".to_owned()
        } else {
            codings.join(", ")
        };
    }
}

/// Sends a request to wherever the policy says.
pub(super) fn dispatch(
    env: &Env,
    origin: &Origin,
    request: &JsValue,
    init: &Object,
) -> Result<js_sys::Promise, JsValue> {
    match origin {
        Origin::Url(_) => js::fetch(request, init),
        Origin::Service(name) => {
            let binding = js::binding(env, name).ok_or("the service of the origin is not bound")?;
            binding.unchecked_into::<js::Fetcher>().call(request, init)
        }
    }
}

/// Where a target is at the origin.
pub(super) fn url(origin: &Origin, target: &str) -> String {
    match origin {
        Origin::Url(base) => format!("{base}{target}"),
        Origin::Service(_) => format!("https://origin{target}"),
    }
}

impl Head {
    fn of(response: web_sys::Response, head_only: bool) -> Self {
        let mut headers = http::travelling(http::pairs(&response.headers()));
        let find = |name: &str| {
            headers
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        };
        let decoded = find("content-encoding").is_some_and(|it| DECODED.contains(&it.as_str()));
        let length = find("content-length").and_then(|value| value.trim().parse().ok());
        // How long a coded body is once it is decoded, nobody has said; nothing stays nothing.
        let length = length.filter(|length| *length == 0 || !(decoded || head_only));
        // The marker is the gate's word, and it says something else than the origin's.
        let dropped = [
            "content-length",
            "idempotency-replayed",
            "idempotent-replayed",
        ];
        headers.retain(|(name, _)| {
            let stale = decoded && OF_CODED.contains(&name.as_str());
            !stale && !dropped.contains(&name.as_str())
        });
        if decoded {
            // A strong validator names the very bytes, which are others now.
            for (_, value) in headers.iter_mut().filter(|(name, _)| name == "etag") {
                if value.starts_with('"') {
                    value.insert_str(0, "W/");
                }
            }
        }
        Self {
            at: super::clock(),
            status: response.status(),
            headers,
            response,
            head_only,
            length,
        }
    }

    /// The origin's own word on the outcome; it is not for the client.
    pub(super) fn stated(&self, name: &str) -> Option<String> {
        self.response.headers().get(name).ok().flatten()
    }

    /// The body in two: one branch to read here, one for the caller, who gets it as it comes.
    pub(super) fn split(&self) -> Option<(ReadableStream, ReadableStream)> {
        self.response.body().map(|body| tee(&body))
    }

    /// Reads the body as far as it may be kept.
    pub(super) async fn read(&self, most: usize) -> Reading {
        let most = most.max(READ_AHEAD);
        let Some(body) = self.response.body() else {
            return Reading {
                read: Read::Whole(Vec::new()),
                stream: None,
            };
        };
        match self.length {
            Some(length) if length <= most => self.read_all(length).await,
            Some(_) => Reading {
                read: Read::TooLong,
                stream: Some(body),
            },
            None => read_or_hand_on(&body, most).await,
        }
    }

    async fn read_all(&self, length: usize) -> Reading {
        let bytes = match self.response.array_buffer() {
            Ok(promise) => JsFuture::from(promise).await,
            Err(error) => Err(error),
        };
        let read = match bytes {
            Ok(buffer) => {
                let bytes = Uint8Array::new(&buffer).to_vec();
                if bytes.len() == length || self.head_only {
                    Read::Whole(bytes)
                } else {
                    Read::BrokeOff
                }
            }
            Err(_) => Read::BrokeOff,
        };
        Reading { read, stream: None }
    }
}

/// Reads a body of unknown length; what turns out too long to keep is handed on whole.
async fn read_or_hand_on(body: &ReadableStream, most: usize) -> Reading {
    let (ours, theirs) = tee(body);
    match read_up_to(&ours, most).await {
        Read::TooLong => Reading {
            read: Read::TooLong,
            stream: Some(theirs),
        },
        read @ (Read::BrokeOff | Read::Whole(_)) => {
            // Nobody will read the other branch; what it holds may go.
            let _released = theirs.cancel();
            Reading { read, stream: None }
        }
    }
}

/// Two branches of a stream, each of which gets all of it. A branch that is left unread by a
/// caller who hangs up does not hold the other back.
fn tee(body: &ReadableStream) -> (ReadableStream, ReadableStream) {
    let branches: Array = body.tee().unchecked_into();
    (
        branches.get(0).unchecked_into(),
        branches.get(1).unchecked_into(),
    )
}

/// Reads a stream to its end, or gives up past a number of bytes.
pub(super) async fn read_up_to(stream: &ReadableStream, most: usize) -> Read {
    let reader: ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let mut bytes = Vec::new();
    loop {
        let Ok(chunk) = JsFuture::from(reader.read()).await else {
            return Read::BrokeOff;
        };
        if js::flagged(&chunk, "done") {
            return Read::Whole(bytes);
        }
        let value = js_sys::Reflect::get(&chunk, &"value".into()).unwrap_or_default();
        let chunk: Uint8Array = value.unchecked_into();
        if bytes.len().saturating_add(chunk.length() as usize) > most {
            let _released = reader.cancel();
            return Read::TooLong;
        }
        let start = bytes.len();
        bytes.resize(start.saturating_add(chunk.length() as usize), 0);
        if let Some(space) = bytes.get_mut(start..) {
            chunk.copy_to(space);
        }
    }
}
