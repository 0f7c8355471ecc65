//! The origin's reply as it is kept.
//!
//! Owns which headers of a reply survive in the record, and what is known of its body. It never
//! decides what a reply means (`outcome`) or when it is given out (`step`). It is correct because
//! the headers are an allow-list: a cookie, a challenge, a rate limit or a stale coding of the
//! first answer can not reach a later caller unless it is named here.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use serde_json::Value;

use super::command::{Pointer, source};
use super::policy::{Keep, KeepReply};

/// The longest body that the policy can keep: an isolate has 128 MB for all that it does.
pub const LARGEST_KEPT: usize = 16 << 20;

/// How much of an answer is read before it goes out, whatever is kept of it: enough to find out
/// whether an ordinary answer is whole.
pub const READ_AHEAD: usize = 1 << 20;

/// Entity and resource headers: what describes the body or the resource, not this exchange.
/// They fit the bytes that are kept: the shell takes out what stops being true when it decodes.
const KEPT_HEADERS: [&str; 18] = [
    "allow",
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-location",
    "content-md5",
    "content-type",
    "deprecation",
    "digest",
    "etag",
    "last-modified",
    "link",
    "location",
    "preference-applied",
    "repr-digest",
    "sunset",
    "warning",
];

/// A reply of the origin, as far as it is kept.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Reply {
    /// The origin's status.
    pub status: u16,
    /// The kept headers, in the origin's order and spelling.
    pub headers: Vec<(String, String)>,
    /// What is kept of the body.
    pub body: Body,
    /// Under which numbered secret headers and body are encrypted, into the body; none if they
    /// are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<u32>,
}

/// What is kept of a body.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The origin's answer broke off: the outcome is known, the receipt is not.
    Lost,
    /// The policy keeps none.
    NotKept,
    /// It is longer than may be kept.
    TooLarge,
    /// All of it; stored behind the record, not inside its JSON, and shared, not copied.
    Whole(#[serde(with = "length")] Arc<Vec<u8>>),
}

/// What the shell read of an answer's body.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Read {
    /// It ended before its end.
    BrokeOff,
    /// More than may be kept; the rest is with the caller.
    TooLong,
    /// All of it, decoded.
    Whole(Vec<u8>),
}

impl Reply {
    /// Keeps of an answer what the policy allows.
    #[must_use]
    pub fn keep(status: u16, headers: &[(String, String)], body: Read, keep: &Keep) -> Self {
        let body = match (body, keep.reply) {
            (Read::BrokeOff, _) => Body::Lost,
            (_, KeepReply::None) => Body::NotKept,
            (Read::TooLong, KeepReply::Full | KeepReply::Reference) => Body::TooLarge,
            (Read::Whole(bytes), KeepReply::Full | KeepReply::Reference)
                if bytes.len() > most_kept(keep) =>
            {
                Body::TooLarge
            }
            (Read::Whole(bytes), KeepReply::Full) => Body::whole(bytes),
            (Read::Whole(bytes), KeepReply::Reference) => {
                members(&bytes, &keep.fields).map_or(Body::NotKept, Body::whole)
            }
        };
        let mut headers: Vec<_> = headers
            .iter()
            .filter(|(name, value)| is_kept(name, value, keep))
            .cloned()
            .collect();
        if keep.reply == KeepReply::Reference && matches!(body, Body::Whole(_)) {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        Self {
            status,
            headers,
            body,
            seal: None,
        }
    }

    /// A rebuilt reply as the policy keeps replies.
    #[must_use]
    pub fn kept(self, keep: &Keep) -> Self {
        match self.body {
            Body::Whole(bytes) => Self::keep(
                self.status,
                &self.headers,
                Read::Whole(bytes.to_vec()),
                keep,
            ),
            Body::Lost | Body::NotKept | Body::TooLarge => self,
        }
    }

    /// Headers and body in one text, to be encrypted; nothing if there is no body.
    #[must_use]
    pub fn to_plain(&self) -> Option<Vec<u8>> {
        let Body::Whole(body) = &self.body else {
            return None;
        };
        let headers = serde_json::to_vec(&self.headers).ok()?;
        let length = u32::try_from(headers.len()).ok()?;
        Some([&length.to_be_bytes(), headers.as_slice(), body.as_slice()].concat())
    }

    /// The reply of such a text.
    #[must_use]
    pub fn from_plain(status: u16, plain: &[u8]) -> Option<Self> {
        let (length, rest) = plain.split_first_chunk::<4>()?;
        let (headers, body) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let headers = serde_json::from_slice(headers).ok()?;
        Some(Self {
            status,
            headers,
            body: Body::whole(body.to_vec()),
            seal: None,
        })
    }

    /// The value of a kept header, by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self
            .headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        Some(value)
    }
}

impl Body {
    /// A whole body of these bytes.
    #[must_use]
    pub fn whole(bytes: Vec<u8>) -> Self {
        Self::Whole(Arc::new(bytes))
    }
}

/// Whether a header survives. Values that are not UTF-8 have been replaced on their way here and
/// would be replayed wrongly.
fn is_kept(name: &str, value: &str, keep: &Keep) -> bool {
    let name = name.to_ascii_lowercase();
    let entity = match keep.reply {
        KeepReply::Full | KeepReply::None => KEPT_HEADERS.binary_search(&name.as_str()).is_ok(),
        KeepReply::Reference => name == "location",
    };
    (entity || keep.headers.contains(&name)) && !value.contains('\u{fffd}')
}

/// The chosen members of a JSON object, each spelled as in the origin's answer; nothing if the
/// body is no JSON object, or if no members are chosen.
fn members(body: &[u8], fields: &[Pointer]) -> Option<Vec<u8>> {
    if fields.is_empty() || !serde_json::from_slice::<Value>(body).ok()?.is_object() {
        return None;
    }
    let found: Vec<(&[String], &[u8])> = fields
        .iter()
        .filter_map(|field| Some((field.tokens(), source(body, field)?)))
        .collect();
    let mut out = Vec::new();
    write_members(&found, &mut out);
    Some(out)
}

/// Writes an object of members, nested as deep as their paths are.
fn write_members(found: &[(&[String], &[u8])], out: &mut Vec<u8>) {
    out.push(b'{');
    let mut written: Vec<&str> = Vec::new();
    for (path, _) in found {
        let Some((name, _)) = path.split_first() else {
            continue;
        };
        if written.contains(&name.as_str()) {
            continue;
        }
        if !written.is_empty() {
            out.push(b',');
        }
        written.push(name);
        out.extend_from_slice(Value::from(name.as_str()).to_string().as_bytes());
        out.push(b':');
        let below: Vec<(&[String], &[u8])> = found
            .iter()
            .filter_map(|(path, value)| {
                path.split_first()
                    .filter(|(first, _)| *first == name)
                    .map(|(_, rest)| (rest, *value))
            })
            .collect();
        match below.iter().find(|(path, _)| path.is_empty()) {
            Some((_, value)) => out.extend_from_slice(value),
            None => write_members(&below, out),
        }
    }
    out.push(b'}');
}

/// How long a body may be to be kept under a policy.
#[must_use]
pub fn most_kept(keep: &Keep) -> usize {
    match keep.reply {
        KeepReply::Full | KeepReply::Reference => keep.max_reply.min(LARGEST_KEPT),
        KeepReply::None => 0,
    }
}

/// Stores the length of a body in its place; the bytes follow behind the record's JSON.
mod length {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(body: &Arc<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(body.len() as u64)
    }

    /// A stand-in of the stored length, which `record` fills with the bytes.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<Vec<u8>>, D::Error> {
        let length = usize::deserialize(from)?;
        // What is sealed is a little longer than what is kept.
        if length > super::LARGEST_KEPT.saturating_mul(2) {
            return Err(serde::de::Error::custom("a body longer than may be kept"));
        }
        Ok(Arc::new(vec![0; length]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::Span;

    fn keep(reply: KeepReply, max_reply: usize) -> Keep {
        Keep {
            reply,
            for_: Span::seconds(1),
            tombstone: Span::seconds(1),
            max_reply,
            fields: Vec::new(),
            headers: Vec::new(),
            encrypt: false,
        }
    }

    #[test]
    fn the_kept_headers_are_sorted_for_the_search() {
        assert!(KEPT_HEADERS.is_sorted());
    }

    #[test]
    fn only_entity_headers_survive() {
        let headers: Vec<_> = [
            ("Content-Type", "application/json"),
            ("Set-Cookie", "a=1"),
            ("Location", "/v1/payments/pay_1"),
            ("WWW-Authenticate", "Bearer"),
            ("Date", "now"),
            ("RateLimit-Remaining", "3"),
            ("Retry-After", "7"),
            ("Access-Control-Allow-Origin", "*"),
            ("Link", "l\u{fffd}nk"),
            ("ETag", "\"a\""),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let reply = Reply::keep(
            201,
            &headers,
            Read::Whole(b"{}".to_vec()),
            &keep(KeepReply::Full, 10),
        );
        let names: Vec<_> = reply
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["Content-Type", "Location", "ETag"]);
        assert_eq!(reply.header("location"), Some("/v1/payments/pay_1"));
    }

    #[test]
    fn by_reference_only_the_chosen_members_and_headers_are_kept() {
        let fields = ["/id", "/card/last4", "/card/brand", "/missing"];
        let keep = Keep {
            fields: fields.map(|field| Pointer::parse(field).unwrap()).into(),
            headers: vec!["request-id".to_owned(), "set-cookie".to_owned()],
            ..keep(KeepReply::Reference, 1_000)
        };
        let headers: Vec<_> = [
            ("content-type", "application/vnd.acme+json"),
            ("location", "/1"),
            ("etag", "\"a\""),
            ("request-id", "r1"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let body = br#"{"name":"Ada","card":{"last4":"4242","pan":"4111","brand":"x"},"id": 1.10}"#;
        let reply = Reply::keep(201, &headers, Read::Whole(body.to_vec()), &keep);
        let kept = br#"{"id":1.10,"card":{"last4":"4242","brand":"x"}}"#;
        assert_eq!(reply.body, Body::whole(kept.to_vec()));
        let names: Vec<_> = reply
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "location",
                "request-id",
                "set-cookie",
                "set-cookie",
                "Content-Type"
            ]
        );
        for other in ["not json", "[1]", "7", ""] {
            let read = Read::Whole(other.as_bytes().to_vec());
            assert_eq!(
                Reply::keep(201, &[], read, &keep).body,
                Body::NotKept,
                "{other}"
            );
        }
    }

    #[test]
    fn a_body_is_kept_whole_or_not_at_all() {
        for (read, reply, kept) in [
            (
                Read::Whole(vec![7; 10]),
                KeepReply::Full,
                Body::whole(vec![7; 10]),
            ),
            (Read::Whole(vec![7; 11]), KeepReply::Full, Body::TooLarge),
            (Read::TooLong, KeepReply::Full, Body::TooLarge),
            (Read::BrokeOff, KeepReply::Full, Body::Lost),
            (Read::Whole(vec![7]), KeepReply::None, Body::NotKept),
            (Read::BrokeOff, KeepReply::None, Body::Lost),
        ] {
            assert_eq!(Reply::keep(200, &[], read, &keep(reply, 10)).body, kept);
        }
        let far_more = keep(KeepReply::Full, usize::MAX);
        assert_eq!(most_kept(&far_more), LARGEST_KEPT);
    }
}
