//! Values that a replayed reply takes from the retry.
//!
//! Owns the way of an echoed value, e.g. the `id` of a JSON-RPC call: out of the request, into a
//! reply that was stored for an earlier attempt. It never changes a byte of the reply but those of
//! the values themselves, and leaves a reply alone that is no strict JSON. It is correct because a
//! value is JSON that was read strictly, and takes the place of exactly one value.

use super::form;
use super::json;
use super::media::{self, Kind};
use super::multipart;
use super::recipe::Recipe;
use super::rules::Rules;
use super::{Command, Pointer};

/// A value of a request that its reply repeats.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Echo {
    /// The exact pointer to it, with indices for wildcards.
    pub pointer: String,
    /// The value as JSON, spelled as in the request.
    pub value: Vec<u8>,
    /// The pointer of the recipe that led to it.
    rule: Pointer,
}

/// The echoed values of a request, sorted by their pointers.
#[must_use]
pub fn values(recipe: &Recipe, command: &Command<'_>) -> Vec<Echo> {
    let content = command.content();
    let (false, Ok(content)) = (recipe.echo.is_empty(), content) else {
        return Vec::new();
    };
    let media = command.header("content-type").map(media::parse);
    let mut found = match media.map(|media| media.kind) {
        _ if content.is_empty() => {
            let query = command.query.unwrap_or_default().as_bytes();
            fields(recipe, |name| form::value(query, name))
        }
        Some(Kind::Json) => of_json(recipe, &content),
        Some(Kind::Form) => fields(recipe, |name| form::value(&content, name)),
        Some(Kind::Multipart(boundary)) => {
            let parts = multipart::read(&content, boundary.as_deref(), None);
            fields(recipe, |name| parts.as_ref().ok()?.value(&content, name))
        }
        Some(Kind::Bytes) | None => Vec::new(),
    };
    found.sort_unstable();
    found.dedup_by(|a, b| a.pointer == b.pointer);
    found
}

fn of_json(recipe: &Recipe, body: &[u8]) -> Vec<Echo> {
    let mut echoes = Vec::new();
    for rule in &recipe.echo {
        let rules = Rules::watching(std::iter::once(rule));
        let found = json::read(body, Some(&rules)).map(|document| document.watched);
        echoes.extend(found.into_iter().flatten().filter_map(|found| {
            let value = body.get(found.source)?.to_vec();
            let (pointer, rule) = (found.pointer, rule.clone());
            Some(Echo {
                pointer,
                value,
                rule,
            })
        }));
    }
    echoes
}

/// The first field of each name, as a JSON string.
fn fields(recipe: &Recipe, value: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<Echo> {
    let echo = |rule: &Pointer| {
        let [name] = rule.tokens() else {
            return None;
        };
        let value = String::from_utf8(value(name.as_bytes())?).ok()?;
        let (pointer, value) = (rule.to_string(), json::quoted(&value));
        let rule = rule.clone();
        Some(Echo {
            pointer,
            value,
            rule,
        })
    };
    recipe.echo.iter().filter_map(echo).collect()
}

/// A JSON document, a stored reply or a problem, in which the echoed values of a retry stand where
/// it has their places.
#[must_use]
pub fn patch(reply: &[u8], echoes: &[Echo]) -> Vec<u8> {
    let mut pointers: Vec<&Pointer> = echoes.iter().map(|echo| &echo.rule).collect();
    pointers.sort_unstable();
    pointers.dedup();
    let rules = Rules::watching(pointers.into_iter());
    let document = match json::read(reply, Some(&rules)) {
        Ok(document) if !echoes.is_empty() => document,
        Ok(_) | Err(_) => return reply.to_vec(),
    };
    let mut places = document.watched;
    places.sort_unstable_by_key(|found| (found.source.start, found.source.end));
    let mut out = Vec::with_capacity(reply.len());
    let mut done = 0;
    for found in places {
        let echo = echoes.binary_search_by(|echo| echo.pointer.cmp(&found.pointer));
        let echo = echo.ok().and_then(|index| echoes.get(index));
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
