//! Who a request is from.
//!
//! Owns finding that out where a header alone does not say it: the signature of a token is verified
//! with a published key. It decides neither which token holds nor which key counts
//! (`core::jwt`, `core::keys`). The keys are kept in the memory of the isolate, which may lose them.

use std::cell::RefCell;

use js_sys::futures::JsFuture;
use js_sys::{Array, JSON, Object, Uint8Array};
use wasm_bindgen::prelude::*;

use super::origin::{Call, read_up_to};
use super::subtle::subtle;
use super::waiters::{delay, within};
use super::{clock, http, js};
use crate::core::answer::Problem;
use crate::core::code::Code;
use crate::core::identity::Digest;
use crate::core::jwt::{self, Algorithm, Header, Key, Rules, Token};
use crate::core::keys::{Keys, Next, PATIENCE};
use crate::core::policy::{Operation, Policy, Principal};
use crate::core::principal::{Credentials, credentials};
use crate::core::reply::Read;
use crate::core::time::Span;

/// The longest key set, in bytes.
const LONGEST_SET: usize = 256 << 10;
/// How soon to look again whether another request has fetched the keys.
const GLANCE: Span = Span(20);
/// How many keys are tried for one token that does not name its own.
const MOST_TRIED: usize = 8;

thread_local! {
    static KEYS: RefCell<Keys> = RefCell::default();
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch)]
    fn atob(text: &str) -> Result<String, JsValue>;
}

/// The digest of who a request is from.
pub(super) async fn of(
    policy: &Policy,
    operation: &Operation,
    headers: &[(String, String)],
) -> Result<Digest, Problem> {
    match credentials(&operation.principal, headers)? {
        Credentials::Known(principal) => Ok(principal),
        Credentials::Token(token) => match (&operation.principal, &policy.jwt) {
            (Principal::Jwt(claim), Some(rules)) => subject(rules, claim, token).await,
            _ => Err(Problem::of(Code::GateUnavailable)),
        },
    }
}

/// The principal that a token names, if it holds.
async fn subject(rules: &Rules, claim: &str, token: &str) -> Result<Digest, Problem> {
    let token = Token::parse(token)?;
    let malformed = || {
        let detail = "the token is not a signed JSON Web Token";
        Problem::detailed(Code::PrincipalInvalid, detail)
    };
    let decoded = |text: &str| decode(text).ok_or_else(malformed);
    let (header, claims) = (
        Header::read(&decoded(token.header)?)?,
        decoded(token.claims)?,
    );
    let signature = decoded(token.signature)?;
    for key in keys_for(rules, &header).await? {
        match verifies(&key, token.signed, &signature).await {
            Ok(true) => return jwt::principal(rules, claim, &claims, clock()),
            Ok(false) => {}
            Err(error) => {
                worker::console_warn!("a published key cannot be used: {}", js::said(&error));
            }
        }
    }
    let detail = "the signature of the token does not hold";
    Err(Problem::detailed(Code::PrincipalInvalid, detail))
}

/// The keys that may have signed a token.
async fn keys_for(rules: &Rules, header: &Header) -> Result<Vec<Key>, Problem> {
    loop {
        let (next, found) = KEYS.with_borrow(|keys| {
            let found = header.candidates(keys.known()).take(MOST_TRIED).cloned();
            let found: Vec<Key> = found.collect();
            // Before the first fetch nothing can be said of any key.
            let unknown = found.is_empty() && !keys.known().is_empty();
            (keys.next(unknown, clock()), found)
        });
        match next {
            Next::Use if !found.is_empty() => return Ok(found),
            Next::Refuse | Next::Use => {
                let detail = "the token is signed with a key that its issuer does not publish";
                return Err(Problem::detailed(Code::PrincipalInvalid, detail));
            }
            Next::Unreachable => {
                let detail = "the keys that tokens are verified with cannot be had at the moment";
                return Err(Problem {
                    retry_after: Some(PATIENCE),
                    ..Problem::detailed(Code::GateUnavailable, detail)
                });
            }
            Next::Wait => delay(GLANCE).await,
            Next::Fetch => {
                KEYS.with_borrow_mut(|keys| keys.begin(clock()));
                let fetched = fetch(&rules.jwks).await;
                if let Err(why) = &fetched {
                    worker::console_error!("the keys of tokens cannot be fetched: {why}");
                }
                KEYS.with_borrow_mut(|keys| keys.end(fetched.ok(), clock()));
            }
        }
    }
}

async fn fetch(url: &str) -> Result<Vec<Key>, String> {
    let call = Call::new().map_err(|error| js::said(&error))?;
    let answer = Box::pin(async {
        let init = Object::new();
        let accept = ("Accept".to_owned(), "application/json".to_owned());
        js::set(&init, "headers", http::headers(&[accept])?)?;
        js::set(&init, "redirect", "manual")?;
        js::set(&init, "cache", "no-store")?;
        js::set(&init, "signal", call.signal())?;
        let promise = js::fetch(&url.into(), &init)?;
        let response: web_sys::Response = JsFuture::from(promise).await?.unchecked_into();
        let body = match response.body() {
            Some(body) => read_up_to(&body, LONGEST_SET).await,
            None => Read::BrokeOff,
        };
        Ok::<_, JsValue>((response.status(), body))
    });
    match within(PATIENCE, answer).await {
        Some(Ok((200, Read::Whole(body)))) => {
            jwt::key_set(&body).ok_or_else(|| "the answer is no key set".to_owned())
        }
        Some(Ok((200, Read::BrokeOff | Read::TooLong))) => {
            Err("the answer broke off or is too long".to_owned())
        }
        Some(Ok((status, _))) => Err(format!("the answer has the status {status}")),
        Some(Err(error)) => Err(js::said(&error)),
        None => {
            call.end();
            Err("no answer in time".to_owned())
        }
    }
}

async fn verifies(key: &Key, signed: &str, signature: &[u8]) -> Result<bool, JsValue> {
    let algorithm = Object::new();
    js::set(&algorithm, "hash", "SHA-256")?;
    match key.algorithm() {
        Algorithm::Es256 => {
            js::set(&algorithm, "name", "ECDSA")?;
            js::set(&algorithm, "namedCurve", "P-256")?;
        }
        Algorithm::Rs256 => js::set(&algorithm, "name", "RSASSA-PKCS1-v1_5")?,
    }
    let subtle = subtle()?;
    let (jwk, uses) = (JSON::parse(&key.jwk)?, Array::of1(&"verify".into()));
    let key = JsFuture::from(subtle.import_key("jwk", &jwk, &algorithm, false, &uses)?).await?;
    let (signature, text) = (
        Uint8Array::from(signature),
        Uint8Array::from(signed.as_bytes()),
    );
    let verified = subtle.verify(&algorithm, &key, &signature, &text)?;
    Ok(JsFuture::from(verified).await?.is_truthy())
}

/// Decodes base64url (RFC 4648 §5).
fn decode(text: &str) -> Option<Vec<u8>> {
    let text = atob(&text.replace('-', "+").replace('_', "/")).ok()?;
    text.chars()
        .map(|byte| u8::try_from(u32::from(byte)).ok())
        .collect()
}
