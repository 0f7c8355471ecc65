//! What the rules make of one string.
//!
//! Owns the normal forms of strings that a recipe gives a meaning: times, decimals, letters
//! without case. A string that is not what its rule says stays as it is. It is correct because
//! every normal form is its own normal form, so no string is mistaken for another one.

use super::decimal::Decimal;
use super::rules::Rule;
use super::timestamp;

/// The normal form of a string under a rule; nothing if it stays as it is.
///
/// Times and decimals hold no character that JSON escapes, and an escape in canonical JSON no
/// upper-case letter: so the same holds for the text between the quotes of a canonical string.
pub(super) fn rewrite(rule: &Rule, text: &[u8]) -> Option<Vec<u8>> {
    if let Some(precision) = rule.timestamp
        && let Some(normal) = timestamp::normal(text, precision)
    {
        return Some(normal);
    }
    if rule.decimal
        && let Some(decimal) = Decimal::parse(text)
    {
        let mut out = Vec::new();
        decimal.write(&mut out);
        return Some(out);
    }
    rule.casefold.then(|| text.to_ascii_lowercase())
}
