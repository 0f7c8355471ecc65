//! Answers to web pages of other origins: the CORS protocol of the Fetch standard.
//!
//! Owns which headers let a page read an answer, and the answer to a preflight. It decides nothing
//! about the request itself. It is correct because the page of the request at hand alone decides:
//! what the origin or a stored reply says to pages is taken out, so that no page ever gets what
//! was said to another, and no header is there twice.

use super::policy::KeyPart;
use super::wire::{Message, header};

/// Which web pages may read the answers of the gate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Cors {
    /// All pages, without cookies and the like.
    Anyone,
    /// The pages of these origins.
    Listed(Vec<String>),
}

/// What all headers of this protocol but `Origin` start with.
const FAMILY: &str = "access-control-";
const EXPOSE: &str = "access-control-expose-headers";

/// What a page may read beside what every page may; the policy adds `keep.headers`.
const EXPOSED: &str = "Idempotency-Replayed, Idempotent-Replayed, Oncegate-State, \
     Oncegate-Reference, Oncegate-Retry, Oncegate-Recorded, Oncegate-Mismatch, Retry-After, \
     Location, Link, Server-Timing";

/// How long a browser may go by a preflight, in seconds: a page that is struck from the list stops
/// soon, and a page that works asks seldom.
const MAX_AGE: &str = "600";

/// What a request says of the page that it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    cors: &'a Cors,
    /// The origin of the page, if it may read the answer.
    origin: Option<&'a str>,
    /// The method that a preflight asks for.
    asked: Option<&'a str>,
    /// The headers that it asks for.
    wanted: &'a str,
}

impl<'a> Page<'a> {
    /// Reads it off a request whose header names are in lower case.
    #[must_use]
    pub fn of(cors: &'a Cors, method: &str, headers: &'a [(String, String)]) -> Self {
        let find = |name: &str| {
            let mut found = headers.iter().filter(|(known, _)| known == name);
            found.next().map(|(_, value)| value.as_str())
        };
        let origin = find("origin");
        let asked = find("access-control-request-method");
        let listed = |origin: &&str| match cors {
            Cors::Anyone => true,
            Cors::Listed(list) => list.iter().any(|known| known == origin),
        };
        Self {
            cors,
            origin: origin.filter(listed),
            asked: asked.filter(|asked| method == "OPTIONS" && origin.is_some() && is_token(asked)),
            wanted: find("access-control-request-headers").unwrap_or_default(),
        }
    }

    /// The method that a browser asks about, if this is its preflight.
    #[must_use]
    pub fn asked(&self) -> Option<&'a str> {
        self.asked
    }

    /// The answer to a preflight about a request with these parts of a key.
    #[must_use]
    pub fn preflight(&self, key: &[KeyPart]) -> Message {
        let mut headers = Vec::new();
        self.admit(&mut headers);
        if self.origin.is_some() {
            let parts = key.iter().filter_map(|part| match part {
                KeyPart::Header(name) => Some(name.as_str()),
                KeyPart::Body(_) | KeyPart::Path(_) | KeyPart::Query(_) => None,
            });
            let mut names: Vec<&str> = parts.collect();
            for name in self.wanted.split(',').map(str::trim) {
                if is_token(name) && !names.iter().any(|it| it.eq_ignore_ascii_case(name)) {
                    names.push(name);
                }
            }
            let names = names.join(", ");
            let mut say = |name, value| headers.push(header(name, value));
            say(
                "Access-Control-Allow-Methods",
                self.asked.unwrap_or_default(),
            );
            say("Access-Control-Allow-Headers", &names);
            say("Access-Control-Max-Age", MAX_AGE);
        }
        Message {
            status: 204,
            headers,
            body: Vec::new(),
        }
    }

    /// Has the headers of an answer say what this page may read, and nothing of other pages;
    /// `kept` are further headers that a replay carries.
    pub fn dress(&self, kept: &[String], headers: &mut Vec<(String, String)>) {
        let mut exposed = vec![EXPOSED.to_owned()];
        exposed.extend_from_slice(kept);
        headers.retain(|(name, value)| {
            let name = name.to_ascii_lowercase();
            if name == EXPOSE && !value.is_empty() {
                exposed.push(value.clone());
            }
            !name.starts_with(FAMILY)
        });
        self.admit(headers);
        if self.origin.is_some() {
            headers.push(header("Access-Control-Expose-Headers", &exposed.join(", ")));
        }
    }

    /// Lets the page read the answer if it may. The answer differs by page in any case, and a cache
    /// must know that.
    fn admit(&self, headers: &mut Vec<(String, String)>) {
        let varies = headers.iter().any(|(name, value)| {
            let mut parts = value.split(',').map(str::trim);
            name.eq_ignore_ascii_case("vary")
                && parts.any(|it| it == "*" || it.eq_ignore_ascii_case("origin"))
        });
        if !varies {
            headers.push(header("Vary", "Origin"));
        }
        let Some(origin) = self.origin else { return };
        match self.cors {
            Cors::Anyone => headers.push(header("Access-Control-Allow-Origin", "*")),
            Cors::Listed(_) => {
                headers.push(header("Access-Control-Allow-Origin", origin));
                headers.push(header("Access-Control-Allow-Credentials", "true"));
            }
        }
    }
}

/// Whether a text is a token of HTTP: a method or the name of a header.
fn is_token(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = "https://shop.example";

    fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        rows.iter()
            .map(|(name, value)| header(name, value))
            .collect()
    }

    fn listed() -> Cors {
        Cors::Listed(vec![SHOP.to_owned(), "http://localhost:3000".to_owned()])
    }

    /// The headers of an answer, dressed, by lower-case name.
    fn dressed(
        cors: &Cors,
        origin: Option<&str>,
        answer: &[(&str, &str)],
    ) -> Vec<(String, String)> {
        let request: Vec<_> = origin.iter().map(|it| header("origin", it)).collect();
        let mut headers = pairs(answer);
        Page::of(cors, "POST", &request).dress(&["x-kept".to_owned()], &mut headers);
        headers
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect()
    }

    fn get<'h>(headers: &'h [(String, String)], name: &str) -> Vec<&'h str> {
        let found = headers.iter().filter(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).collect()
    }

    #[test]
    fn only_a_listed_page_may_read() {
        for (cors, origin, allowed, credentials) in [
            (listed(), Some(SHOP), Some(SHOP), true),
            (
                listed(),
                Some("http://localhost:3000"),
                Some("http://localhost:3000"),
                true,
            ),
            (listed(), Some("http://localhost:3001"), None, false),
            (listed(), Some("http://shop.example"), None, false),
            (
                listed(),
                Some("https://shop.example.evil.example"),
                None,
                false,
            ),
            (listed(), Some("https://SHOP.example"), None, false),
            (listed(), Some("null"), None, false),
            (listed(), Some(""), None, false),
            (listed(), None, None, false),
            (Cors::Anyone, Some("https://any.example"), Some("*"), false),
            (Cors::Anyone, Some("null"), Some("*"), false),
            (Cors::Anyone, None, None, false),
        ] {
            let headers = dressed(&cors, origin, &[]);
            let of = |name| get(&headers, name);
            assert_eq!(
                of("access-control-allow-origin"),
                Vec::from_iter(allowed),
                "{origin:?}"
            );
            let with = if credentials { vec!["true"] } else { vec![] };
            assert_eq!(of("access-control-allow-credentials"), with, "{origin:?}");
            assert_eq!(
                of(EXPOSE).len(),
                usize::from(allowed.is_some()),
                "{origin:?}"
            );
            assert_eq!(of("vary"), ["Origin"], "{origin:?}");
        }
    }

    #[test]
    fn what_was_said_to_another_page_is_never_repeated() {
        let answer = [
            ("access-control-allow-origin", "https://other.example"),
            ("Access-Control-Allow-Credentials", "true"),
            ("access-control-allow-methods", "PUT"),
            ("Access-Control-Expose-Headers", "X-Request-Id"),
            ("content-type", "text/plain"),
        ];
        let headers = dressed(&listed(), Some(SHOP), &answer);
        assert_eq!(get(&headers, "access-control-allow-origin"), [SHOP]);
        assert_eq!(get(&headers, "access-control-allow-methods"), [""; 0]);
        assert_eq!(get(&headers, "content-type"), ["text/plain"]);
        let exposed = get(&headers, EXPOSE).join("|");
        for name in [
            "Idempotency-Replayed",
            "Oncegate-State",
            "Link",
            "x-kept",
            "X-Request-Id",
        ] {
            let mut names = exposed.split(", ");
            assert!(names.any(|it| it == name), "{name} in {exposed}");
        }
        let headers = dressed(&listed(), Some("https://other.example"), &answer);
        assert!(
            !headers.iter().any(|(name, _)| name.starts_with(FAMILY)),
            "{headers:?}"
        );
    }

    #[test]
    fn a_cache_is_told_once_that_the_answer_differs_by_page() {
        for (vary, told) in [
            (&["Accept"][..], "Accept, Origin"),
            (&["Accept, origin"], "Accept, origin"),
            (&["Accept", "ORIGIN"], "Accept, ORIGIN"),
            (&["*"], "*"),
            (&[], "Origin"),
        ] {
            let answer: Vec<_> = vary.iter().map(|value| ("Vary", *value)).collect();
            let headers = dressed(&listed(), Some(SHOP), &answer);
            assert_eq!(get(&headers, "vary").join(", "), told);
        }
    }

    #[test]
    fn a_preflight_is_what_a_browser_asks_before_it_sends() {
        let whole = [("origin", SHOP), ("access-control-request-method", "POST")];
        for (method, rows, asked) in [
            ("OPTIONS", &whole[..], Some("POST")),
            ("POST", &whole[..], None),
            ("OPTIONS", &whole[..1], None),
            ("OPTIONS", &whole[1..], None),
            (
                "OPTIONS",
                &[whole[0], ("access-control-request-method", "P OST")],
                None,
            ),
            (
                "OPTIONS",
                &[whole[0], ("access-control-request-method", "")],
                None,
            ),
            (
                "OPTIONS",
                &[("origin", "https://x.example"), whole[1]],
                Some("POST"),
            ),
        ] {
            let headers = pairs(rows);
            assert_eq!(
                Page::of(&listed(), method, &headers).asked(),
                asked,
                "{method} {rows:?}"
            );
        }
    }

    #[test]
    fn a_preflight_allows_the_key_and_what_was_asked_for() {
        let key = [
            KeyPart::Header("x-request-key".to_owned()),
            KeyPart::Query("batch".to_owned()),
        ];
        let answer = |origin: &str, wanted: &str| {
            let request = pairs(&[
                ("origin", origin),
                ("access-control-request-method", "PATCH"),
                ("access-control-request-headers", wanted),
            ]);
            let message = Page::of(&listed(), "OPTIONS", &request).preflight(&key);
            assert_eq!((message.status, message.body.len()), (204, 0));
            message.headers
        };
        let headers = answer(SHOP, "authorization,X-Request-Key, content-type,,a b");
        assert_eq!(
            headers,
            pairs(&[
                ("Vary", "Origin"),
                ("Access-Control-Allow-Origin", SHOP),
                ("Access-Control-Allow-Credentials", "true"),
                ("Access-Control-Allow-Methods", "PATCH"),
                (
                    "Access-Control-Allow-Headers",
                    "x-request-key, authorization, content-type"
                ),
                ("Access-Control-Max-Age", "600"),
            ])
        );
        assert_eq!(
            answer("https://other.example", ""),
            pairs(&[("Vary", "Origin")])
        );
    }
}
