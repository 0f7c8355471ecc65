//! Requests that the tests of the command change field by field.

#![allow(dead_code, reason = "each test takes what it needs")]

use oncegate::core::command::{Command, Fingerprint, Pointer, Recipe};

pub(crate) const JSON: &str = "application/json";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
pub(crate) const PAY: &str = r#"{"amount":"10.00","currency":"EUR"}"#;

/// A request that a test changes field by field.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) operation: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) query: Option<&'static str>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(media: &str, body: impl AsRef<[u8]>) -> Self {
        Self {
            operation: "create_payment",
            method: "POST",
            path: "/v1/payments",
            query: None,
            headers: Vec::new(),
            body: body.as_ref().to_vec(),
        }
        .with("content-type", media)
    }

    pub(crate) fn json(body: impl AsRef<[u8]>) -> Self {
        Self::new(JSON, body)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub(crate) fn query(mut self, query: &'static str) -> Self {
        self.query = Some(query);
        self
    }

    pub(crate) fn command(&self) -> Command<'_> {
        Command {
            operation: self.operation,
            method: self.method,
            path: self.path,
            query: self.query,
            headers: &self.headers,
            body: &self.body,
            max_decoded: 8 << 20,
        }
    }

    pub(crate) fn fingerprint(&self, recipe: &Recipe) -> Fingerprint {
        recipe.fingerprint(&self.command()).unwrap()
    }

    pub(crate) fn fault(&self, recipe: &Recipe) -> String {
        recipe.fingerprint(&self.command()).unwrap_err().detail
    }
}

pub(crate) fn pointers(texts: &[&str]) -> Vec<Pointer> {
    texts
        .iter()
        .map(|text| Pointer::parse(text).unwrap())
        .collect()
}

#[track_caller]
pub(crate) fn same(recipe: &Recipe, a: &Request, b: &Request) {
    assert_eq!(a.fingerprint(recipe).digest, b.fingerprint(recipe).digest);
}

#[track_caller]
pub(crate) fn different(recipe: &Recipe, a: &Request, b: &Request) {
    assert_ne!(a.fingerprint(recipe).digest, b.fingerprint(recipe).digest);
}

/// A form with files, by the heads and contents of its parts.
pub(crate) fn form(parts: &[(&str, &[u8])], boundary: &str) -> Request {
    let mut body = Vec::new();
    for (head, content) in parts {
        body.extend(format!("--{boundary}\r\n{head}\r\n\r\n").bytes());
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    Request::new(
        &format!("multipart/form-data; boundary=\"{boundary}\""),
        body,
    )
}
