//! Forms and queries: pairs of names and values.
//!
//! Owns the decoding of `application/x-www-form-urlencoded` and the canonical text of its pairs:
//! sorted by name, the order within one name kept, everything but unreserved characters
//! percent-encoded. It follows the decoding that browsers and servers share, so no text is
//! malformed: a `%` that starts no escape stands for itself, and `a` is `a=`.

use super::Malformed;
use super::field;
use super::json::{MAX_LENGTH, MAX_MEMBERS, at, place};
use super::recipe::QueryRule;
use super::rules::{Rule, Rules};

/// One decoded pair: where its name starts, where its value starts and ends.
struct Pair {
    name: u32,
    value: u32,
    end: u32,
}

impl Pair {
    fn name<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(at(self.name)..at(self.value)).unwrap_or_default()
    }

    fn value<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(at(self.value)..at(self.end)).unwrap_or_default()
    }
}

/// The canonical text of a form or a query.
pub(super) fn canonical(
    source: &[u8],
    chosen: &QueryRule,
    rules: Option<&Rules>,
) -> Result<Vec<u8>, Malformed> {
    if source.len() > MAX_LENGTH {
        return Err(Malformed::new("the form is too long"));
    }
    let mut text = Vec::with_capacity(source.len());
    let mut pairs = Vec::new();
    for piece in source
        .split(|byte| *byte == b'&')
        .filter(|piece| !piece.is_empty())
    {
        let cut = piece
            .iter()
            .position(|byte| *byte == b'=')
            .unwrap_or(piece.len());
        let (name, value) = piece.split_at_checked(cut).unwrap_or((piece, &[]));
        let start = place(text.len());
        decode(name, &mut text);
        let middle = place(text.len());
        decode(value.get(1..).unwrap_or_default(), &mut text);
        pairs.push(Pair {
            name: start,
            value: middle,
            end: place(text.len()),
        });
        if pairs.len() > MAX_MEMBERS {
            return Err(Malformed::new("the form has more than 131072 fields"));
        }
    }
    if let QueryRule::Names(names) = chosen {
        pairs.retain(|pair| names.iter().any(|name| name.as_bytes() == pair.name(&text)));
    }
    // Places rise with the source, so equal names keep their order.
    pairs.sort_unstable_by(|a, b| a.name(&text).cmp(b.name(&text)).then(a.name.cmp(&b.name)));
    let mut out = Vec::with_capacity(source.len());
    for same in pairs.chunk_by(|a, b| a.name(&text) == b.name(&text)) {
        write(same, &text, rules, &mut out);
    }
    Ok(out)
}

/// Puts the pairs of one name.
fn write(pairs: &[Pair], text: &[u8], rules: Option<&Rules>, out: &mut Vec<u8>) {
    let name = pairs
        .first()
        .map(|pair| pair.name(text))
        .unwrap_or_default();
    let rule = rules.and_then(|rules| rules.field(name));
    if rule.is_some_and(|rule| rule.drop) {
        return;
    }
    for pair in pairs {
        let value = pair.value(text);
        let rewritten = rule.and_then(|rule| field::rewrite(rule, value));
        let value = rewritten.as_deref().unwrap_or(value);
        if pairs.len() == 1 && is_default(rule, value) {
            return;
        }
        if !out.is_empty() {
            out.push(b'&');
        }
        encode(name, out);
        out.push(b'=');
        encode(value, out);
    }
}

/// Whether a field with this value means the same as none.
pub(super) fn is_default(rule: Option<&Rule>, value: &[u8]) -> bool {
    let default = rule.and_then(|rule| rule.default.as_ref());
    default.and_then(|default| default.field.as_deref()) == Some(value)
}

/// The first value of a field, decoded.
pub(super) fn value(source: &[u8], wanted: &[u8]) -> Option<Vec<u8>> {
    let pieces = source.split(|byte| *byte == b'&');
    let mut found = pieces.filter_map(|piece| {
        let cut = piece.iter().position(|byte| *byte == b'=');
        let (name, value) = piece.split_at_checked(cut.unwrap_or(piece.len()))?;
        let (mut decoded, mut text) = (Vec::new(), Vec::new());
        decode(name, &mut decoded);
        decode(value.get(1..).unwrap_or_default(), &mut text);
        (!piece.is_empty() && decoded == wanted).then_some(text)
    });
    found.next()
}

fn decode(source: &[u8], out: &mut Vec<u8>) {
    let mut rest = source;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let byte = match (first, after) {
            (b'+', _) => b' ',
            (b'%', [high, low, beyond @ ..]) => match escaped(*high, *low) {
                Some(byte) => {
                    rest = beyond;
                    byte
                }
                None => b'%',
            },
            (other, _) => *other,
        };
        out.push(byte);
    }
}

fn escaped(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let value = digit(high)?.checked_mul(16)?.checked_add(digit(low)?)?;
    u8::try_from(value).ok()
}

fn encode(text: &[u8], out: &mut Vec<u8>) {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    for byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            out.push(b'%');
            out.extend(DIGITS.get(usize::from(byte >> 4)));
            out.extend(DIGITS.get(usize::from(byte & 15)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(source: &str) -> String {
        let bytes = canonical(source.as_bytes(), &QueryRule::All, None).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_order_across_names_does_not_matter_and_within_one_name_does() {
        assert_eq!(form("b=2&a=1&b=1"), "a=1&b=2&b=1");
        assert_eq!(form("b=2&b=1&a=1"), "a=1&b=2&b=1");
        assert_ne!(form("b=1&a=1&b=2"), "a=1&b=2&b=1");
    }

    #[test]
    fn the_order_within_one_name_is_kept_among_many() {
        let numbers = |name: &str| (0..500).map(|n| format!("{name}={n}")).collect::<Vec<_>>();
        let (a, b) = (numbers("a"), numbers("b"));
        let mixed: Vec<_> = b.iter().zip(&a).map(|(b, a)| format!("{b}&{a}")).collect();
        assert_eq!(form(&mixed.join("&")), [a, b].concat().join("&"));
    }

    #[test]
    fn pairs_are_compared_decoded() {
        assert_eq!(form("a=x+y%7e&%62="), "a=x%20y~&b=");
        assert_eq!(form("a=x%20y~&&b&"), "a=x%20y~&b=");
        assert_eq!(form("a=%C3%A9"), form("a=é"));
        assert_ne!(form("a=%00"), form("a="));
        assert_ne!(form("a=1%26b=2"), form("a=1&b=2"));
    }

    #[test]
    fn a_percent_sign_that_starts_no_escape_stands_for_itself() {
        for text in ["a=%", "a=%2", "a=%zz", "a=100%&b=1"] {
            assert_eq!(form(text), form(&text.replace('%', "%25")), "{text}");
        }
    }

    #[test]
    fn only_the_chosen_names_count() {
        let rule = QueryRule::Names(vec!["id".into(), "to".into()]);
        let out = canonical(b"cb=9&to=2&i%64=1", &rule, None).unwrap();
        assert_eq!(out, b"id=1&to=2");
    }
}
