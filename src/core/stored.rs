//! The stored form of a record.
//!
//! Owns the bytes: one byte of format version, the length of a JSON document, that document, and
//! behind it the kept bodies in the order in which the document names them, as long as they are
//! short. Longer ones are stored beside it, in chunks that each fit a row. It never touches
//! storage. A format that this code does not know is an error, never an empty key, so that an
//! older version of the code cannot run a command again.

use std::sync::Arc;

use super::record::Record;
use super::reply::Body;

/// The version of the stored form.
const FORMAT: u8 = 1;

/// How long bodies may be in all to be stored behind the document: well below the platform's 2 MB
/// for one value, with room for the document itself.
pub const INLINE: usize = 1 << 20;

/// How long a chunk of longer bodies is.
pub const CHUNK: usize = 1 << 20;

/// The longest value that the platform stores in one row.
const ROW: usize = 2_000_000;
const _: () = assert!(CHUNK < ROW && INLINE + 500_000 < ROW);

/// Stored bytes that are not a record this code can read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Unreadable {
    /// Written by another version of the code.
    Format(u8),
    /// Damaged.
    Damaged,
}

impl Record {
    /// The bytes to store.
    ///
    /// # Errors
    /// The record cannot be written as JSON; nothing of it may then be relied on.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let document = serde_json::to_vec(self)?;
        let mut bytes = Vec::with_capacity(document.len().saturating_add(5));
        bytes.push(FORMAT);
        bytes.extend_from_slice(
            &u32::try_from(document.len())
                .unwrap_or(u32::MAX)
                .to_be_bytes(),
        );
        bytes.extend_from_slice(&document);
        if !self.is_long() {
            self.bodies().for_each(|body| bytes.extend_from_slice(body));
        }
        Ok(bytes)
    }

    /// Reads stored bytes; `long` gives the chunks of long bodies, all in one.
    ///
    /// # Errors
    /// They were written by another version of the code, or are damaged.
    pub fn decode(
        bytes: &[u8],
        long: impl FnOnce(usize) -> Option<Vec<u8>>,
    ) -> Result<Self, Unreadable> {
        let (format, rest) = bytes.split_first().ok_or(Unreadable::Damaged)?;
        if *format != FORMAT {
            return Err(Unreadable::Format(*format));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(Unreadable::Damaged)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (document, inline) = rest.split_at_checked(length).ok_or(Unreadable::Damaged)?;
        let mut record: Self = serde_json::from_slice(document).map_err(|_| Unreadable::Damaged)?;
        if !record.is_long() {
            record.fill(inline)?;
            return Ok(record);
        }
        match long(record.length()) {
            Some(bytes) if inline.is_empty() && bytes.len() == record.length() => {
                record.fill(&bytes)?;
            }
            // Never a reply cut short, and never a second run: the receipt is lost.
            Some(_) | None => record.lose_bodies(),
        }
        Ok(record)
    }

    /// The bodies that are kept.
    pub fn bodies(&self) -> impl Iterator<Item = &Arc<Vec<u8>>> {
        self.replies().filter_map(|reply| match &reply.body {
            Body::Whole(body) => Some(body),
            Body::Lost | Body::NotKept | Body::TooLarge => None,
        })
    }

    /// Whether the bodies are too long to be stored behind the document.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.length() > INLINE
    }

    /// Gives the bodies up: they could not be stored, or not be found.
    pub fn lose_bodies(&mut self) {
        for reply in self.replies_mut() {
            if matches!(reply.body, Body::Whole(_)) {
                reply.body = Body::Lost;
            }
        }
    }

    /// Long bodies, all in one, as they are stored in chunks; nothing if they are short.
    #[must_use]
    pub fn long_bodies(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.is_long() {
            bytes.reserve_exact(self.length());
            self.bodies().for_each(|body| bytes.extend_from_slice(body));
        }
        bytes
    }

    /// How many chunks the bodies take that are stored beside the document.
    #[must_use]
    pub fn chunks(&self) -> usize {
        if self.is_long() {
            self.length().div_ceil(CHUNK)
        } else {
            0
        }
    }

    fn length(&self) -> usize {
        self.bodies()
            .fold(0, |sum, body| sum.saturating_add(body.len()))
    }

    fn fill(&mut self, mut bytes: &[u8]) -> Result<(), Unreadable> {
        for reply in self.replies_mut() {
            if let Body::Whole(body) = &mut reply.body {
                let (stored, after) = bytes
                    .split_at_checked(body.len())
                    .ok_or(Unreadable::Damaged)?;
                *body = Arc::new(stored.to_vec());
                bytes = after;
            }
        }
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(Unreadable::Damaged)
        }
    }
}
