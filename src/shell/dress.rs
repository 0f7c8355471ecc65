//! What an answer gets on its way out, whoever made it.
//!
//! Owns putting on the headers that depend on this very request: for web pages of other origins,
//! and how long the gate took. What they say is `core::cors`'s; status and body are never touched,
//! and where the policy asks for neither, nothing is.

use worker::{Headers, Response};

use super::{clock, http};
use crate::core::cors::Page;
use crate::core::policy::KeyPart;
use crate::core::time::Millis;

/// What is put on.
#[derive(Default)]
pub(super) struct Dress<'a> {
    /// The page that the request comes from, where the policy knows of pages.
    pub(super) page: Option<Page<'a>>,
    /// Further headers that a replay of this operation carries.
    pub(super) kept: &'a [String],
    /// When the request came, if the client is told how long it took.
    pub(super) since: Option<Millis>,
}

impl Dress<'_> {
    /// The answer to a preflight about a request with these parts of a key.
    pub(super) fn preflight(&self, key: &[KeyPart]) -> worker::Result<Response> {
        match &self.page {
            Some(page) => http::response(&page.preflight(key)),
            None => Response::empty(),
        }
    }

    /// Puts it on an answer.
    pub(super) fn put_on(&self, response: Response) -> worker::Result<Response> {
        if self.page.is_none() && self.since.is_none() {
            return Ok(response);
        }
        let mut pairs = http::pairs(&response.headers().0);
        if let Some(since) = self.since {
            let took = clock().left(since).0;
            pairs.push(("Server-Timing".to_owned(), format!("oncegate;dur={took}")));
        }
        if let Some(page) = &self.page {
            page.dress(self.kept, &mut pairs);
        }
        Ok(response.with_headers(Headers(http::headers(&pairs)?)))
    }
}
