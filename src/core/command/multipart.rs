//! `multipart/form-data`: the logical parts of a form with files.
//!
//! Owns the strict reading of RFC 7578 bodies and their canonical bytes. It never rewrites what a
//! part holds, even if it looks like a boundary, and copies no part. It is correct because a
//! delimiter is the only place where a line starts with the boundary and ends right after it, and
//! every part is framed by presence and length.

use super::Malformed;
use super::field;
use super::form;
use super::json::MAX_MEMBERS;
use super::media;
use super::rules::Rules;
use super::sink::Sink;
use std::borrow::Cow;
use std::ops::Range;

/// A form with files.
#[derive(Debug)]
pub(super) struct Multipart<'a> {
    source: Cow<'a, [u8]>,
    parts: Parts,
}

/// The parts of a form, without what they hold.
#[derive(Debug)]
pub(super) struct Parts(Vec<Part>);

/// One part that counts.
#[derive(Debug, Default)]
struct Part {
    name: String,
    file: Option<String>,
    /// The `filename*` of RFC 5987, which some clients send instead of, or beside, a file name.
    extended: Option<String>,
    kind: Option<String>,
    coding: Option<String>,
    content: Range<usize>,
    /// The content under a rule, where it differs.
    rewritten: Option<Vec<u8>>,
}

fn fault(what: &str, at: usize) -> Malformed {
    Malformed::new(format!("the multipart body has {what} at byte {at}"))
}

/// Reads a form with files; gives the parts that count.
pub(super) fn read(
    source: &[u8],
    boundary: Option<&[u8]>,
    rules: Option<&Rules>,
) -> Result<Parts, Malformed> {
    let Some(boundary) = boundary.filter(|boundary| (1..=70).contains(&boundary.len())) else {
        return Err(Malformed::new(
            "the multipart media type has not one usable boundary",
        ));
    };
    let mut parts = Vec::new();
    let mut delimiters = Delimiters {
        source,
        boundary,
        at: 0,
    };
    let Some(mut last) = delimiters.next() else {
        return Err(Malformed::new(
            "the boundary never occurs in the multipart body",
        ));
    };
    while !last.closing {
        let Some(next) = delimiters.next() else {
            return Err(fault("no closing boundary", source.len()));
        };
        // Two delimiters that share one line break have nothing between them.
        let place = last.end..next.start.max(last.end);
        parts.push(part(
            source.get(place.clone()).unwrap_or_default(),
            place.start,
        )?);
        if parts.len() > MAX_MEMBERS {
            return Err(Malformed::new(
                "the multipart body has more than 131072 parts",
            ));
        }
        last = next;
    }
    if let Some(rules) = rules {
        apply(rules, source, &mut parts);
    }
    Ok(Parts(parts))
}

/// A boundary on its line.
struct Delimiter {
    /// The line break before it.
    start: usize,
    /// What follows its own line break.
    end: usize,
    closing: bool,
}

struct Delimiters<'a> {
    source: &'a [u8],
    boundary: &'a [u8],
    at: usize,
}

impl Delimiters<'_> {
    fn next(&mut self) -> Option<Delimiter> {
        loop {
            let rest = self.source.get(self.at..)?;
            // A line starts at the very start and after each line break.
            let (line, start) = if self.at == 0 && rest.starts_with(b"--") {
                (0, 0)
            } else {
                let found = rest.windows(4).position(|four| four == b"\r\n--")?;
                let start = self.at.checked_add(found)?;
                (start.checked_add(2)?, start)
            };
            // The boundary holds no line break, so the search goes on right behind this one.
            self.at = line.checked_add(1)?;
            let after = self.source.get(line..)?.get(2..)?;
            let Some(after) = after.strip_prefix(self.boundary) else {
                continue;
            };
            let (closing, after) = match after {
                [b'-', b'-', after @ ..] => (true, after),
                _ => (false, after),
            };
            let blanks = after
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t'))
                .count();
            let after = match after.get(blanks..)? {
                [b'\r', b'\n', after @ ..] => after,
                [] if closing => &[],
                _ => continue,
            };
            let end = self.source.len().saturating_sub(after.len());
            // The next delimiter may use this one's line break.
            self.at = end.saturating_sub(2).max(self.at);
            return Some(Delimiter {
                start,
                end,
                closing,
            });
        }
    }
}

/// Reads one part that starts at a place of the body.
fn part(text: &[u8], start: usize) -> Result<Part, Malformed> {
    let end = text.windows(4).position(|four| four == b"\r\n\r\n");
    let Some((head, content)) = end.and_then(|end| text.split_at_checked(end)) else {
        let bare = text.is_empty() || text.starts_with(b"\r\n");
        let what = if bare {
            "a part without a name"
        } else {
            "a part without its blank line"
        };
        return Err(fault(what, start));
    };
    let Ok(head) = std::str::from_utf8(head) else {
        return Err(fault("a part whose header is not UTF-8", start));
    };
    let length = content.len().saturating_sub(4);
    let content = start.saturating_add(head.len()).saturating_add(4);
    let content = content..content.saturating_add(length);
    let mut out = Part {
        content,
        ..Part::default()
    };
    let mut named = false;
    for line in head.split("\r\n") {
        let Some((name, value)) = line.split_once(':') else {
            return Err(fault("a part with a line that is no header", start));
        };
        let value = value.trim_matches([' ', '\t']);
        let name = name.to_ascii_lowercase();
        let twice = match name.as_str() {
            "content-disposition" => {
                disposition(value, &mut out)
                    .ok_or_else(|| fault("a part without a name", start))?;
                std::mem::replace(&mut named, true)
            }
            "content-type" => out.kind.replace(media::parse(value).text).is_some(),
            "content-transfer-encoding" => out.coding.replace(value.to_ascii_lowercase()).is_some(),
            _ if !media::is_token(&name) => {
                return Err(fault("a part with a line that is no header", start));
            }
            _ => false,
        };
        if twice {
            return Err(fault("a part with one header twice", start));
        }
    }
    if named {
        Ok(out)
    } else {
        Err(fault("a part without a name", start))
    }
}

/// Reads `form-data; name="..."; filename="..."`.
fn disposition(value: &str, out: &mut Part) -> Option<()> {
    let (kind, rest) = value.split_at_checked(value.find(';')?)?;
    if !kind
        .trim_matches([' ', '\t'])
        .eq_ignore_ascii_case("form-data")
    {
        return None;
    }
    let mut name = None;
    for (parameter, value) in media::parameters(rest)? {
        let slot = match parameter.as_str() {
            "name" => &mut name,
            "filename" => &mut out.file,
            "filename*" => &mut out.extended,
            _ => continue,
        };
        if slot.replace(value).is_some() {
            return None;
        }
    }
    out.name = name?;
    Some(())
}

/// Leaves out what does not count and rewrites what the rules give a meaning.
fn apply(rules: &Rules, source: &[u8], parts: &mut Vec<Part>) {
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    parts.retain_mut(|part| {
        let Some(rule) = rules.field(part.name.as_bytes()) else {
            return true;
        };
        if rule.drop {
            return false;
        }
        if part.is_file() {
            return true;
        }
        let content = source.get(part.content.clone()).unwrap_or_default();
        part.rewritten = field::rewrite(rule, content);
        let content = part.rewritten.as_deref().unwrap_or(content);
        let alone = || {
            names
                .iter()
                .filter(|name| **name == part.name)
                .nth(1)
                .is_none()
        };
        !(form::is_default(Some(rule), content) && alone())
    });
}

impl Parts {
    /// The content of the first field of a name that is no file.
    pub(super) fn value(&self, source: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        let mut fields = self.0.iter().filter(|part| part.name.as_bytes() == name);
        let part = fields.find(|part| !part.is_file())?;
        source.get(part.content.clone()).map(<[u8]>::to_vec)
    }
}

impl Part {
    fn is_file(&self) -> bool {
        self.file.is_some() || self.extended.is_some()
    }
}

impl<'a> Multipart<'a> {
    /// The parts together with the body that they were read from.
    pub(super) fn new(source: Cow<'a, [u8]>, parts: Parts) -> Self {
        Self { source, parts }
    }

    /// Puts the canonical bytes: each part in order, as six framed pieces.
    pub(super) fn write(&self, out: &mut impl Sink) {
        for part in &self.parts.0 {
            out.part(Some(part.name.as_bytes()));
            for text in [&part.file, &part.extended, &part.kind, &part.coding] {
                out.part(text.as_ref().map(String::as_bytes));
            }
            let content = self.source.get(part.content.clone());
            out.part(part.rewritten.as_deref().or(content));
        }
    }
}
