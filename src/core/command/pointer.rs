//! JSON pointers, with `*` for every item of an array.
//!
//! Owns the reading of RFC 6901 pointers as the policy writes them. It never touches a body. In an
//! object `*` is an ordinary member name; in an array it stands for every item.

use std::fmt;

/// A JSON pointer as a policy writes it, e.g. `/items/*/price`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Pointer {
    tokens: Vec<String>,
}

/// More tokens than a body can be deep match nothing.
const MAX_TOKENS: usize = 128;

impl Pointer {
    /// Reads a pointer; the fault, if it is none, says what is wrong with it.
    ///
    /// # Errors
    /// Not empty and without a leading `/`, a `~` that is neither `~0` nor `~1`, or too long.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self { tokens: Vec::new() });
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err("a JSON pointer starts with \"/\"");
        };
        let mut tokens = Vec::new();
        for token in rest.split('/') {
            tokens.push(unescape(token)?);
        }
        if tokens.len() > MAX_TOKENS {
            return Err("a JSON pointer has at most 128 parts");
        }
        Ok(Self { tokens })
    }

    /// The unescaped tokens.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Whether it may name more than one place.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.tokens.iter().any(|token| token == "*")
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens
            .iter()
            .try_for_each(|token| write!(out, "/{}", escape(token)))
    }
}

/// A token as it is written inside a pointer.
pub(super) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

fn unescape(token: &str) -> Result<String, &'static str> {
    let mut pieces = token.split('~');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (character, rest) = if let Some(rest) = piece.strip_prefix('0') {
            ('~', rest)
        } else if let Some(rest) = piece.strip_prefix('1') {
            ('/', rest)
        } else {
            return Err("in a JSON pointer \"~\" is written \"~0\" and \"/\" inside a name \"~1\"");
        };
        out.push(character);
        out.push_str(rest);
    }
    Ok(out)
}

/// The array index that a token names: digits without a leading zero.
pub(super) fn index(token: &str) -> Option<usize> {
    let plain = token == "0" || !token.starts_with('0');
    (plain && token.bytes().all(|byte| byte.is_ascii_digit())).then(|| token.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_read_and_written_alike() {
        for (text, tokens) in [
            ("", &[][..]),
            ("/", &[""]),
            ("/a/b", &["a", "b"]),
            ("/a~1b/m~0n/~01", &["a/b", "m~n", "~1"]),
            ("/items/*/price", &["items", "*", "price"]),
        ] {
            let pointer = Pointer::parse(text).unwrap();
            assert_eq!(pointer.tokens(), tokens);
            assert_eq!(pointer.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        for text in ["a", "a/b", "/a~", "/a~2", "~0"] {
            assert!(Pointer::parse(text).is_err(), "{text}");
        }
        assert!(Pointer::parse(&"/a".repeat(129)).is_err());
    }

    #[test]
    fn an_index_has_no_leading_zero_and_no_sign() {
        assert_eq!(index("0"), Some(0));
        assert_eq!(index("17"), Some(17));
        for token in [
            "",
            "00",
            "01",
            "+1",
            "-1",
            "-",
            "*",
            "a",
            "99999999999999999999999",
        ] {
            assert_eq!(index(token), None, "{token}");
        }
    }
}
