//! Values that a replayed reply takes from the retry.
//!
//! Owns the way of an echoed value, e.g. the `id` of a JSON-RPC call: out of the request, into a
//! reply that was stored for an earlier attempt. It never changes a byte of the reply but those
//! of the values themselves, and leaves a reply alone that is no strict JSON.

use super::Command;
use super::form;
use super::json;
use super::media::{self, Kind};
use super::pointer::Pointer;
use super::recipe::Recipe;
use super::rules::Rules;

/// A value of a request that its reply repeats.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Echo {
    /// The exact pointer to it, without wildcards.
    pub pointer: Pointer,
    /// The value as JSON, spelled as in the request.
    pub value: Vec<u8>,
}

/// The echoed values of a request.
#[must_use]
pub fn values(recipe: &Recipe, command: &Command<'_>) -> Vec<Echo> {
    if recipe.echo.is_empty() {
        return Vec::new();
    }
    let media = command.header("content-type").map(media::parse);
    match media.map(|media| media.kind) {
        Some(Kind::Json) => of_json(recipe, command.body),
        Some(Kind::Form) => of_form(recipe, command.body),
        _ => Vec::new(),
    }
}

fn of_json(recipe: &Recipe, body: &[u8]) -> Vec<Echo> {
    let rules = Rules::watching(recipe.echo.iter());
    let Ok(document) = json::read(body, Some(&rules)) else {
        return Vec::new();
    };
    let echoes = document.watched.into_iter().filter_map(|found| {
        let pointer = Pointer::parse(&found.pointer).ok()?;
        Some(Echo {
            pointer,
            value: body.get(found.source)?.to_vec(),
        })
    });
    echoes.collect()
}

fn of_form(recipe: &Recipe, body: &[u8]) -> Vec<Echo> {
    let echoes = recipe.echo.iter().filter_map(|pointer| {
        let [name] = pointer.tokens() else {
            return None;
        };
        let value = form::values(body, name.as_bytes()).into_iter().next()?;
        let value = json::quoted(&String::from_utf8(value).ok()?);
        Some(Echo {
            pointer: pointer.clone(),
            value,
        })
    });
    echoes.collect()
}

/// A reply in which the echoed values stand, where it has their places.
#[must_use]
pub fn patch(reply: &[u8], echoes: &[Echo]) -> Vec<u8> {
    let rules = Rules::watching(echoes.iter().map(|echo| &echo.pointer));
    let Ok(mut document) = json::read(reply, Some(&rules)) else {
        return reply.to_vec();
    };
    document
        .watched
        .sort_by_key(|found| (found.source.start, found.source.end));
    let mut out = Vec::with_capacity(reply.len());
    let mut done = 0;
    for found in &document.watched {
        let echo = echoes
            .iter()
            .find(|echo| echo.pointer.to_string() == found.pointer);
        // A place inside one that was just replaced is gone.
        let (Some(echo), true) = (echo, found.source.start >= done) else {
            continue;
        };
        out.extend_from_slice(reply.get(done..found.source.start).unwrap_or_default());
        out.extend_from_slice(&echo.value);
        done = found.source.end;
    }
    out.extend_from_slice(reply.get(done..).unwrap_or_default());
    out
}
