//! Who an operation is: the name of its object, and its reference.
//!
//! Owns the digest that names the Durable Object of one (scope, operation, key), the reference
//! that the origin and the client see, and the two random identities of a life and of a request.
//! Two different tuples never share a name, because every part enters the digest with its length
//! and an absent part differs from an empty one. Nothing else enters it, so that no deploy can
//! change a name by accident.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, stored and shown as lower-case hexadecimal.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Digest(pub [u8; 32]);

/// What separates one life of a key from the next.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Nonce(pub u64);

/// One request of a client, so that the front's second try is not taken for a second request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct RequestId(pub u64);

/// One attempt of one life: what an answer of the origin must match to count.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Fence {
    /// The life.
    pub nonce: Nonce,
    /// The attempt within it, from 1.
    pub attempt: u32,
}

/// The name of a Durable Object: lower-case base32 of the identity's digest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ObjectName(String);

/// How long a name is: 256 bits, 5 to a character.
const NAME_LENGTH: usize = 52;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The parts of an identity, each with the form it was taken by.
#[derive(Debug)]
pub struct Identity {
    hasher: Sha256,
}

impl Identity {
    /// Starts with the operation.
    #[must_use]
    pub fn of(operation: &str) -> Self {
        let mut identity = Self {
            hasher: Sha256::new(),
        };
        identity.bytes(b"oncegate identity 1");
        identity.bytes(operation.as_bytes());
        identity
    }

    /// Adds one part of the scope or the key: its form (`header:x-account`) and its value.
    pub fn part(&mut self, form: &str, value: Option<&[u8]>) {
        self.bytes(form.as_bytes());
        match value {
            Some(value) => {
                self.hasher.update([1]);
                self.bytes(value);
            }
            None => self.hasher.update([0]),
        }
    }

    /// The name of the object that holds this operation.
    #[must_use]
    pub fn name(self) -> ObjectName {
        ObjectName(base32(&self.hasher.finalize().into()))
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.hasher.update((bytes.len() as u64).to_be_bytes());
        self.hasher.update(bytes);
    }
}

impl ObjectName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a name; anything but 52 characters of base32 is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == NAME_LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte)))
            .then(|| Self(text.to_owned()))
    }

    /// The reference of one life of this operation.
    #[must_use]
    pub fn reference(&self, nonce: Nonce) -> String {
        format!("og_{}.{}", self.0, nonce)
    }

    /// What the record keeps to recognise its owner: bound to this object, so that a digest in
    /// one object says nothing about another.
    #[must_use]
    pub fn owner(&self, principal: &Digest) -> Digest {
        let mut hasher = Sha256::new();
        hasher.update(b"oncegate owner 1");
        hasher.update(self.0.as_bytes());
        hasher.update(principal.0);
        Digest(hasher.finalize().into())
    }
}

/// Takes a reference apart into the object's name and the life.
#[must_use]
pub fn parse_reference(text: &str) -> Option<(ObjectName, Nonce)> {
    let (name, nonce) = text.strip_prefix("og_")?.split_once('.')?;
    Some((ObjectName::parse(name)?, nonce.parse().ok()?))
}

/// The name by which the new keys of a principal are counted: it says nothing of the credential
/// to whoever keeps the count.
#[must_use]
pub fn counted_as(operation: &str, principal: &Digest) -> String {
    let mut identity = Identity::of(operation);
    identity.part("counted principal", Some(&principal.0));
    identity.name().0
}

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

fn base32(bytes: &[u8; 32]) -> String {
    let mut text = String::with_capacity(NAME_LENGTH);
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits = bits.saturating_add(8);
        while bits >= 5 {
            bits = bits.saturating_sub(5);
            push_base32(&mut text, buffer >> bits);
        }
    }
    push_base32(&mut text, buffer << 5_u32.saturating_sub(bits));
    text
}

fn push_base32(text: &mut String, five_bits: u32) {
    if let Some(letter) = ALPHABET.get((five_bits & 31) as usize) {
        text.push(char::from(*letter));
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Display for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Text that is not 16 or 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct NotHex;

impl std::fmt::Display for NotHex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not the lower-case hexadecimal digits that were expected")
    }
}

fn hex(text: &str) -> Result<u64, NotHex> {
    let digits = text.len() == 16
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if !digits {
        return Err(NotHex);
    }
    u64::from_str_radix(text, 16).map_err(|_| NotHex)
}

impl std::str::FromStr for Nonce {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        hex(text).map(Self)
    }
}

impl std::str::FromStr for RequestId {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        hex(text).map(Self)
    }
}

impl std::str::FromStr for Digest {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(NotHex);
        }
        for (index, eight) in bytes.chunks_exact_mut(8).enumerate() {
            let start = index.saturating_mul(16);
            let digits = text.get(start..start.saturating_add(16)).ok_or(NotHex)?;
            eight.copy_from_slice(&hex(digits)?.to_be_bytes());
        }
        Ok(Self(bytes))
    }
}

/// Stores a value as the text it displays, and reads it back by parsing.
macro_rules! stored_as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

stored_as_text!(Digest, Nonce, RequestId);

#[cfg(test)]
mod tests {
    use super::*;

    type Parts<'a> = &'a [(&'a str, Option<&'a str>)];

    fn name(operation: &str, parts: Parts<'_>) -> ObjectName {
        let mut identity = Identity::of(operation);
        for (form, value) in parts {
            identity.part(form, value.map(str::as_bytes));
        }
        identity.name()
    }

    #[test]
    fn no_two_tuples_share_a_name_whatever_bytes_they_hold() {
        let tuples: &[(&str, Parts<'_>)] = &[
            ("pay", &[("principal", Some("a")), ("header:k", Some("b"))]),
            ("pay", &[("principal", Some("ab")), ("header:k", Some(""))]),
            ("pay", &[("principal", Some("ab")), ("header:k", None)]),
            ("pay", &[("principal", None), ("header:k", Some("ab"))]),
            ("pay", &[("principal", Some("a")), ("header:k", Some("B"))]),
            ("pay", &[("header:k", Some("a")), ("principal", Some("b"))]),
            ("paya", &[("principal", Some("")), ("header:k", Some("b"))]),
            ("pay", &[("principal", Some("a:b"))]),
            ("pay", &[("principal", Some("a\0b"))]),
            (
                "pay",
                &[
                    ("principal", Some("a")),
                    ("header:k", Some("b")),
                    ("path:id", None),
                ],
            ),
            ("pay", &[("principal", Some("a\u{1}\0\0\0\0\0\0\0\u{1}b"))]),
        ];
        let names: std::collections::HashSet<String> = tuples
            .iter()
            .map(|(operation, parts)| name(operation, parts).as_str().to_owned())
            .collect();
        assert_eq!(names.len(), tuples.len());
    }

    #[test]
    fn a_name_is_pinned() {
        // Names are where records are found: a change here loses every key in the field.
        assert_eq!(
            name(
                "create_payment",
                &[
                    ("principal", Some("a")),
                    ("header:idempotency-key", Some("k"))
                ]
            )
            .as_str(),
            PINNED_NAME,
        );
    }

    const PINNED_NAME: &str = "4fz5opkcaz227ve6ehs3uvtvz5b7cewwczvbh2ru6bgtijg2arga";

    #[test]
    fn base32_follows_rfc_4648() {
        assert_eq!(base32(&[0; 32]), "a".repeat(52));
        assert_eq!(base32(&[0xff; 32]), format!("{}q", "7".repeat(51)));
    }

    #[test]
    fn a_reference_comes_back_as_it_went() {
        let name = name("pay", &[]);
        let reference = name.reference(Nonce(0xabc));
        assert_eq!(
            parse_reference(&reference),
            Some((name.clone(), Nonce(0xabc)))
        );
        for wrong in [
            "",
            "og_",
            "og_abc.0000000000000abc",
            &reference[3..],
            &reference.to_uppercase(),
            &format!("{reference}0"),
            &reference.replace('.', "_"),
        ] {
            assert_eq!(parse_reference(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_owner_is_one_principal_in_one_object() {
        let (here, there) = (name("pay", &[]), name("refund", &[]));
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let owners = [here.owner(&a), here.owner(&b), there.owner(&a)];
        let distinct: std::collections::HashSet<Digest> = owners.into_iter().collect();
        assert_eq!(distinct.len(), 3);
        assert_eq!(here.owner(&a), here.owner(&a));
        let counted = counted_as("pay", &a);
        assert_ne!(counted, counted_as("pay", &b));
        assert_ne!(counted, counted_as("refund", &a));
    }

    #[test]
    fn digests_and_numbers_are_stored_as_hexadecimal() {
        let digest = Digest::of(b"x");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(text.len(), 66);
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        assert_eq!(
            serde_json::to_string(&Nonce(10)).unwrap(),
            "\"000000000000000a\""
        );
        assert!(serde_json::from_str::<Nonce>("\"A\"").is_err());
    }
}
