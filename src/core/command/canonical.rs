//! The canonical form of a command.
//!
//! Owns which parts of a request are hashed, in which order, and how its body is understood. It
//! never keeps a copy of what it can borrow. It is correct because every part is either canonical
//! itself or the bytes as they are, and the kind of the body is a part of its own.

use super::form;
use super::json;
use super::media::{self, Kind, Media};
use super::recipe::{QueryRule, Recipe, WhenMalformed};
use super::rules::Rules;
use super::sink::{Digest, Hasher, Sink, sha256};
use super::{ALGORITHM, Command, Malformed};

/// The canonical form of a command.
#[derive(Debug)]
pub struct Canonical<'a> {
    /// The version of its recipe.
    pub version: u32,
    /// The operation.
    pub operation: &'a str,
    /// The method, if it counts.
    pub method: Option<&'a str>,
    /// The path, if it counts.
    pub path: Option<&'a str>,
    /// The canonical query, if any of it can count.
    pub query: Option<Vec<u8>>,
    /// The semantic headers, sorted by name.
    pub headers: Vec<(String, Option<&'a str>)>,
    /// The media type of a body that is not empty.
    pub media_type: Option<String>,
    /// The codings that the body still has.
    pub coding: Option<String>,
    /// The body.
    pub body: Body<'a>,
}

/// A canonical body.
#[derive(Debug)]
pub enum Body<'a> {
    /// No body, whatever its media type.
    Empty,
    /// Bytes as they are.
    Bytes(&'a [u8]),
    /// The canonical text of a form.
    Form(Vec<u8>),
    /// Canonical JSON.
    Json(JsonBody),
}

/// Canonical JSON, written out on demand.
#[derive(Debug)]
pub struct JsonBody(json::Document);

impl Body<'_> {
    /// The name of the kind, as it is hashed.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Bytes(_) => "bytes",
            Self::Form(_) => "form",
            Self::Json(_) => "json",
        }
    }

    /// Puts the canonical bytes.
    pub fn write(&self, out: &mut impl Sink) {
        match self {
            Self::Empty => {}
            Self::Bytes(bytes) => out.put(bytes),
            Self::Form(text) => out.put(text),
            Self::Json(document) => document.0.write(out),
        }
    }

    /// The digest of the canonical bytes; `raw` is the one of the body as it was sent.
    fn digest(&self, sent: &[u8], raw: &Digest) -> Digest {
        match self {
            Self::Bytes(bytes) if std::ptr::eq(*bytes, sent) => *raw,
            Self::Empty | Self::Bytes(_) | Self::Form(_) | Self::Json(_) => {
                let mut out = Hasher::default();
                self.write(&mut out);
                out.finish()
            }
        }
    }
}

impl Canonical<'_> {
    /// The small parts by name, in the order of the hash.
    #[must_use]
    pub fn parts(&self) -> Vec<(String, Option<Vec<u8>>)> {
        let text = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let mut out = vec![
            ("algorithm".to_owned(), text(Some(ALGORITHM))),
            ("version".to_owned(), text(Some(&self.version.to_string()))),
            ("operation".to_owned(), text(Some(self.operation))),
            ("method".to_owned(), text(self.method)),
            ("path".to_owned(), text(self.path)),
            ("query".to_owned(), self.query.clone()),
            (
                "headers".to_owned(),
                text(Some(&self.headers.len().to_string())),
            ),
        ];
        for (name, value) in &self.headers {
            out.push((format!("header name {name}"), text(Some(name))));
            out.push((format!("header {name}"), text(*value)));
        }
        out.push(("media type".to_owned(), text(self.media_type.as_deref())));
        out.push(("content coding".to_owned(), text(self.coding.as_deref())));
        out.push(("body kind".to_owned(), text(Some(self.body.kind()))));
        out
    }

    /// The digest of everything; `raw` is the digest of the body as it was sent.
    pub(super) fn digest(&self, sent: &[u8], raw: &Digest) -> Digest {
        let mut out = Hasher::default();
        self.parts()
            .iter()
            .for_each(|(_, part)| out.part(part.as_deref()));
        out.part(Some(&self.body.digest(sent, raw)));
        out.finish()
    }
}

impl Recipe {
    /// The canonical form of a command.
    ///
    /// # Errors
    /// If the body is malformed and the recipe refuses that.
    pub fn canonical<'a>(&self, command: &Command<'a>) -> Result<Canonical<'a>, Malformed> {
        let rules = Rules::of(self);
        let media = command.header("content-type").map(media::parse);
        let empty = command.body.is_empty();
        let body = self.body(command, media.as_ref(), rules.as_ref())?;
        let rules = rules.as_ref().filter(|_| empty);
        let query = match &self.query {
            QueryRule::None => None,
            chosen @ (QueryRule::All | QueryRule::Names(_)) => {
                let query = command.query.unwrap_or_default().as_bytes();
                Some(form::canonical(query, chosen, rules)?)
            }
        };
        let names = self.header_names();
        let header = |name: String| {
            let value = command.header(&name);
            (name, value)
        };
        Ok(Canonical {
            version: self.version,
            operation: command.operation,
            method: self.target.then_some(command.method),
            path: self.target.then_some(command.path),
            query,
            headers: names.into_iter().map(header).collect(),
            media_type: media.filter(|_| !empty).map(|media| media.text),
            coding: None,
            body,
        })
    }

    fn body<'a>(
        &self,
        command: &Command<'a>,
        media: Option<&Media>,
        rules: Option<&Rules>,
    ) -> Result<Body<'a>, Malformed> {
        if command.body.is_empty() {
            return Ok(Body::Empty);
        }
        let read = match media.map_or(&Kind::Bytes, |media| &media.kind) {
            Kind::Bytes | Kind::Multipart(_) => Ok(Body::Bytes(command.body)),
            Kind::Form => form::canonical(command.body, &QueryRule::All, rules).map(Body::Form),
            Kind::Json => json::read(command.body, rules).map(|read| Body::Json(JsonBody(read))),
        };
        match (read, self.when_malformed) {
            (Err(_), WhenMalformed::Bytes) => Ok(Body::Bytes(command.body)),
            (read, _) => read,
        }
    }

    /// The digest of a request as it was sent, with these semantic headers.
    pub(super) fn raw(command: &Command<'_>, names: &[String], body: &Digest) -> Digest {
        let mut out = Hasher::default();
        out.part(Some(b"oncegate raw"));
        for part in [command.operation, command.method, command.path] {
            out.part(Some(part.as_bytes()));
        }
        out.part(command.query.map(str::as_bytes));
        out.part(command.header("content-type").map(str::as_bytes));
        out.part(command.header("content-encoding").map(str::as_bytes));
        out.part(Some(names.len().to_string().as_bytes()));
        for name in names {
            out.part(Some(name.as_bytes()));
            out.part(command.header(name).map(str::as_bytes));
        }
        out.part(Some(body));
        out.finish()
    }

    pub(super) fn raw_of(command: &Command<'_>, names: &[String]) -> Digest {
        Self::raw(command, names, &sha256(command.body))
    }
}
