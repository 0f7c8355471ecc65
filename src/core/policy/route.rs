//! Request targets: which operation a method and a path belong to.
//!
//! Owns the patterns of `match` and the search for the operation. It changes no target: the origin
//! always gets the client's own spelling. It is safe because a path is also read in every way in
//! which a server behind the gate may read it (see [`Readings`]): if such a reading alone is a
//! protected operation, or if it is another operation than the path itself, the target is
//! ambiguous and goes nowhere.

use std::fmt;

use super::target::{Readings, canonical, is_dots, normalise, undo_escapes};

/// A method and a path with `{parameters}`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Route {
    method: String,
    path: String,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Segment {
    /// The normal form, and the bytes that it stands for.
    Literal(String, Vec<u8>),
    /// A parameter, by its name.
    Param(String),
}

/// The parameters of a path, by name.
///
/// In a value every byte but the unreserved ones is escaped: all spellings of one value are equal,
/// and different values never are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Params(Vec<(String, String)>);

/// What a request target turned out to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Found<T> {
    /// A protected operation.
    Operation(T, Params),
    /// Another spelling of a protected operation.
    Ambiguous,
    /// Nothing that is protected.
    Unmatched,
}

impl Params {
    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    /// All parameters in the order of the path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl Route {
    /// Reads `POST /v1/payments/{id}`; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((method, path)) = text.split_once(' ') else {
            return Err("write a method, one space and a path: \"POST /v1/payments\"".to_owned());
        };
        check_method(method)?;
        let Some(inside) = path.strip_prefix('/') else {
            return Err("the path must start with \"/\" right after the one space".to_owned());
        };
        if path.contains(['?', '#']) {
            return Err("the path cannot have a query or a fragment".to_owned());
        }
        let mut route = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            segments: Vec::new(),
        };
        let mut parts = inside.split('/').peekable();
        while let Some(part) = parts.next() {
            if part.is_empty() && parts.peek().is_some() {
                return Err("the path cannot have an empty segment".to_owned());
            }
            let segment = Segment::parse(part)?;
            if let Segment::Param(name) = &segment
                && route.has_param(name)
            {
                return Err(format!("the parameter {{{name}}} is there twice"));
            }
            route.segments.push(segment);
        }
        if route.is_reserved() {
            return Err("paths of the gate itself cannot be matched".to_owned());
        }
        Ok(route)
    }

    /// The method; it compares exactly.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path as the policy spells it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the path has this parameter.
    #[must_use]
    pub fn has_param(&self, name: &str) -> bool {
        self.segments
            .iter()
            .any(|s| matches!(s, Segment::Param(known) if known == name))
    }

    /// Whether one request could match both routes as they are.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.method == other.method
            && self.segments.len() == other.segments.len()
            && self
                .segments
                .iter()
                .zip(&other.segments)
                .all(|(a, b)| match (a, b) {
                    (Segment::Literal(a, _), Segment::Literal(b, _)) => a == b,
                    (Segment::Literal(text, _), Segment::Param(_))
                    | (Segment::Param(_), Segment::Literal(text, _)) => !text.is_empty(),
                    (Segment::Param(_), Segment::Param(_)) => true,
                })
    }

    /// Whether one request could match both routes in any spelling.
    #[must_use]
    pub fn collides(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.substantial(), other.substantial());
        self.method == other.method
            && ours.clone().count() == theirs.clone().count()
            && ours.zip(theirs).all(|(a, b)| match (a, b) {
                (Segment::Literal(_, a), Segment::Literal(_, b)) => a == b,
                (Segment::Literal(..) | Segment::Param(_), Segment::Param(_))
                | (Segment::Param(_), Segment::Literal(..)) => true,
            })
    }

    /// The segments without the empty one after a trailing slash.
    fn substantial(&self) -> impl Iterator<Item = &Segment> + Clone {
        self.segments
            .iter()
            .filter(|s| !matches!(s, Segment::Literal(_, b) if b.is_empty()))
    }

    fn is_reserved(&self) -> bool {
        let is = |n: usize, name: &str| match self.segments.get(n) {
            Some(Segment::Literal(text, _)) => text == name,
            Some(Segment::Param(_)) | None => false,
        };
        is(0, ".oncegate") || is(0, ".well-known") && is(1, "idempotency")
    }

    fn matches(&self, method: &str, segments: &[&str]) -> bool {
        self.method == method
            && self.segments.len() == segments.len()
            && self
                .segments
                .iter()
                .zip(segments)
                .all(|(ours, given)| match ours {
                    Segment::Literal(text, _) => text == given,
                    Segment::Param(_) => !given.is_empty() && !is_dots(given.as_bytes()),
                })
    }

    /// Whether a reading of the path is this route; its segments are never empty.
    fn matches_reading(&self, method: &str, reading: &[&[u8]]) -> bool {
        self.method == method
            && self.substantial().count() == reading.len()
            && self
                .substantial()
                .zip(reading)
                .all(|(ours, given)| match ours {
                    Segment::Literal(_, bytes) => bytes == given,
                    Segment::Param(_) => true,
                })
    }

    fn params(&self, segments: &[&str]) -> Params {
        let pairs = self
            .segments
            .iter()
            .zip(segments)
            .filter_map(|(ours, given)| match ours {
                Segment::Param(name) => Some((name.clone(), canonical(given))),
                Segment::Literal(..) => None,
            });
        Params(pairs.collect())
    }
}

impl Segment {
    fn parse(part: &str) -> Result<Self, String> {
        if let Some(name) = part
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
        {
            let mut bytes = name.bytes();
            let starts = bytes
                .next()
                .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
            if starts && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Ok(Self::Param(name.to_owned()));
            }
            return Err("a parameter is a name in braces: letters, digits and _".to_owned());
        }
        if part.contains(['{', '}']) {
            return Err("a parameter must be a whole segment: /{id}/".to_owned());
        }
        if part.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err("the path cannot hold white space or control characters".to_owned());
        }
        let text = normalise(part);
        let bytes = undo_escapes(&text);
        let odd = |b: &u8| {
            matches!(
                b,
                b'/' | b'\\' | b';' | b'?' | b'#' | b'%' | 0..=b' ' | 0x7f
            )
        };
        if is_dots(&bytes) || bytes.iter().any(odd) || text.contains("%25") {
            return Err(
                "the path cannot hold a dot segment, nor ; \\ / ? # %, white space or \
                        control characters, escaped or not: such targets are ambiguous"
                    .to_owned(),
            );
        }
        Ok(Self::Literal(text, bytes))
    }
}

fn check_method(method: &str) -> Result<(), String> {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if method.is_empty() || !method.bytes().all(token) {
        return Err("the method is not an HTTP method".to_owned());
    }
    let upper = method.to_ascii_uppercase();
    if matches!(upper.as_str(), "CONNECT" | "TRACE" | "TRACK") {
        return Err(format!("{upper} requests cannot be forwarded"));
    }
    if upper != method && KNOWN.contains(&upper.as_str()) {
        return Err(format!("methods are case-sensitive: write {upper}"));
    }
    Ok(())
}

/// Finds the one route of a request target, and the place it was given at.
///
/// `path` is the path of the target as it came, without the query.
pub(super) fn locate(routes: &[(usize, &Route)], method: &str, path: &str) -> Found<usize> {
    if routes.iter().all(|(_, route)| route.method != method) {
        return Found::Unmatched;
    }
    let path = normalise(path);
    // A path always starts with a slash; one that does not is no operation as it stands.
    let segments: Vec<&str> = path
        .strip_prefix('/')
        .map(|inside| inside.split('/').collect())
        .unwrap_or_default();
    let exact = routes
        .iter()
        .find(|(_, route)| route.matches(method, &segments));
    let readings = Readings::of(&path);
    let strays = |(owner, route): &(usize, &Route)| {
        exact.is_none_or(|(own, _)| own != owner)
            && readings
                .iter()
                .any(|reading| route.matches_reading(method, &reading))
    };
    if routes.iter().any(strays) {
        return Found::Ambiguous;
    }
    exact.map_or(Found::Unmatched, |(owner, route)| {
        Found::Operation(*owner, route.params(&segments))
    })
}
