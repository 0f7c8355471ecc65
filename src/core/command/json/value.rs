//! The end of a value: what the rules make of it.
//!
//! Owns what happens to the text of a value that was just read: left out, rewritten, or noted
//! because somebody asks for its place. It never reads the source.

use super::super::rules::Rule;
use super::super::{field, pointer};
use super::reader::{Frame, Kind, Mark, Reader};
use super::{Watched, place, text};

impl Reader<'_> {
    /// Ends a value: applies its rule and tells its container.
    pub(super) fn finish(&mut self, mark: &Mark) {
        let mut counts = true;
        if let Some(rule) = self.rule(mark) {
            if rule.watch {
                self.note(mark);
            }
            counts = self.apply(rule, mark);
        }
        if !counts {
            self.out.text.truncate(mark.text);
            self.out.objects.truncate(mark.objects);
            self.out.members.truncate(mark.members);
        }
        let end = place(self.out.text.len());
        match self.open.last_mut().map(|frame| &mut frame.kind) {
            Some(Kind::Array { kept, .. }) => *kept |= counts,
            Some(Kind::Object { sorted, .. }) => {
                // What does not count must be left out of the text.
                *sorted &= counts;
                if let Some(name) = self.names.last_mut() {
                    name.end = end;
                }
            }
            None => {}
        }
    }

    /// Rewrites the value just read as its rule wants; tells whether it counts.
    fn apply(&mut self, rule: &Rule, mark: &Mark) -> bool {
        if rule.drop {
            return false;
        }
        let member = matches!(
            self.open.last(),
            Some(Frame {
                kind: Kind::Object { .. },
                ..
            })
        );
        let start = mark.text.saturating_add(self.lead(mark));
        let value = self.out.text.get(start..).unwrap_or_default();
        if rule.rewrites()
            && let [b'"', inside @ .., b'"'] = value
            && let Some(better) = field::rewrite(rule, inside)
        {
            self.out.text.truncate(start.saturating_add(1));
            self.out.text.extend_from_slice(&better);
            self.out.text.push(b'"');
        }
        let Some(default) = rule.default.as_ref().filter(|_| member) else {
            return true;
        };
        !self.equals(start, mark, &default.json)
    }

    /// The bytes of text between the mark of a value and the value: a comma or a colon.
    fn lead(&self, mark: &Mark) -> usize {
        usize::from(matches!(self.out.text.get(mark.text), Some(b',' | b':')))
    }

    /// Whether the value just read has this canonical text.
    fn equals(&self, start: usize, mark: &Mark, canonical: &[u8]) -> bool {
        let end = self.out.text.len();
        if self.out.objects.len() == mark.objects {
            return self.out.text.get(start..) == Some(canonical);
        }
        let mut written = Vec::new();
        self.out
            .write_stretch(place(start), place(end), place(mark.objects), &mut written);
        written == canonical
    }

    /// Remembers the place of the value just read.
    fn note(&mut self, mark: &Mark) {
        let mut path = String::new();
        for (depth, frame) in self.open.iter().enumerate() {
            path.push('/');
            match &frame.kind {
                Kind::Array { index, .. } => path.push_str(&index.to_string()),
                Kind::Object { .. } => {
                    // Its current member is the last before those of the next open container.
                    let inner = self.open.get(depth.saturating_add(1));
                    let end = inner.map_or(self.names.len(), |inner| inner.names);
                    let name = end.checked_sub(1).and_then(|last| self.names.get(last));
                    let quoted = name.map(|name| name.of(&self.out.text)).unwrap_or_default();
                    let name = text::unquoted(quoted).unwrap_or_default();
                    path.push_str(&pointer::escape(&String::from_utf8_lossy(&name)));
                }
            }
        }
        self.out.watched.push(Watched {
            pointer: path,
            source: mark.source..self.at(),
        });
    }
}
