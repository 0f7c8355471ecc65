//! Strings of JSON: strict reading, canonical writing.
//!
//! Owns escapes. A canonical string escapes `"`, `\` and the control characters only, the latter
//! as `\b \t \n \f \r` or `\u00` and two lower-case digits. It never normalises characters: a
//! string is its sequence of Unicode scalar values.

/// What is wrong with a string, and the bytes that were left where it was found.
pub(super) struct Fault<'a> {
    pub(super) what: &'static str,
    pub(super) rest: &'a [u8],
}

/// Whether a byte ends a stretch that can be copied.
fn special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The length of the stretch that can be copied: up to the first `"`, `\` or control character.
fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    const QUOTE: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASH: u64 = u64::from_le_bytes([b'\\'; 8]);
    const SPACE: u64 = u64::from_le_bytes([b' '; 8]);
    // Eight bytes a step. `x - n` borrows into the high bit of each byte below n; a byte above the
    // first such one may be marked wrongly, so the marks only say that the step has one.
    let (eights, rest) = text.as_chunks::<8>();
    let mut length = 0_usize;
    for eight in eights {
        let x = u64::from_le_bytes(*eight);
        let below = |x: u64, n: u64| x.wrapping_sub(n) & !x & HIGH;
        let marks = below(x, SPACE) | below(x ^ QUOTE, ONES) | below(x ^ BACKSLASH, ONES);
        if marks != 0 {
            let first = usize::try_from(marks.trailing_zeros() / 8).unwrap_or(0);
            return length.saturating_add(first);
        }
        length = length.saturating_add(8);
    }
    let rest = rest
        .iter()
        .position(|byte| special(*byte))
        .unwrap_or(rest.len());
    length.saturating_add(rest)
}

/// Reads a string whose opening quote is already taken and appends it with both quotes; gives what
/// follows its closing quote. The source must be UTF-8.
pub(super) fn copy<'a>(source: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], Fault<'a>> {
    out.push(b'"');
    let mut rest = source;
    loop {
        let (stretch, after) = rest.split_at_checked(plain(rest)).unwrap_or((rest, &[]));
        out.extend_from_slice(stretch);
        let here = after;
        rest = match here {
            [] => {
                return Err(Fault {
                    what: "a string without its end",
                    rest: here,
                });
            }
            [b'"', after @ ..] => {
                out.push(b'"');
                return Ok(after);
            }
            [b'\\', escape @ ..] => {
                let Some((character, after)) = unescape(escape) else {
                    return Err(Fault {
                        what: "an escape that is none",
                        rest: here,
                    });
                };
                let Some(character) = character else {
                    return Err(Fault {
                        what: "a lone surrogate",
                        rest: here,
                    });
                };
                push(character, out);
                after
            }
            _ => {
                return Err(Fault {
                    what: "a control character in a string",
                    rest: here,
                });
            }
        };
    }
}

/// The character of an escape after its backslash, and what follows; inner `None` is a lone
/// surrogate.
fn unescape(escape: &[u8]) -> Option<(Option<char>, &[u8])> {
    let (letter, rest) = escape.split_first()?;
    let character = match letter {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return hex(rest).map(|(unit, rest)| surrogate(unit, rest)),
        _ => return None,
    };
    Some((Some(character), rest))
}

fn surrogate(unit: u32, rest: &[u8]) -> (Option<char>, &[u8]) {
    if !(0xd800..0xe000).contains(&unit) {
        return (char::from_u32(unit), rest);
    }
    if let (0xd800..0xdc00, [b'\\', b'u', after @ ..]) = (unit, rest)
        && let Some((low @ 0xdc00..0xe000, rest)) = hex(after)
    {
        let high = unit.wrapping_sub(0xd800).wrapping_shl(10);
        let scalar = high
            .wrapping_add(low.wrapping_sub(0xdc00))
            .wrapping_add(0x1_0000);
        return (char::from_u32(scalar), rest);
    }
    (None, rest)
}

/// Four hexadecimal digits.
fn hex(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let value = digits.iter().try_fold(0_u32, |value, byte| {
        Some(value.wrapping_shl(4) | char::from(*byte).to_digit(16)?)
    })?;
    Some((value, rest))
}

/// Appends one character as a canonical string has it.
fn push(character: char, out: &mut Vec<u8>) {
    let short = match character {
        '"' => b'"',
        '\\' => b'\\',
        '\u{8}' => b'b',
        '\t' => b't',
        '\n' => b'n',
        '\u{c}' => b'f',
        '\r' => b'r',
        '\0'..='\u{1f}' => {
            const DIGITS: [u8; 16] = *b"0123456789abcdef";
            let low = usize::try_from(u32::from(character) & 15).unwrap_or(0);
            out.extend_from_slice(if character < '\u{10}' {
                b"\\u000"
            } else {
                b"\\u001"
            });
            out.extend(DIGITS.get(low));
            return;
        }
        _ => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// A text as a canonical string, with its quotes.
pub(in super::super) fn quoted(text: &str) -> Vec<u8> {
    let mut out = vec![b'"'];
    text.chars().for_each(|character| push(character, &mut out));
    out.push(b'"');
    out
}

/// The text of a canonical string.
pub(in super::super) fn unquoted(string: &[u8]) -> Option<Vec<u8>> {
    match string {
        [b'"', inside @ .., b'"'] => Some(scalars(inside).collect()),
        _ => None,
    }
}

/// The bytes of a canonical string without its quotes, unescaped one by one.
pub(super) fn scalars(inside: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut rest = inside;
    std::iter::from_fn(move || {
        let (first, after) = rest.split_first()?;
        rest = after;
        if *first != b'\\' {
            return Some(*first);
        }
        // Only control characters and ASCII are escaped: one byte each.
        let (character, after) = unescape(after)?;
        rest = after;
        u8::try_from(character?).ok()
    })
}

/// The bytes of a canonical string, unescaped one by one.
pub(super) fn scalars_of(quoted: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let inside = quoted.get(1..).unwrap_or_default();
    scalars(
        inside
            .get(..inside.len().saturating_sub(1))
            .unwrap_or_default(),
    )
}
