//! The strict JSON reader.
//!
//! Owns the grammar of RFC 8259, with duplicate member names, lone surrogates, byte-order marks,
//! invalid UTF-8 and too deep nesting refused. It never recurses: its stack is a vector of bounded
//! length. It is correct because it accepts by the grammar alone, one step a byte, and appends
//! canonical text as it goes; rules act on the text of a value right after it was read.

use super::super::field;
use super::super::rules::{NodeId, Rule, Rules};
use super::super::{Malformed, decimal::Decimal, pointer};
use super::{
    Chunk, Document, MAX_DEPTH, MAX_LENGTH, MAX_MEMBERS, Object, Watched, at, place, text,
};
use std::cmp::Ordering;

/// Reads one document.
pub(super) struct Reader<'a> {
    source: &'a [u8],
    rest: &'a [u8],
    rules: Option<&'a Rules>,
    root: NodeId,
    out: Document,
    open: Vec<Frame>,
    /// The members so far of all open objects.
    names: Vec<Name>,
}

/// What was there when a value began.
#[derive(Clone, Copy)]
struct Mark {
    node: Option<NodeId>,
    source: usize,
    /// The text before the value; for items before their comma too.
    text: usize,
    objects: usize,
    members: usize,
}

/// An open array or object.
struct Frame {
    mark: Mark,
    kind: Kind,
    /// The names of the objects around it end here.
    names: usize,
}

enum Kind {
    /// The index of the current item, and whether an item was kept yet.
    Array { index: usize, kept: bool },
    /// Its entry in the objects, and whether its members stand in order so far.
    Object { entry: usize, sorted: bool },
}

/// A member of an open object.
#[derive(Clone, Copy)]
struct Name {
    /// Its text starts with its name.
    start: u32,
    name_end: u32,
    /// The end of its value; the end of its name if it does not count.
    end: u32,
    object: u32,
}

impl Name {
    fn of<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(at(self.start)..at(self.name_end))
            .unwrap_or_default()
    }
}

/// Compares two canonical names, quotes included, by their unescaped bytes.
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if a.contains(&b'\\') || b.contains(&b'\\') {
        let inside = |name: &'_ [u8]| text::unquoted(name).unwrap_or_default();
        return inside(a).cmp(&inside(b));
    }
    // Without their closing quotes, which would sort between other characters.
    a.split_last()
        .map(|(_, a)| a)
        .cmp(&b.split_last().map(|(_, b)| b))
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        source: &'a [u8],
        rules: Option<&'a Rules>,
        root: NodeId,
    ) -> Result<Self, Malformed> {
        if source.len() > MAX_LENGTH {
            return Err(Malformed::new("the JSON body is too long"));
        }
        if let Err(fault) = std::str::from_utf8(source) {
            let place = fault.valid_up_to();
            return Err(Malformed::new(format!(
                "the JSON body is not UTF-8 at byte {place}"
            )));
        }
        if source.starts_with(b"\xef\xbb\xbf") {
            return Err(Malformed::new(
                "the JSON body starts with a byte-order mark at byte 0",
            ));
        }
        let out = Document {
            text: Vec::with_capacity(source.len()),
            ..Document::default()
        };
        Ok(Self {
            source,
            rest: source,
            rules,
            root,
            out,
            open: Vec::new(),
            names: Vec::new(),
        })
    }

    /// Reads everything.
    pub(super) fn document(mut self) -> Result<Document, Malformed> {
        let mut mark = self.mark(self.rules.map(|_| self.root));
        self.space();
        mark.source = self.at();
        loop {
            // A container leads to its first value, or is already complete.
            let mut done = self.value(mark)?;
            loop {
                if let Some(next) = done {
                    mark = next;
                    break;
                }
                self.space();
                let Some(frame) = self.open.last() else {
                    return match self.rest {
                        [] => Ok(self.out),
                        _ => Err(self.fault("more after its value")),
                    };
                };
                done = match (&frame.kind, self.rest) {
                    (Kind::Array { .. }, [b',', rest @ ..]) => {
                        self.rest = rest;
                        Some(self.next_item())
                    }
                    (Kind::Object { .. }, [b',', rest @ ..]) => {
                        self.rest = rest;
                        Some(self.next_member()?)
                    }
                    (Kind::Array { .. }, [b']', rest @ ..])
                    | (Kind::Object { .. }, [b'}', rest @ ..]) => {
                        self.rest = rest;
                        self.close()?;
                        None
                    }
                    (Kind::Array { .. }, _) => return Err(self.fault("no \",\" or \"]\"")),
                    (Kind::Object { .. }, _) => return Err(self.fault("no \",\" or \"}\"")),
                };
            }
        }
    }

    fn at(&self) -> usize {
        self.source.len().saturating_sub(self.rest.len())
    }

    fn fault(&self, what: &str) -> Malformed {
        Malformed::new(format!("the JSON body has {what} at byte {}", self.at()))
    }

    fn space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn mark(&self, node: Option<NodeId>) -> Mark {
        Mark {
            node,
            source: self.at(),
            text: self.out.text.len(),
            objects: self.out.objects.len(),
            members: self.out.members.len(),
        }
    }

    fn rule(&self, mark: &Mark) -> Option<&'a Rule> {
        self.rules?.rule(mark.node?)
    }

    /// Reads a scalar to its end, or opens a container; gives where its first value begins.
    fn value(&mut self, mark: Mark) -> Result<Option<Mark>, Malformed> {
        match self.rest {
            [b'"', rest @ ..] => {
                self.rest = rest;
                self.string()?;
            }
            [b'{', rest @ ..] => {
                self.rest = rest;
                let kind = Kind::Object {
                    entry: self.out.objects.len(),
                    sorted: true,
                };
                let start = place(self.out.text.len());
                self.out.objects.push(Object {
                    start,
                    end: start,
                    members: None,
                    next: 0,
                });
                return self.enter(mark, kind, b'{', b'}');
            }
            [b'[', rest @ ..] => {
                self.rest = rest;
                return self.enter(
                    mark,
                    Kind::Array {
                        index: 0,
                        kept: false,
                    },
                    b'[',
                    b']',
                );
            }
            [b'-' | b'0'..=b'9', ..] => self.number()?,
            [b't', b'r', b'u', b'e', rest @ ..] => self.literal(b"true", rest),
            [b'f', b'a', b'l', b's', b'e', rest @ ..] => self.literal(b"false", rest),
            [b'n', b'u', b'l', b'l', rest @ ..] => self.literal(b"null", rest),
            [] => return Err(self.fault("no value")),
            _ => return Err(self.fault("something that starts no value")),
        }
        self.finish(&mark);
        Ok(None)
    }

    fn literal(&mut self, text: &[u8], rest: &'a [u8]) {
        self.out.text.extend_from_slice(text);
        self.rest = rest;
    }

    fn string(&mut self) -> Result<(), Malformed> {
        match text::copy(self.rest, &mut self.out.text) {
            Ok(rest) => {
                self.rest = rest;
                Ok(())
            }
            Err(fault) => {
                self.rest = fault.rest;
                Err(self.fault(fault.what))
            }
        }
    }

    fn number(&mut self) -> Result<(), Malformed> {
        match Decimal::read(self.rest) {
            Ok((decimal, rest)) => {
                decimal.write(&mut self.out.text);
                self.rest = rest;
                Ok(())
            }
            Err(rest) => {
                self.rest = rest;
                Err(self.fault("a number that is none"))
            }
        }
    }

    fn enter(
        &mut self,
        mark: Mark,
        kind: Kind,
        opening: u8,
        closing: u8,
    ) -> Result<Option<Mark>, Malformed> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.fault("more than 128 levels"));
        }
        self.out.text.push(opening);
        let array = matches!(kind, Kind::Array { .. });
        self.open.push(Frame {
            mark,
            kind,
            names: self.names.len(),
        });
        self.space();
        if self.rest.first() == Some(&closing) {
            self.rest = self.rest.get(1..).unwrap_or_default();
            self.close()?;
            return Ok(None);
        }
        if array {
            Ok(Some(self.first_item()))
        } else {
            self.next_member().map(Some)
        }
    }

    fn first_item(&mut self) -> Mark {
        let node = self.open.last().and_then(|frame| frame.mark.node);
        let node = node.and_then(|node| self.rules?.item(node, 0));
        self.mark(node)
    }

    fn next_item(&mut self) -> Mark {
        let (rules, text) = (self.rules, self.out.text.len());
        let mut node = None;
        if let Some(Frame {
            mark,
            kind: Kind::Array { index, kept },
            ..
        }) = self.open.last_mut()
        {
            *index = index.saturating_add(1);
            node = mark.node.and_then(|node| rules?.item(node, *index));
            if *kept {
                self.out.text.push(b',');
            }
        }
        self.space();
        Mark {
            text,
            ..self.mark(node)
        }
    }

    /// Reads a member's name; its value comes next.
    fn next_member(&mut self) -> Result<Mark, Malformed> {
        self.space();
        let [b'"', rest @ ..] = self.rest else {
            return Err(self.fault("no member name"));
        };
        let source = self.at();
        self.rest = rest;
        let Some(Frame { mark, names, .. }) = self.open.last() else {
            return Err(self.fault("no object"));
        };
        let (node, first) = (mark.node, *names);
        if self.names.len().saturating_sub(first) >= MAX_MEMBERS {
            return Err(self.fault("an object of more than 131072 members"));
        }
        if self.names.len() > first {
            self.out.text.push(b',');
        }
        let start = place(self.out.text.len());
        self.string()?;
        let name_end = place(self.out.text.len());
        let object = place(self.out.objects.len());
        let name = Name {
            start,
            name_end,
            end: name_end,
            object,
        };
        self.keep_order(&name, first, source)?;
        let node = node.and_then(|node| self.rules?.member(node, name.of(&self.out.text)));
        self.names.push(name);
        self.space();
        let [b':', rest @ ..] = self.rest else {
            return Err(self.fault("no \":\""));
        };
        self.rest = rest;
        self.out.text.push(b':');
        self.space();
        Ok(Mark {
            text: at(name_end),
            ..self.mark(node)
        })
    }

    /// Notes whether the new name still stands in order.
    fn keep_order(&mut self, name: &Name, first: usize, source: usize) -> Result<(), Malformed> {
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
            match compare(before.of(text), name.of(text)) {
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

    /// Ends the innermost container.
    fn close(&mut self) -> Result<(), Malformed> {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        match frame.kind {
            Kind::Array { .. } => self.out.text.push(b']'),
            Kind::Object { entry, sorted } => {
                self.out.text.push(b'}');
                self.arrange(&frame, entry, sorted)?;
            }
        }
        self.finish(&frame.mark);
        Ok(())
    }

    /// Notes in which order the members of an object are to be written.
    fn arrange(&mut self, frame: &Frame, entry: usize, sorted: bool) -> Result<(), Malformed> {
        let text = &self.out.text;
        let after = self.out.objects.len();
        if sorted {
            self.names.truncate(frame.names);
            if after == entry.saturating_add(1) {
                self.out.objects.pop();
            }
            return Ok(());
        }
        let names = self.names.get_mut(frame.names..).unwrap_or_default();
        names.sort_unstable_by(|a, b| compare(a.of(text), b.of(text)));
        let twice = |pair: &[Name]| matches!(pair, [a, b] if a.of(text) == b.of(text));
        if names.windows(2).any(twice) {
            let place = frame.mark.source;
            let fault = format!("a duplicate member name in the object at byte {place}");
            return Err(Malformed::new(format!("the JSON body has {fault}")));
        }
        let first = place(self.out.members.len());
        let counting = names.iter().filter(|name| name.end > name.name_end);
        self.out.members.extend(counting.map(|name| Chunk {
            start: name.start,
            end: name.end,
            object: name.object,
        }));
        let count = place(self.out.members.len()).saturating_sub(first);
        let end = place(text.len());
        if let Some(object) = self.out.objects.get_mut(entry) {
            *object = Object {
                end,
                members: Some((first, count)),
                next: place(after),
                ..*object
            };
        }
        self.names.truncate(frame.names);
        Ok(())
    }

    /// Ends a value: applies its rule and tells its container.
    fn finish(&mut self, mark: &Mark) {
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
