//! What the front hands to the object.
//!
//! Owns the internal protocol between the two: one byte of version, the length of a JSON document,
//! that document, and the client's body as it came. In a gradual deploy the two may run different
//! code, so a version that is not known is an error and never a guess.

use serde::{Deserialize, Serialize};

use super::identity::{Digest, Nonce, ObjectName, RequestId};

/// The version of the protocol.
const VERSION: u8 = 1;

/// A request on its way from the front to the object.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Envelope {
    /// The operation, by its policy name.
    pub operation: String,
    /// The object that it is for.
    pub name: ObjectName,
    /// Who it is from, bound to this object.
    pub owner: Digest,
    /// Scheme and authority by which the client reached the gate.
    pub base: String,
    /// By what name new keys of the caller are counted, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_as: Option<String>,
    /// What is asked of the object.
    pub ask: Ask,
}

/// What is asked of the object.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// To see to it that the command is done once.
    Command(Box<Request>),
    /// To forget what is kept of a settled reply, and why; an operator asks.
    Purge {
        /// The life.
        nonce: Nonce,
        /// What goes into the journal.
        reason: String,
    },
    /// How far the operation is; of one life only, where that is named.
    Status(Option<Nonce>),
}

/// A client's request on a protected operation.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    /// What the front calls this request, on its second try as well.
    pub id: RequestId,
    /// Whether an earlier call to the object failed.
    pub second_try: bool,
    /// The method, as it came.
    pub method: String,
    /// Path and query, as they came.
    pub target: String,
    /// The normalised path.
    pub path: String,
    /// The headers for the origin, in lower case, repeats joined.
    pub headers: Vec<(String, String)>,
}

/// Bytes that are not an envelope this code can read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unreadable;

impl Envelope {
    /// The bytes to send, with the client's body.
    ///
    /// # Errors
    /// The document cannot be written.
    pub fn encode(&self, body: &[u8]) -> Result<Vec<u8>, Unreadable> {
        let document = serde_json::to_vec(self).map_err(|_| Unreadable)?;
        let length = u32::try_from(document.len()).map_err(|_| Unreadable)?;
        let mut bytes =
            Vec::with_capacity(document.len().saturating_add(body.len()).saturating_add(5));
        bytes.push(VERSION);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&document);
        bytes.extend_from_slice(body);
        Ok(bytes)
    }

    /// Reads an envelope and the body behind it.
    ///
    /// # Errors
    /// The bytes are of another version, or damaged.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), Unreadable> {
        let Some((&VERSION, rest)) = bytes.split_first() else {
            return Err(Unreadable);
        };
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(Unreadable)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (document, body) = rest.split_at_checked(length).ok_or(Unreadable)?;
        Ok((
            serde_json::from_slice(document).map_err(|_| Unreadable)?,
            body,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::identity::Identity;
    use super::*;

    fn envelope() -> Envelope {
        let name = Identity::of("pay").name();
        let owner = name.owner(&Digest::of(b"somebody"));
        Envelope {
            operation: "pay".to_owned(),
            name,
            owner,
            base: "https://gate.example".to_owned(),
            counted_as: None,
            ask: Ask::Command(Box::new(Request {
                id: RequestId(7),
                second_try: false,
                method: "PROPFIND".to_owned(),
                target: "/v1/%70ay?a=1".to_owned(),
                path: "/v1/pay".to_owned(),
                headers: vec![("accept".to_owned(), "*/*".to_owned())],
            })),
        }
    }

    #[test]
    fn an_envelope_comes_back_with_the_very_bytes_of_the_body() {
        for body in [&b""[..], b"{}", &[0, 255, 10]] {
            let bytes = envelope().encode(body).unwrap();
            assert_eq!(Envelope::decode(&bytes), Ok((envelope(), body)));
        }
    }

    #[test]
    fn another_version_or_damage_is_no_envelope() {
        let bytes = envelope().encode(b"body").unwrap();
        let mut newer = bytes.clone();
        newer[0] = 2;
        assert_eq!(Envelope::decode(&newer), Err(Unreadable));
        assert_eq!(Envelope::decode(&bytes[..20]), Err(Unreadable));
        assert_eq!(Envelope::decode(&[]), Err(Unreadable));
    }
}
