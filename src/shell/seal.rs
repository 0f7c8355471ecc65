//! Encryption of what is kept.
//!
//! Owns the sealing of replies and of values for the probe: AES-256-GCM through the runtime's
//! WebCrypto, under a key derived by HKDF-SHA-256 (RFC 5869) from a secret of the deployment and
//! the reference of the record. It never decides what is kept. The reference and the version are
//! authenticated with the text, so that nothing sealed can be moved to another record, and every
//! sealing draws a fresh nonce.
//!
//! A sealed text is the 12 bytes of its nonce and the ciphertext with its tag.

use js_sys::futures::JsFuture;
use js_sys::{Array, Object, Uint8Array};
use wasm_bindgen::JsValue;
use worker::Env;

use super::js;
use super::subtle::{Subtle, subtle};
use crate::core::answer::{Answer, Original, Problem, Told};
use crate::core::code::Code;
use crate::core::recovery::Kept;
use crate::core::reply::{Body, Reply};

/// The first secret; `_2`, `_3` ... follow it, and the newest has the highest number.
const SECRET: &str = "ONCEGATE_RECORD_SECRET";
/// How many secrets may be configured at one time.
const MOST_SECRETS: u32 = 32;
/// What the derived keys are for, with the version of the sealed form.
const PURPOSE: &str = "oncegate record 1";
const NONCE: usize = 12;

/// The number of the newest secret, if there is one.
pub(super) fn newest(env: &Env) -> Option<u32> {
    (1..=MOST_SECRETS)
        .rev()
        .find(|number| secret(env, *number).is_some())
}

/// Seals a reply: its headers and its body become one text. What has no body keeps no headers.
pub(super) async fn seal_reply(env: &Env, reference: &str, reply: Reply) -> Reply {
    let Reply {
        status,
        body: Body::Whole(_),
        ..
    } = reply
    else {
        return Reply {
            headers: Vec::new(),
            ..reply
        };
    };
    let sealed = match (newest(env), reply.to_plain()) {
        (Some(number), Some(plain)) => seal(env, number, reference, &plain)
            .await
            .map(|sealed| (number, sealed)),
        _ => Err("there is no secret".into()),
    };
    match sealed {
        Ok((number, sealed)) => Reply {
            status,
            headers: Vec::new(),
            body: Body::whole(sealed),
            seal: Some(number),
        },
        Err(error) => {
            // The fact of the outcome is kept; what cannot be kept safely is not kept.
            worker::console_error!("a reply could not be encrypted: {}", js::said(&error));
            Reply {
                status,
                headers: Vec::new(),
                body: Body::Lost,
                seal: None,
            }
        }
    }
}

/// Opens a reply; nothing if its secret is missing or wrong.
pub(super) async fn open_reply(env: &Env, reference: &str, reply: Reply) -> Option<Reply> {
    let (number, sealed) = match (reply.seal, &reply.body) {
        (None, _) => return Some(reply),
        (Some(number), Body::Whole(sealed)) => (number, sealed),
        (Some(_), Body::Lost | Body::NotKept | Body::TooLarge) => return None,
    };
    match open(env, number, reference, sealed).await {
        Ok(plain) => Reply::from_plain(reply.status, &plain),
        Err(error) => {
            let why = js::said(&error);
            worker::console_error!("a reply under secret {number} cannot be opened: {why}");
            None
        }
    }
}

/// An answer as the client may have it: a replay is opened, or is no longer available.
pub(super) async fn opened(env: &Env, answer: Answer, reference: Option<&str>) -> Answer {
    let Answer::Replay {
        reply,
        recorded,
        told,
    } = answer
    else {
        return answer;
    };
    let status = reply.status;
    match open_reply(env, reference.unwrap_or_default(), reply).await {
        Some(reply) => Answer::Replay {
            reply,
            recorded,
            told,
        },
        None => Answer::Problem(Problem {
            told: if told == Told::Executed {
                told
            } else {
                Told::Refused
            },
            original: Some(Original {
                status,
                location: None,
            }),
            ..Problem::of(Code::ReplyUnavailable)
        }),
    }
}

/// Seals the values that are kept for the probe.
pub(super) async fn seal_kept(env: &Env, reference: &str, kept: Vec<Kept>) -> Vec<Kept> {
    let Some(number) = newest(env) else {
        return Vec::new();
    };
    let mut sealed = Vec::with_capacity(kept.len());
    for (name, value) in kept {
        match seal(env, number, reference, value.as_bytes()).await {
            Ok(text) => sealed.push((name, format!("{SEALED}{number}:{}", hex(&text)))),
            Err(error) => {
                worker::console_error!("a value could not be encrypted: {}", js::said(&error));
            }
        }
    }
    sealed
}

/// Opens the values that are kept for the probe; what cannot be opened is not there.
pub(super) async fn open_kept(env: &Env, reference: &str, kept: &[Kept]) -> Vec<Kept> {
    let mut opened = Vec::with_capacity(kept.len());
    for (name, value) in kept {
        let Some(rest) = value.strip_prefix(SEALED) else {
            opened.push((name.clone(), value.clone()));
            continue;
        };
        let Some((number, text)) = rest.split_once(':') else {
            continue;
        };
        let (Ok(number), Some(text)) = (number.parse(), unhex(text)) else {
            continue;
        };
        let plain = open(env, number, reference, &text).await.ok();
        let plain = plain.and_then(|plain| String::from_utf8(plain).ok());
        opened.extend(plain.map(|plain| (name.clone(), plain)));
    }
    opened
}

/// How a sealed value begins: no value in the clear does, since it holds a control character.
const SEALED: &str = "\u{1}sealed:";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// Seals a text under a numbered secret.
pub(super) async fn seal(
    env: &Env,
    number: u32,
    reference: &str,
    plain: &[u8],
) -> Result<Vec<u8>, JsValue> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|error| JsValue::from(error.to_string()))?;
    let subtle = subtle()?;
    let key = key(env, &subtle, number, reference).await?;
    let algorithm = algorithm(&nonce, reference)?;
    let text = subtle.encrypt(&algorithm, &key, &Uint8Array::from(plain))?;
    let text = Uint8Array::new(&JsFuture::from(text).await?);
    let mut sealed = nonce.to_vec();
    sealed.extend_from_slice(&text.to_vec());
    Ok(sealed)
}

/// Opens a text that was sealed under a numbered secret.
pub(super) async fn open(
    env: &Env,
    number: u32,
    reference: &str,
    sealed: &[u8],
) -> Result<Vec<u8>, JsValue> {
    let (nonce, text) = sealed
        .split_at_checked(NONCE)
        .ok_or("the sealed text is too short")?;
    let subtle = subtle()?;
    let key = key(env, &subtle, number, reference).await?;
    let algorithm = algorithm(nonce, reference)?;
    let plain = subtle.decrypt(&algorithm, &key, &Uint8Array::from(text))?;
    Ok(Uint8Array::new(&JsFuture::from(plain).await?).to_vec())
}

async fn key(env: &Env, subtle: &Subtle, number: u32, reference: &str) -> Result<JsValue, JsValue> {
    let secret = secret(env, number).ok_or("the secret is not configured")?;
    let bytes = Uint8Array::from(secret.as_bytes());
    let uses = Array::of1(&"deriveKey".into());
    let base = subtle.import_key("raw", &bytes, &"HKDF".into(), false, &uses)?;
    let base = JsFuture::from(base).await?;
    let hkdf = Object::new();
    js::set(&hkdf, "name", "HKDF")?;
    js::set(&hkdf, "hash", "SHA-256")?;
    js::set(&hkdf, "salt", Uint8Array::new_with_length(0))?;
    let info = format!("{PURPOSE}\0{reference}");
    js::set(&hkdf, "info", Uint8Array::from(info.as_bytes()))?;
    let aes = Object::new();
    js::set(&aes, "name", "AES-GCM")?;
    js::set(&aes, "length", 256)?;
    let usages = Array::of2(&"encrypt".into(), &"decrypt".into());
    JsFuture::from(subtle.derive_key(&hkdf, &base, &aes, false, &usages)?).await
}

fn algorithm(nonce: &[u8], reference: &str) -> Result<Object, JsValue> {
    let algorithm = Object::new();
    js::set(&algorithm, "name", "AES-GCM")?;
    js::set(&algorithm, "iv", Uint8Array::from(nonce))?;
    let associated = format!("{PURPOSE}\0{reference}");
    js::set(
        &algorithm,
        "additionalData",
        Uint8Array::from(associated.as_bytes()),
    )?;
    Ok(algorithm)
}

fn secret(env: &Env, number: u32) -> Option<String> {
    let name = match number {
        1 => SECRET.to_owned(),
        _ => format!("{SECRET}_{number}"),
    };
    js::binding(env, &name)?
        .as_string()
        .filter(|secret| !secret.is_empty())
}
