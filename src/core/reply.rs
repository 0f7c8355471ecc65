//! The origin's reply as it is kept.
//!
//! Owns which headers of a reply survive in the record, and what is known of its body. It never
//! decides what a reply means (`outcome`) or when it is given out (`step`). It is correct because
//! the headers are an allow-list: a cookie, a challenge, a rate limit or a stale coding of the
//! first answer can not reach a later caller unless it is named here.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
        let kept = |(name, value): &&(String, String)| {
            let name = name.to_ascii_lowercase();
            KEPT_HEADERS.binary_search(&name.as_str()).is_ok() && !value.contains('\u{fffd}')
        };
        let body = match (body, keep.reply) {
            (Read::BrokeOff, _) => Body::Lost,
            (_, KeepReply::None) => Body::NotKept,
            (Read::TooLong, KeepReply::Full) => Body::TooLarge,
            (Read::Whole(bytes), KeepReply::Full) if bytes.len() > most_kept(keep) => {
                Body::TooLarge
            }
            (Read::Whole(bytes), KeepReply::Full) => Body::whole(bytes),
        };
        Self {
            status,
            headers: headers.iter().filter(kept).cloned().collect(),
            body,
        }
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

/// How long a body may be to be kept under a policy.
#[must_use]
pub fn most_kept(keep: &Keep) -> usize {
    match keep.reply {
        KeepReply::Full => keep.max_reply.min(LARGEST_KEPT),
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
        if length > super::LARGEST_KEPT {
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
