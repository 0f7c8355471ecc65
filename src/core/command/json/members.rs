//! The members of an object: their order, and that each name is there once.
//!
//! Owns the comparison of names and the order of members: those of an innermost object move in the
//! text at once, all others are noted, to move while it is written out. Names are compared with the
//! one before as they come; only an object whose names are out of order is sorted, at its end.

use super::super::Malformed;
use super::reader::{Frame, Kind, Reader};
use super::{Chunk, Object, at, place, text};
use std::cmp::Ordering;

/// A member of an open object.
#[derive(Clone, Copy)]
pub(super) struct Name {
    /// The first 8 bytes of its unescaped name, so that most comparisons look at no text.
    key: u64,
    /// Its text starts with its name.
    pub(super) start: u32,
    pub(super) name_end: u32,
    /// The end of its value; the end of its name if it does not count.
    pub(super) end: u32,
    pub(super) object: u32,
}

impl Name {
    /// The name that was just appended to the text.
    pub(super) fn new(text: &[u8], start: u32, object: u32) -> Self {
        let name_end = place(text.len());
        let key = key(text.get(at(start)..).unwrap_or_default());
        Self {
            key,
            start,
            name_end,
            end: name_end,
            object,
        }
    }

    /// Whether its member is to be written.
    fn counts(&self) -> bool {
        self.end > self.name_end
    }

    pub(super) fn of<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(at(self.start)..at(self.name_end))
            .unwrap_or_default()
    }
}

/// The first 8 unescaped bytes of a canonical name, big-endian, filled up with zeros.
///
/// Where two keys differ, the names differ the same way: zeros stand for an end, or for a `NUL`
/// that is compared in full if all else is equal.
fn key(quoted: &[u8]) -> u64 {
    let inside = quoted.get(1..).unwrap_or_default();
    let inside = inside
        .get(..inside.len().saturating_sub(1))
        .unwrap_or_default();
    let head = inside.get(..8).unwrap_or(inside);
    let mut key = [0; 8];
    if head.contains(&b'\\') {
        key.iter_mut()
            .zip(text::scalars(inside))
            .for_each(|(to, from)| *to = from);
    } else {
        key.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
    }
    u64::from_be_bytes(key)
}

/// Compares two names by their unescaped bytes.
fn compare(text: &[u8], a: &Name, b: &Name) -> Ordering {
    a.key.cmp(&b.key).then_with(|| {
        let (a, b) = (a.of(text), b.of(text));
        if a == b {
            Ordering::Equal
        } else {
            text::scalars_of(a).cmp(text::scalars_of(b))
        }
    })
}

impl Reader<'_> {
    /// Notes whether the new name still stands in order.
    pub(super) fn keep_order(
        &mut self,
        name: &Name,
        first: usize,
        source: usize,
    ) -> Result<(), Malformed> {
        let Some(Frame {
            kind: Kind::Object { sorted, .. },
            ..
        }) = self.open.last_mut()
        else {
            return Ok(());
        };
        let before = self.names.get(first..).and_then(<[Name]>::last);
        if let (true, Some(before)) = (*sorted, before) {
            let text = &self.out.text;
            match compare(text, before, name) {
                Ordering::Less => {}
                Ordering::Greater => *sorted = false,
                Ordering::Equal => {
                    let fault =
                        format!("the JSON body has a duplicate member name at byte {source}");
                    return Err(Malformed::new(fault));
                }
            }
        }
        Ok(())
    }

    /// Puts the members of an object in order, or notes their order; tells whether text was moved.
    ///
    /// Text moves at most once, so that deep nesting stays linear: the members of an object move at
    /// once if nothing inside it did, else while the document is written.
    pub(super) fn arrange(
        &mut self,
        frame: &Frame,
        entry: usize,
        sorted: bool,
    ) -> Result<bool, Malformed> {
        let alone = self.out.objects.len() == entry.saturating_add(1);
        if sorted {
            self.names.truncate(frame.names);
            if alone {
                self.out.objects.pop();
            }
            return Ok(frame.moved);
        }
        let text = &self.out.text;
        let names = self.names.get_mut(frame.names..).unwrap_or_default();
        names.sort_unstable_by(|a, b| compare(text, a, b));
        let twice = |pair: &[Name]| matches!(pair, [a, b] if compare(text, a, b).is_eq());
        if names.windows(2).any(twice) {
            let place = frame.mark.source;
            let fault = format!("a duplicate member name in the object at byte {place}");
            return Err(Malformed::new(format!("the JSON body has {fault}")));
        }
        if alone && !frame.moved {
            self.move_members(frame.names);
        } else {
            self.note_members(frame.names, entry);
        }
        self.names.truncate(frame.names);
        Ok(true)
    }

    /// Moves the members of the last object of the text, whose names are sorted.
    fn move_members(&mut self, first: usize) {
        let Some(object) = self.out.objects.pop() else {
            return;
        };
        let names = self.names.get(first..).unwrap_or_default();
        self.scratch.clear();
        self.scratch.push(b'{');
        for name in names.iter().filter(|name| name.counts()) {
            if self.scratch.len() > 1 {
                self.scratch.push(b',');
            }
            let member = self.out.text.get(at(name.start)..at(name.end));
            self.scratch.extend_from_slice(member.unwrap_or_default());
        }
        self.scratch.push(b'}');
        self.out.text.truncate(at(object.start));
        self.out.text.extend_from_slice(&self.scratch);
    }

    /// Notes in which order the members of an object are to be written; their names are sorted.
    fn note_members(&mut self, first: usize, entry: usize) {
        let names = self.names.get(first..).unwrap_or_default();
        let members = place(self.out.members.len());
        let counting = names.iter().filter(|name| name.counts());
        self.out.members.extend(counting.map(|name| Chunk {
            start: name.start,
            end: name.end,
            object: name.object,
        }));
        let count = place(self.out.members.len()).saturating_sub(members);
        let (end, next) = (place(self.out.text.len()), place(self.out.objects.len()));
        if let Some(object) = self.out.objects.get_mut(entry) {
            *object = Object {
                end,
                members: Some((members, count)),
                next,
                ..*object
            };
        }
    }
}
