//! The path of a request target: its normal form, and every way a server may read it.
//!
//! Owns the spelling of paths, nothing else: what is protected is not known here. The normal form
//! undoes only what RFC 3986 calls equivalent. The readings undo more than any one server does, in
//! every combination that can lead to another place; they are only ever compared, never sent.

/// The normal form of a path.
///
/// Escapes of unreserved characters are undone, the hex digits of all others are upper-case, and
/// what may not stand in a path is escaped, so the `%` of an invalid escape too.
#[must_use]
pub fn normalise(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match if byte == b'%' { escaped(tail) } else { None } {
            Some((octet, after)) => {
                rest = after;
                push(&mut out, octet, unreserved(octet));
            }
            None => push(&mut out, byte, plain(byte)),
        }
    }
    out
}

/// One spelling for every spelling of a segment in its normal form: all but the unreserved bytes
/// escaped.
pub(super) fn canonical(segment: &str) -> String {
    let mut out = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        // A `%` of the normal form is always that of an escape.
        push(&mut out, byte, unreserved(byte) || byte == b'%');
    }
    out
}

/// Undoes all escapes, also those that only appear by undoing others, in one pass.
pub(super) fn undo_escapes(text: &str) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        out.push(byte);
        while let [before @ .., b'%', high, low] = out.as_slice()
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            let kept = before.len();
            out.truncate(kept);
            out.push(high << 4 | low);
        }
    }
    out
}

/// Whether a segment is `.` or `..`.
pub(super) fn is_dots(segment: &[u8]) -> bool {
    matches!(segment, b"." | b"..")
}

/// The ways in which a server may read one path.
///
/// All escapes are undone, control characters and spaces are gone, and so is what follows a `?` or
/// `#`. Servers differ in the rest, so each of the three rules is tried on and off.
pub(super) struct Readings {
    bytes: Vec<u8>,
    /// Whether there is more than one way to read it.
    odd: bool,
}

const BACKSLASH_SEPARATES: u8 = 1;
const CUT_AT_SEMICOLON: u8 = 2;
const DOTS_SKIP_EMPTY: u8 = 4;
const ALL_RULES: u8 = 7;

impl Readings {
    /// The readings of a path in its normal form.
    pub(super) fn of(path: &str) -> Self {
        let mut bytes = undo_escapes(path);
        if let Some(end) = bytes.iter().position(|b| matches!(b, b'?' | b'#')) {
            bytes.truncate(end);
        }
        bytes.retain(|b| *b > b' ' && *b != 0x7f);
        let odd = bytes.iter().any(|b| matches!(b, b'\\' | b';'))
            || bytes.split(|b| *b == b'/').any(is_dots);
        Self { bytes, odd }
    }

    /// Each reading as the list of its segments, none of them empty.
    pub(super) fn iter(&self) -> impl Iterator<Item = Vec<&[u8]>> {
        let first = if self.odd { 0 } else { ALL_RULES };
        (first..=ALL_RULES).map(|rules| self.segments(rules))
    }

    fn segments(&self, rules: u8) -> Vec<&[u8]> {
        let on = |rule: u8| rules & rule != 0;
        let mut segments: Vec<&[u8]> = Vec::new();
        let separates = |b: &u8| *b == b'/' || *b == b'\\' && on(BACKSLASH_SEPARATES);
        for whole in self.bytes.split(separates) {
            let segment = if on(CUT_AT_SEMICOLON) {
                whole.split(|b| *b == b';').next().unwrap_or(whole)
            } else {
                whole
            };
            match segment {
                b"." => {}
                b".." => {
                    segments.pop();
                }
                b"" if on(DOTS_SKIP_EMPTY) => {}
                _ => segments.push(segment),
            }
        }
        segments.retain(|segment| !segment.is_empty());
        segments
    }
}

fn push(out: &mut String, byte: u8, bare: bool) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    if bare {
        out.push(char::from(byte));
    } else {
        let digits = [byte >> 4, byte & 15];
        out.push('%');
        out.extend(digits.iter().filter_map(|d| DIGITS.get(usize::from(*d))));
    }
}

/// The octet of an escape whose `%` has just been read, and what follows it.
fn escaped(tail: &[u8]) -> Option<(u8, &[u8])> {
    let [high, low, after @ ..] = tail else {
        return None;
    };
    Some((hex(*high)? << 4 | hex(*low)?, after))
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit & 15),
        b'a'..=b'f' | b'A'..=b'F' => Some((digit & 15).saturating_add(9)),
        _ => None,
    }
}

/// The unreserved characters of RFC 3986.
fn unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// What may stand in a path unescaped: `pchar` of RFC 3986 and `/`.
fn plain(byte: u8) -> bool {
    unreserved(byte) || b"!$&'()*+,;=:@/".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_form_undoes_unreserved_escapes_only() {
        for (given, normal) in [
            ("/v1/%70ayments", "/v1/payments"),
            ("/v1/%7euser/%2d%5F%2e", "/v1/~user/-_."),
            ("/a%2fb%3a%c3%a9", "/a%2Fb%3A%C3%A9"),
            ("/caf\u{e9} x", "/caf%C3%A9%20x"),
            ("/a\\b|c[d]", "/a%5Cb%7Cc%5Bd%5D"),
            ("/%", "/%25"),
            ("/%4", "/%254"),
            ("/%zz%41", "/%25zzA"),
            ("/%%341", "/%2541"),
            ("/%2570ay", "/%2570ay"),
            ("/a;b=c:d@e!$&'()*+,=", "/a;b=c:d@e!$&'()*+,="),
            ("", ""),
        ] {
            assert_eq!(normalise(given), normal, "{given}");
        }
    }

    #[test]
    fn all_spellings_of_a_parameter_are_one() {
        let value = |segment: &str| canonical(&normalise(segment));
        assert_eq!(value("p:1"), "p%3A1");
        assert_eq!(value("p%3a1"), "p%3A1");
        assert_eq!(value("100%"), value("100%25"));
        assert_eq!(value("%%341"), value("%2541"));
        assert_ne!(value("%2541"), value("%41"));
    }

    #[test]
    fn escapes_are_undone_to_the_end() {
        for (given, bytes) in [
            ("%2570", "p"),
            ("%25252570", "p"),
            ("%%370", "p"),
            ("%zz%", "%zz%"),
            ("%2525252", "%2"),
            ("%2e%252E", ".."),
        ] {
            assert_eq!(undo_escapes(given), bytes.as_bytes(), "{given}");
        }
    }

    #[test]
    fn undoing_escapes_takes_time_in_proportion() {
        let long = format!("%{}70", "25".repeat(200_000));
        assert_eq!(undo_escapes(&long), b"p");
    }
}
