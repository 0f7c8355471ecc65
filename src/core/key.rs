//! The idempotency key as clients spell it.
//!
//! Owns the syntax of a key header and nothing else. A key is an RFC 9651 string (`"abc"`) or a
//! bare word; both spellings of one value give one key, because what is returned is the unescaped
//! value. Repeated headers do not slip through as one key: the runtime joins them with `, `, and
//! neither spelling may hold an unquoted comma. (Two headers that are the halves of one string,
//! `"a` and `b"`, cannot be told from `"a, b"`: they only ever meet that one key.)

/// The most characters a key may have, counted unescaped.
pub const LONGEST_KEY: usize = 255;

/// A key header that is not a key; the text says what is allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KeyFault(pub &'static str);

/// Reads the value of a key header; an empty value counts as absent.
///
/// # Errors
/// The value is neither an RFC 9651 string nor a bare word of 1 to 255 characters.
pub fn read_header(value: &str) -> Result<Option<String>, KeyFault> {
    let value = value.trim_matches([' ', '\t']);
    if value.is_empty() {
        return Ok(None);
    }
    if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(KeyFault("the key may hold printable ASCII characters only"));
    }
    let key = match value.strip_prefix('"') {
        Some(rest) => unescape(rest)?,
        None => bare(value)?,
    };
    if key.len() > LONGEST_KEY {
        return Err(KeyFault("the key may be at most 255 characters long"));
    }
    Ok((!key.is_empty()).then_some(key))
}

fn bare(value: &str) -> Result<String, KeyFault> {
    if value
        .bytes()
        .any(|byte| matches!(byte, b' ' | b'"' | b',' | b';' | b'\\'))
    {
        return Err(KeyFault(
            "a bare key may not hold a space or any of \" , ; \\ (send it once, or quote it as \
             an RFC 9651 string)",
        ));
    }
    Ok(value.to_owned())
}

/// Reads an RFC 9651 string after its opening quote.
fn unescape(rest: &str) -> Result<String, KeyFault> {
    let mut key = String::with_capacity(rest.len());
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' if characters.as_str().is_empty() => return Ok(key),
            '"' => {
                return Err(KeyFault(
                    "a quoted key ends with its closing quote: one key, without parameters",
                ));
            }
            '\\' => match characters.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err(KeyFault("in a quoted key, \\ may only escape \" or \\")),
            },
            plain => key.push(plain),
        }
    }
    Err(KeyFault("a quoted key needs its closing quote"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_value_are_one_key() {
        for (spelling, key) in [
            ("k-1", "k-1"),
            ("\"k-1\"", "k-1"),
            ("  k-1\t", "k-1"),
            ("\"two words\"", "two words"),
            ("\"a,b;c\"", "a,b;c"),
            (r#""k\"1\\""#, r#"k"1\"#),
            (
                "!#$%&'()*+-./:<=>?@[]^_`{|}~",
                "!#$%&'()*+-./:<=>?@[]^_`{|}~",
            ),
        ] {
            assert_eq!(
                read_header(spelling),
                Ok(Some(key.to_owned())),
                "{spelling}"
            );
        }
    }

    #[test]
    fn an_empty_key_is_an_absent_key() {
        for empty in ["", "   ", "\"\""] {
            assert_eq!(read_header(empty), Ok(None), "{empty:?}");
        }
    }

    #[test]
    fn what_is_half_a_key_or_more_than_one_is_refused() {
        for wrong in [
            "\"k-1",
            "k-1\"",
            "\"k-1\";v=1",
            "k;v",
            "a, b",
            "a,b",
            "\"a\", \"b\"",
            "a b",
            "k\\1",
            r#""k\1""#,
            r#""k\"#,
            "\u{fffd}",
            "sch\u{fc}ssel",
            "a\u{7f}",
            "k\u{1}",
        ] {
            assert!(read_header(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_length_is_counted_unescaped() {
        assert!(read_header(&"k".repeat(255)).is_ok());
        assert!(read_header(&"k".repeat(256)).is_err());
        assert!(read_header(&format!("\"{}\"", "\\\"".repeat(255))).is_ok());
        assert!(read_header(&format!("\"{}\"", "\\\"".repeat(256))).is_err());
    }

    #[test]
    fn case_is_significant() {
        assert_ne!(read_header("K-1"), read_header("k-1"));
    }
}
