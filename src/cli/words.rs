//! How the command line words things: spans, sizes, lists, and lines of a bearable length.

use crate::core::time::Span;

/// The columns of a line.
const WIDTH: usize = 100;

/// A span as the policy spells it, in the largest unit that fits.
pub(super) fn span(Span(ms): Span) -> String {
    const UNITS: [(u64, &str); 4] = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
    ];
    // A day is spelled `24h`: that is how windows are spoken of.
    let fits = |unit: u64| ms.is_multiple_of(unit) && (unit != 86_400_000 || ms > unit);
    let found = UNITS.into_iter().find(|(unit, _)| fits(*unit));
    let (unit, name) = found.unwrap_or((1, "ms"));
    format!("{}{name}", ms / unit)
}

/// A size as the policy spells it.
pub(super) fn size(bytes: usize) -> String {
    const UNITS: [(usize, &str); 2] = [(1 << 20, "MiB"), (1 << 10, "KiB")];
    let found = UNITS
        .into_iter()
        .find(|(unit, _)| bytes.is_multiple_of(*unit));
    let (unit, name) = found.unwrap_or((1, "B"));
    format!("{}{name}", bytes / unit)
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// `1 operation`, `2 operations`.
pub(super) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Bytes as they can be printed: text as it is, and what would move a terminal escaped.
pub(super) fn printable(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return bytes.escape_ascii().to_string();
    };
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control()
            || matches!(character, '\u{200e}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// A text cut to what a line bears.
pub(super) fn short(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Breaks a text into lines; the first starts with a heading, the others are indented like it.
pub(super) fn wrapped(heading: &str, text: &str) -> String {
    let indent = heading.chars().count();
    let mut out = heading.to_owned();
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        }
        if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_and_a_size_are_spelled_as_in_the_policy() {
        for text in ["250ms", "30s", "10m", "24h", "90m", "30d", "1h", "36h"] {
            assert_eq!(span(Span::parse(text).unwrap()), text);
        }
        assert_eq!(span(Span::parse("1d").unwrap()), "24h");
        for (bytes, text) in [(4 << 20, "4MiB"), (64 << 10, "64KiB"), (1_000, "1000B")] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn nothing_that_is_printed_moves_a_terminal() {
        assert_eq!(
            printable("a\u{1b}[2J\n\u{202e}é".as_bytes()),
            "a\\u{1b}[2J\\n\\u{202e}é"
        );
        assert_eq!(printable(b"\xff\x00a"), "\\xff\\x00a");
        assert_eq!(short(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }

    #[test]
    fn lines_are_broken_between_words_and_indented() {
        let text = wrapped("  7 unknown  ", &"word ".repeat(30));
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with("             "))
        );
        assert_eq!(text.matches("word").count(), 30);
    }
}
