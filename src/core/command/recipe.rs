//! The recipe: what of a request is the command.
//!
//! Owns the typed options of the hash and the digest of their meaning. It never reads a request.
//! The digest is correct because it covers every option in an order of its own: two recipes have
//! one digest if and only if they were written to mean the same.

use super::json;
use super::pointer::Pointer;
use super::sink::{Hasher, Sink};
use super::{ALGORITHM, Malformed};

/// What of a request is the command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recipe {
    /// Changes whenever any other field does.
    pub version: u32,
    /// Which parameters of the query count.
    pub query: QueryRule,
    /// Whether method and path count.
    pub target: bool,
    /// The semantic headers, by their lower-case names; see [`may_be_semantic`].
    pub headers: Vec<String>,
    /// Values that do not count.
    pub ignore: Vec<Pointer>,
    /// Strings that hold a decimal and are compared as one.
    pub decimals: Vec<Pointer>,
    /// Strings whose ASCII letters are compared without case.
    pub casefold: Vec<Pointer>,
    /// Members that mean the same whether absent or present with this value.
    pub defaults: Vec<(Pointer, JsonText)>,
    /// Strings that hold an RFC 3339 time, compared as a point in time of some precision.
    pub timestamps: Vec<(Pointer, Precision)>,
    /// Values that do not count and that a replayed reply takes from the retry.
    pub echo: Vec<Pointer>,
    /// What a malformed body is.
    pub when_malformed: WhenMalformed,
    /// Older recipes, by which records of their time are judged.
    pub earlier: Vec<Self>,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            version: 1,
            query: QueryRule::All,
            target: true,
            headers: Vec::new(),
            ignore: Vec::new(),
            decimals: Vec::new(),
            casefold: Vec::new(),
            defaults: Vec::new(),
            timestamps: Vec::new(),
            echo: Vec::new(),
            when_malformed: WhenMalformed::Refuse,
            earlier: Vec::new(),
        }
    }
}

/// Which parameters of the query count.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum QueryRule {
    /// All of them.
    All,
    /// Those with these names.
    Names(Vec<String>),
    /// None of them.
    None,
}

/// What a malformed body is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WhenMalformed {
    /// Compared byte by byte.
    Bytes,
    /// Refused.
    Refuse,
}

/// How much of a time counts; the rest is cut off.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Precision {
    /// Whole seconds.
    Second,
    /// Three digits.
    Millisecond,
    /// Six digits.
    Microsecond,
    /// Nine digits.
    Nanosecond,
}

impl Precision {
    /// The number of digits of the fraction.
    #[must_use]
    pub fn digits(self) -> usize {
        match self {
            Self::Second => 0,
            Self::Millisecond => 3,
            Self::Microsecond => 6,
            Self::Nanosecond => 9,
        }
    }
}

/// A JSON value as it was written, known to be well-formed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JsonText(String);

impl JsonText {
    /// Takes a text that is one JSON value.
    ///
    /// # Errors
    /// If it is not.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        json::read(text.as_bytes(), None)?;
        Ok(Self(text.trim_matches([' ', '\t', '\r', '\n']).to_owned()))
    }

    /// The value as it was written, without white space around it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn canonical(&self) -> Vec<u8> {
        json::read(self.0.as_bytes(), None)
            .map(|value| value.to_vec())
            .unwrap_or_default()
    }
}

/// Headers that say who sends or how it is sent, never what is meant.
const TRANSPORT: [&str; 31] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "authorization",
    "baggage",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "date",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "pragma",
    "proxy-authorization",
    "referer",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "x-real-ip",
    "x-request-id",
];

/// Whether a header, by its lower-case name, may be one of [`Recipe::headers`].
///
/// Credentials, transport metadata and what is in the hash anyway may not.
#[must_use]
pub fn may_be_semantic(name: &str) -> bool {
    !TRANSPORT.contains(&name)
        && !["cf-", "oncegate-", "sec-", "x-forwarded-"]
            .iter()
            .any(|part| name.starts_with(part))
}

impl Recipe {
    /// The digest of everything this recipe means, its version included, earlier ones not.
    #[must_use]
    pub fn digest(&self) -> [u8; 8] {
        let mut out = Hasher::default();
        out.part(Some(b"oncegate recipe"));
        out.part(Some(ALGORITHM.as_bytes()));
        out.part(Some(self.version.to_string().as_bytes()));
        match &self.query {
            QueryRule::All => out.part(Some(b"all")),
            QueryRule::None => out.part(Some(b"none")),
            QueryRule::Names(names) => {
                out.part(Some(b"names"));
                list(
                    &mut out,
                    "names",
                    names.iter().map(|name| name.as_bytes().to_vec()),
                );
            }
        }
        out.part(Some(if self.target { b"target" } else { b"no target" }));
        list(
            &mut out,
            "headers",
            self.headers.iter().map(|name| name.as_bytes().to_vec()),
        );
        for (name, pointers) in [
            ("ignore", &self.ignore),
            ("decimals", &self.decimals),
            ("casefold", &self.casefold),
            ("echo", &self.echo),
        ] {
            list(
                &mut out,
                name,
                pointers.iter().map(|pointer| pair(pointer, b"")),
            );
        }
        let defaults = self.defaults.iter();
        list(
            &mut out,
            "defaults",
            defaults.map(|(at, value)| pair(at, &value.canonical())),
        );
        let timestamps = self.timestamps.iter();
        let precision = |digits: usize| digits.to_string().into_bytes();
        list(
            &mut out,
            "timestamps",
            timestamps.map(|(at, value)| pair(at, &precision(value.digits()))),
        );
        out.part(Some(match self.when_malformed {
            WhenMalformed::Refuse => b"refuse",
            WhenMalformed::Bytes => b"bytes",
        }));
        let [a, b, c, d, e, f, g, h, ..] = out.finish();
        [a, b, c, d, e, f, g, h]
    }

    /// The semantic headers in the order of the hash.
    pub(super) fn header_names(&self) -> Vec<String> {
        let mut names = self.headers.clone();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn pair(pointer: &Pointer, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.part(Some(pointer.to_string().as_bytes()));
    out.part(Some(value));
    out
}

/// A named set: sorted, each entry once.
fn list(out: &mut Hasher, name: &str, entries: impl Iterator<Item = Vec<u8>>) {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable();
    entries.dedup();
    out.part(Some(name.as_bytes()));
    out.part(Some(entries.len().to_string().as_bytes()));
    entries.iter().for_each(|entry| out.part(Some(entry)));
}
