//! The command and its fingerprint.
//!
//! Owns the question whether two requests are the same command: what of a request counts, its one
//! canonical form, the hash of that form, and how a stored fingerprint judges a retry after a
//! deploy. It never changes what the origin receives, and it never fails open: what cannot be
//! compared is different. It is correct because the canonical form is injective (two commands
//! share it only if the recipe calls them equal) and every part of the hash carries its length.
//!
//! `docs/command-hash.md` specifies the hash for other languages; `tests/vectors` pins it.

mod canonical;
mod coding;
mod decimal;
pub mod echo;
mod field;
mod fingerprint;
mod form;
mod json;
mod media;
mod multipart;
mod pointer;
mod recipe;
mod rules;
mod sink;
mod timestamp;

use std::borrow::Cow;
use std::fmt;

pub use canonical::{Body, Canonical, JsonBody, MultipartBody};
pub use fingerprint::{Basis, Fingerprint, Judgement, Verdict};
pub use json::{identity_value, source};
pub use pointer::Pointer;
pub use recipe::{JsonText, Precision, QueryRule, Recipe, WhenMalformed, may_be_semantic};
pub use sink::{Digest, Hasher, Sink, sha256};

/// Names the algorithm. It changes if the canonical form of anything changes.
pub const ALGORITHM: &str = "oncegate-command-1";

/// A request as far as it can be a command.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The name of the operation.
    pub operation: &'a str,
    /// The method, as it was sent.
    pub method: &'a str,
    /// The normalised path.
    pub path: &'a str,
    /// The raw query, without its `?`.
    pub query: Option<&'a str>,
    /// Lower-case names; the values of repeated headers joined with `, `.
    pub headers: &'a [(String, String)],
    /// The body, as it was sent.
    pub body: &'a [u8],
    /// The longest body after decoding, in bytes.
    pub max_decoded: usize,
}

impl<'a> Command<'a> {
    /// The value of a header, by its lower-case name, without white space around it.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.trim_matches([' ', '\t']))
    }

    /// The body without its content codings; as it was sent, if it has one that is not known.
    ///
    /// # Errors
    /// If it is not what its codings say, or too long when decoded.
    pub fn content(&self) -> Result<Cow<'a, [u8]>, Malformed> {
        self.decoded().map(|(body, _)| body)
    }

    /// The body, and the codings that it still has.
    fn decoded(&self) -> Result<(Cow<'a, [u8]>, Option<String>), Malformed> {
        let codings = self.codings();
        if codings.is_empty() || self.body.is_empty() {
            return Ok((Cow::Borrowed(self.body), None));
        }
        coding::decode(&codings, self.body, self.max_decoded)
    }

    fn codings(&self) -> Vec<String> {
        let value = self.header("content-encoding");
        value.map(coding::names).unwrap_or_default()
    }
}

/// A body without its content codings, as [`Command::content`] gives it.
///
/// # Errors
/// If it is not what its codings say, or too long when decoded.
pub fn content<'a>(
    headers: &'a [(String, String)],
    body: &'a [u8],
    max_decoded: usize,
) -> Result<Cow<'a, [u8]>, Malformed> {
    let command = Command {
        operation: "",
        method: "",
        path: "",
        query: None,
        headers,
        body,
        max_decoded,
    };
    command.content()
}

/// A body that is not what its media type or coding says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Malformed {
    /// The fault and its place, without any value of the body.
    pub detail: String,
}

impl Malformed {
    pub(crate) fn new(detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.detail)
    }
}

impl std::error::Error for Malformed {}
