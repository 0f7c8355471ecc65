//! JSON Web Tokens (RFC 7519) that say who a request is from.
//!
//! Owns what of a token and of a key set is looked at, and in which order; it computes no
//! signature (the shell does, with the key that is chosen here). It is correct because the
//! algorithm is one of two that this code names and belongs to the kind of the key, so that a token
//! can neither choose none nor have a public key taken for a shared secret, and because no claim is
//! read before the signature over it holds. A message never shows anything of a token.

use serde_json::{Map, Value};

use super::answer::Problem;
use super::code::Code;
use super::command::{Hasher, Sink};
use super::identity::Digest;
use super::time::{Millis, Span};

/// What tokens have to say, by the policy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rules {
    /// Where the keys are published.
    pub jwks: String,
    /// Who has to have issued a token.
    pub issuer: String,
    /// For whom: one of these.
    pub audience: Vec<String>,
}

/// How far the clocks of the issuer and of the gate may be apart.
pub const SKEW: Span = Span::seconds(60);

/// The longest token; a header of this length is nobody's honest credential.
const LONGEST: usize = 16_384;

/// The longest value of the claim that names the principal, in bytes.
const LONGEST_CLAIM: usize = 1_024;

/// RSA keys below 2048 bits do not hold (RFC 7518 §3.3); in base64url.
const SHORTEST_MODULUS: usize = 342;

/// The pieces of a token, each still in base64url.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Token<'a> {
    /// What the signature is over.
    pub signed: &'a str,
    /// The header.
    pub header: &'a str,
    /// The claims.
    pub claims: &'a str,
    /// The signature.
    pub signature: &'a str,
}

/// How a token is signed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
}

/// What the header of a token says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Header {
    /// How it is signed.
    pub algorithm: Algorithm,
    /// With which key.
    pub kid: Option<String>,
}

/// A key of a key set, as far as it can verify one of the two algorithms.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Key {
    algorithm: Algorithm,
    kid: Option<String>,
    /// The public key and nothing else, as a JSON Web Key.
    pub jwk: String,
}

impl<'a> Token<'a> {
    /// Takes a signed token apart.
    ///
    /// # Errors
    /// It has another form.
    pub fn parse(text: &'a str) -> Result<Self, Problem> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let whole = text.len() <= LONGEST && text.bytes().all(letter);
        let parts = || {
            let (signed, signature) = text.rsplit_once('.')?;
            let (header, claims) = signed.split_once('.')?;
            let signed_once = !claims.contains('.');
            let full = [header, claims, signature].iter().all(|it| !it.is_empty());
            (signed_once && full).then_some(Self {
                signed,
                header,
                claims,
                signature,
            })
        };
        parts()
            .filter(|_| whole)
            .ok_or_else(|| invalid("the token is not a signed JSON Web Token"))
    }
}

impl Header {
    /// Reads the decoded header.
    ///
    /// # Errors
    /// It asks for an algorithm that is not one of the two, or for more than this code knows.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let Some(header) = object(bytes) else {
            return Err(invalid("the header of the token cannot be read"));
        };
        let algorithm = match header.get("alg").and_then(Value::as_str) {
            Some("ES256") => Algorithm::Es256,
            Some("RS256") => Algorithm::Rs256,
            Some(_) | None => return Err(invalid("the token must be signed by RS256 or ES256")),
        };
        if header.contains_key("crit") {
            return Err(invalid("the token has critical extensions"));
        }
        let kid = match header.get("kid") {
            None => None,
            Some(Value::String(kid)) => Some(kid.clone()),
            Some(_) => return Err(invalid("the header of the token cannot be read")),
        };
        Ok(Self { algorithm, kid })
    }

    /// The keys of a set that may have signed such a token.
    pub fn candidates<'k>(&self, keys: &'k [Key]) -> impl Iterator<Item = &'k Key> {
        keys.iter().filter(|key| {
            key.algorithm == self.algorithm && (self.kid.is_none() || key.kid == self.kid)
        })
    }
}

/// Reads a key set; nothing if it is none. Keys for other purposes are left out.
#[must_use]
pub fn key_set(bytes: &[u8]) -> Option<Vec<Key>> {
    let set = object(bytes)?;
    let keys = set.get("keys")?.as_array()?;
    Some(keys.iter().filter_map(Key::read).collect())
}

impl Key {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let (algorithm, name, members): (_, _, &[&str]) = match (text("kty")?, text("crv")) {
            ("RSA", _) if text("n")?.len() >= SHORTEST_MODULUS => {
                (Algorithm::Rs256, "RS256", &["kty", "n", "e"])
            }
            ("EC", Some("P-256")) => (Algorithm::Es256, "ES256", &["kty", "crv", "x", "y"]),
            _ => return None,
        };
        let verifies = text("use").is_none_or(|it| it == "sig")
            && text("alg").is_none_or(|it| it == name)
            && value.get("key_ops").is_none_or(|it| {
                let operations = it.as_array();
                operations.is_some_and(|them| them.iter().any(|it| it == "verify"))
            });
        // Nothing else of it may say what it is good for, nor be kept in memory.
        let public: Option<Map<String, Value>> = members
            .iter()
            .map(|name| Some(((*name).to_owned(), text(name)?.into())))
            .collect();
        verifies.then_some(Self {
            algorithm,
            kid: text("kid").map(str::to_owned),
            jwk: Value::Object(public?).to_string(),
        })
    }

    /// The algorithm that it verifies.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// The principal that verified claims name: the issuer and the value of one claim.
///
/// # Errors
/// The token is from or for somebody else, not valid now, or does not have the claim.
pub fn principal(
    rules: &Rules,
    claim: &str,
    claims: &[u8],
    now: Millis,
) -> Result<Digest, Problem> {
    let Some(claims) = object(claims) else {
        return Err(invalid("the claims of the token cannot be read"));
    };
    if claims.get("iss").and_then(Value::as_str) != Some(&rules.issuer) {
        return Err(invalid("the token is from another issuer"));
    }
    let meant = |it: &Value| {
        it.as_str()
            .is_some_and(|it| rules.audience.iter().any(|a| a == it))
    };
    let audience = match claims.get("aud") {
        Some(Value::Array(them)) => them.iter().any(meant),
        Some(one) => meant(one),
        None => false,
    };
    if !audience {
        return Err(invalid("the token is for another audience"));
    }
    let Some(expires) = claims.get("exp").and_then(date) else {
        return Err(invalid("the token does not say when it expires"));
    };
    if expires.after(SKEW).passed(now) {
        return Err(invalid("the token has expired"));
    }
    let begins = match claims.get("nbf") {
        None => None,
        Some(value) => match date(value) {
            Some(begins) => Some(begins),
            None => return Err(invalid("the claims of the token cannot be read")),
        },
    };
    if begins.is_some_and(|begins| !begins.passed(now.after(SKEW))) {
        return Err(invalid("the token is not valid yet"));
    }
    let value = match claims.get(claim) {
        Some(Value::String(text)) if !text.is_empty() => Value::from(text.as_str()).to_string(),
        Some(Value::Number(number)) if !number.is_f64() => number.to_string(),
        Some(_) | None => String::new(),
    };
    if value.is_empty() || value.len() > LONGEST_CLAIM {
        return Err(invalid(format!(
            "the token has no claim {claim} that names a principal"
        )));
    }
    // A text and a number of the same digits are two principals, and so are two issuers' users.
    let mut hasher = Hasher::default();
    hasher.part(Some(rules.issuer.as_bytes()));
    hasher.part(Some(value.as_bytes()));
    Ok(Digest(hasher.finish()))
}

/// A date of a claim: seconds since the epoch, perhaps with a fraction (RFC 7519 §2).
fn date(value: &Value) -> Option<Millis> {
    let seconds = value.as_f64().filter(|it| (0.0..=1e12).contains(it))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was looked at"
    )]
    Some(Millis((seconds * 1_000.0) as u64))
}

fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(bytes).ok()? {
        Value::Object(object) => Some(object),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
            None
        }
    }
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::detailed(Code::PrincipalInvalid, detail)
}
