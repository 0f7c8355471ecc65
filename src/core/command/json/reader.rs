//! The strict JSON reader.
//!
//! Owns the grammar of RFC 8259, with duplicate member names, lone surrogates, byte-order marks,
//! invalid UTF-8 and too deep nesting refused. It never recurses: its stack is a vector of bounded
//! length. It is correct because it accepts by the grammar alone, one step a byte, and appends
//! canonical text as it goes; rules act on the text of a value right after it was read.

use super::super::rules::{NodeId, Rule, Rules};
use super::super::{Malformed, decimal};
use super::members::Name;
use super::{Document, MAX_DEPTH, MAX_LENGTH, MAX_MEMBERS, Object, at, place, text};

/// Reads one document.
pub(super) struct Reader<'a> {
    pub(super) source: &'a [u8],
    pub(super) rest: &'a [u8],
    pub(super) rules: Option<&'a Rules>,
    pub(super) root: NodeId,
    pub(super) out: Document,
    pub(super) open: Vec<Frame>,
    /// Where members are put in order.
    pub(super) scratch: Vec<u8>,
    /// The members so far of all open objects.
    pub(super) names: Vec<Name>,
}

/// What was there when a value began.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) node: Option<NodeId>,
    pub(super) source: usize,
    /// The text before the value; for items before their comma too.
    pub(super) text: usize,
    pub(super) objects: usize,
    pub(super) members: usize,
}

/// An open array or object.
pub(super) struct Frame {
    pub(super) mark: Mark,
    pub(super) kind: Kind,
    /// The names of the objects around it end here.
    pub(super) names: usize,
    /// Members of an object inside it were moved already.
    pub(super) moved: bool,
}

pub(super) enum Kind {
    /// The index of the current item, and whether an item was kept yet.
    Array { index: usize, kept: bool },
    /// Its entry in the objects, and whether its members stand in order so far.
    Object { entry: usize, sorted: bool },
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
            scratch: Vec::new(),
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

    pub(super) fn at(&self) -> usize {
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

    pub(super) fn rule(&self, mark: &Mark) -> Option<&'a Rule> {
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
        match decimal::copy(self.rest, &mut self.out.text) {
            Ok(rest) => {
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
            moved: false,
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
        let name = Name::new(&self.out.text, start, place(self.out.objects.len()));
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
            text: at(name.name_end),
            ..self.mark(node)
        })
    }

    /// Ends the innermost container.
    fn close(&mut self) -> Result<(), Malformed> {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        let moved = match frame.kind {
            Kind::Array { .. } => {
                self.out.text.push(b']');
                frame.moved
            }
            Kind::Object { entry, sorted } => {
                self.out.text.push(b'}');
                self.arrange(&frame, entry, sorted)?
            }
        };
        if let Some(around) = self.open.last_mut() {
            around.moved |= moved;
        }
        self.finish(&frame.mark);
        Ok(())
    }
}
