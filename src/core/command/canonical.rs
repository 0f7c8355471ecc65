//! The canonical form of a command.
//!
//! Owns which parts of a request are hashed, in which order, and how its body is understood. It
//! never keeps a copy of what it can borrow. It is correct because every part is either canonical
//! itself or the bytes as they are, and the kind of the body is a part of its own.

use super::form;
use super::json;
use super::media::{self, Kind, Media};
use super::multipart::{self, Multipart};
use super::recipe::{QueryRule, Recipe, WhenMalformed};
use super::rules::Rules;
use super::sink::{Digest, Hasher, Sink, sha256};
use super::{ALGORITHM, Command, Malformed};
use std::borrow::Cow;

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
    /// Bytes as they are: borrowed means as they were sent.
    Bytes(Cow<'a, [u8]>),
    /// The canonical text of a form.
    Form(Vec<u8>),
    /// Canonical JSON.
    Json(JsonBody),
    /// The parts of a form with files.
    Multipart(MultipartBody<'a>),
}

/// Canonical JSON, written out on demand.
#[derive(Debug)]
pub struct JsonBody(json::Document);

/// The parts of a form with files, written out on demand.
#[derive(Debug)]
pub struct MultipartBody<'a>(Multipart<'a>);

impl Body<'_> {
    /// The name of the kind, as it is hashed.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Bytes(_) => "bytes",
            Self::Form(_) => "form",
            Self::Json(_) => "json",
            Self::Multipart(_) => "multipart",
        }
    }

    /// Puts the canonical bytes.
    pub fn write(&self, out: &mut impl Sink) {
        match self {
            Self::Empty => {}
            Self::Bytes(bytes) => out.put(bytes),
            Self::Form(text) => out.put(text),
            Self::Json(document) => document.0.write(out),
            Self::Multipart(parts) => parts.0.write(out),
        }
    }

    /// The digest of the canonical bytes; `raw` is the one of the body as it was sent.
    fn digest(&self, raw: &Digest) -> Digest {
        if matches!(self, Self::Bytes(Cow::Borrowed(_))) {
            return *raw;
        }
        let mut out = Hasher::default();
        self.write(&mut out);
        out.finish()
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
    pub(super) fn digest(&self, raw: &Digest) -> Digest {
        let mut out = Hasher::default();
        self.parts()
            .iter()
            .for_each(|(_, part)| out.part(part.as_deref()));
        out.part(Some(&self.body.digest(raw)));
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
        let (body, coding) = self.body(command, media.as_ref(), rules.as_ref())?;
        let empty = matches!(body, Body::Empty);
        // A command without a body may be in its query: then the rules speak of that.
        let rules = rules.as_ref().filter(|_| empty);
        let query = match &self.query {
            QueryRule::None => None,
            chosen @ (QueryRule::All | QueryRule::Names(_)) => {
                let query = command.query.unwrap_or_default().as_bytes();
                Some(form::canonical(query, chosen, rules)?)
            }
        };
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
            headers: self.header_names().into_iter().map(header).collect(),
            media_type: media.filter(|_| !empty).map(|media| media.text),
            coding,
            body,
        })
    }

    /// The body, and the codings that it still has.
    fn body<'a>(
        &self,
        command: &Command<'a>,
        media: Option<&Media>,
        rules: Option<&Rules>,
    ) -> Result<(Body<'a>, Option<String>), Malformed> {
        let sent = Cow::Borrowed(command.body);
        if sent.is_empty() {
            return Ok((Body::Empty, None));
        }
        let bytes = self.when_malformed == WhenMalformed::Bytes;
        let (body, coding) = match command.decoded() {
            Ok(decoded) => decoded,
            Err(_) if bytes => return Ok((Body::Bytes(sent), Some(command.codings().join(",")))),
            Err(fault) => return Err(fault),
        };
        if body.is_empty() {
            return Ok((Body::Empty, None));
        }
        if coding.is_some() {
            return Ok((Body::Bytes(body), coding));
        }
        let read = match media.map_or(&Kind::Bytes, |media| &media.kind) {
            Kind::Bytes => return Ok((Body::Bytes(body), None)),
            Kind::Form => form::canonical(&body, &QueryRule::All, rules).map(Body::Form),
            Kind::Json => json::read(&body, rules).map(|read| Body::Json(JsonBody(read))),
            Kind::Multipart(boundary) => match multipart::read(&body, boundary.as_deref(), rules) {
                Ok(parts) => {
                    let body = MultipartBody(Multipart::new(body, parts));
                    return Ok((Body::Multipart(body), None));
                }
                Err(fault) => Err(fault),
            },
        };
        match read {
            Ok(read) => Ok((read, None)),
            Err(_) if bytes => Ok((Body::Bytes(body), None)),
            Err(fault) => Err(fault),
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
