//! JSON: strict reading and the one canonical text.
//!
//! Owns the canonical form of a JSON document: no white space, members sorted by the UTF-8 bytes
//! of their unescaped names, strings with the fewest escapes, numbers as exact decimals. It never
//! builds a tree: the reader writes canonical text in the order of the source and notes only the
//! objects whose members must change places; they do so while the text is written out. So time
//! and memory stay linear in the body.

mod members;
mod reader;
#[cfg(test)]
mod tests;
mod text;
mod value;

use super::Malformed;
use super::pointer::Pointer;
use super::rules::{NodeId, ROOT, Rules};
use super::sink::Sink;
use std::ops::Range;

pub(super) use text::{quoted, unquoted};

/// The deepest nesting of arrays and objects.
pub(super) const MAX_DEPTH: usize = 128;
/// The most members of one object, and the most fields of a form.
pub(super) const MAX_MEMBERS: usize = 131_072;
/// The longest body, so that places fit into 32 bits with room to spare.
pub(super) const MAX_LENGTH: usize = 1 << 30;

/// A canonical document.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// Canonical text with members still in the order of the source.
    text: Vec<u8>,
    /// The objects whose members must move, and those around them, in the order of the text.
    objects: Vec<Object>,
    /// The members of those objects, in canonical order.
    members: Vec<Chunk>,
    /// The places that were asked for.
    pub(super) watched: Vec<Watched>,
}

/// An object of the text whose members, or the members of one inside it, must move.
#[derive(Clone, Copy, Debug)]
struct Object {
    /// From its `{` to after its `}`.
    start: u32,
    end: u32,
    /// Its members; nothing if they already stand in order.
    members: Option<(u32, u32)>,
    /// The first object after it that is not inside it.
    next: u32,
}

/// One member: its place in the text, and the first object at or after its start.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    start: u32,
    end: u32,
    object: u32,
}

/// A value that was asked for.
#[derive(Debug)]
pub(super) struct Watched {
    /// The exact pointer to it.
    pub(super) pointer: String,
    /// Its place in the source.
    pub(super) source: Range<usize>,
}

/// Reads a document by some rules.
pub(super) fn read(body: &[u8], rules: Option<&Rules>) -> Result<Document, Malformed> {
    reader::Reader::new(body, rules, ROOT)?.document()
}

/// Reads a document as if it stood at a place that has rules.
pub(super) fn read_below(body: &[u8], rules: &Rules, at: NodeId) -> Result<Document, Malformed> {
    reader::Reader::new(body, Some(rules), at)?.document()
}

/// The canonical scalar at a place of a JSON body, for keys that are made of body values.
///
/// It keeps its JSON type: `"000001"` is not `1`, while `1` is `1.0`. Nothing if there is no such
/// place. `*` is an ordinary token that matches no item.
///
/// # Errors
/// If the body is not strict JSON, or the place holds null, an object or an array.
pub fn identity_value(body: &[u8], pointer: &Pointer) -> Result<Option<String>, Malformed> {
    let document = read(body, Some(&Rules::watching(std::iter::once(pointer))))?;
    let [found] = document.watched.as_slice() else {
        return Ok(None);
    };
    let source = body.get(found.source.clone()).unwrap_or_default();
    if pointer.has_wildcard() {
        return Ok(None);
    }
    if matches!(source, [b'{' | b'[' | b'n', ..]) {
        return Err(Malformed::new(
            "it must be a text, a number, true or false, not null, a list or an object",
        ));
    }
    let scalar = read(source, None)?;
    Ok(String::from_utf8(scalar.to_vec()).ok())
}

/// The bytes of the value at a place of a JSON body, spelled as there.
#[must_use]
pub fn source<'a>(body: &'a [u8], pointer: &Pointer) -> Option<&'a [u8]> {
    let document = read(body, Some(&Rules::watching(std::iter::once(pointer)))).ok()?;
    let [found] = document.watched.as_slice() else {
        return None;
    };
    body.get(found.source.clone())
}

/// A place of 32 bits as an index, and back.
pub(super) fn at(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

pub(super) fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Document {
    /// Puts the canonical text.
    pub(super) fn write(&self, out: &mut impl Sink) {
        if self.objects.is_empty() {
            return out.put(&self.text);
        }
        self.write_stretch(0, place(self.text.len()), 0, out);
    }

    /// The canonical text.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len());
        self.write(&mut out);
        out
    }

    /// Puts a stretch of the text; `object` is the first one at or after its start.
    ///
    /// Calls itself once per level of nesting, which the reader has bounded.
    fn write_stretch(&self, start: u32, end: u32, mut object: u32, out: &mut impl Sink) {
        let mut from = start;
        while let Some(next) = self.objects.get(at(object)).filter(|next| next.start < end) {
            let Some((first, count)) = next.members else {
                object = object.saturating_add(1);
                continue;
            };
            out.put(self.text.get(at(from)..at(next.start)).unwrap_or_default());
            let members = at(first)..at(first.saturating_add(count));
            let mut before: &[u8] = b"{";
            for member in self.members.get(members).unwrap_or_default() {
                out.put(before);
                before = b",";
                self.write_stretch(member.start, member.end, member.object, out);
            }
            out.put(if count == 0 { b"{}" } else { b"}" });
            from = next.end;
            object = next.next;
        }
        out.put(self.text.get(at(from)..at(end)).unwrap_or_default());
    }
}
