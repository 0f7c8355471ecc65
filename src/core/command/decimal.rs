//! Exact decimals of any length.
//!
//! Owns the grammar of JSON numbers and their one canonical spelling: sign, digits without leading
//! or trailing zeros, exponent. It never uses a float and never expands an exponent. It is correct
//! because every decimal but zero is `digits * 10^exponent` in exactly one way once the zeros at
//! both ends are gone, and the exponent itself is a decimal integer of any length.

/// A number as it was written, cut into its pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent_negative: bool,
    exponent: &'a [u8],
}

/// The digits at the start, and what follows them.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at_checked(count).unwrap_or((text, &[]))
}

/// Reads the number at the start of `text` and appends its canonical spelling; gives what follows.
///
/// If there is none, gives what follows the part that was still right.
pub(super) fn copy<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], &'a [u8]> {
    // Most numbers are short integers that are canonical as they are.
    let (_, unsigned) = sign(text);
    let (whole, rest) = digits(unsigned);
    if let ([b'1'..=b'9', ..], [.., b'1'..=b'9']) = (whole, whole)
        && !matches!(rest, [b'.' | b'e' | b'E', ..])
    {
        let length = text.len().saturating_sub(rest.len());
        out.extend_from_slice(text.get(..length).unwrap_or_default());
        return Ok(rest);
    }
    let (decimal, rest) = Decimal::read(text)?;
    decimal.write(out);
    Ok(rest)
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    }
}

impl<'a> Decimal<'a> {
    /// Reads the number at the start of `text`; gives it and what follows.
    ///
    /// If there is none, gives what follows the part that was still right.
    pub(super) fn read(text: &'a [u8]) -> Result<(Self, &'a [u8]), &'a [u8]> {
        let (negative, rest) = sign(text);
        let (whole, rest) = match rest {
            [b'0', after @ ..] => (rest.get(..1).unwrap_or_default(), after),
            _ => digits(rest),
        };
        if whole.is_empty() {
            return Err(rest);
        }
        let (fraction, rest) = match rest {
            [b'.', after @ ..] => {
                let (fraction, after) = digits(after);
                if fraction.is_empty() {
                    return Err(after);
                }
                (fraction, after)
            }
            _ => (rest.get(..0).unwrap_or_default(), rest),
        };
        let (exponent_negative, exponent, rest) = match rest {
            [b'e' | b'E', after @ ..] => {
                let (negative, after) = match after {
                    [b'-', after @ ..] => (true, after),
                    [b'+', after @ ..] => (false, after),
                    _ => (false, after),
                };
                let (exponent, after) = digits(after);
                if exponent.is_empty() {
                    return Err(after);
                }
                (negative, exponent, after)
            }
            _ => (false, rest.get(..0).unwrap_or_default(), rest),
        };
        Ok((
            Self {
                negative,
                whole,
                fraction,
                exponent_negative,
                exponent,
            },
            rest,
        ))
    }

    /// Reads a text that is a number and nothing else.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        match Self::read(text) {
            Ok((decimal, [])) => Some(decimal),
            Ok(_) | Err(_) => None,
        }
    }

    /// Appends the canonical spelling.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let significant = |byte: &u8| *byte != b'0';
        let trailing = |part: &[u8]| {
            part.iter()
                .rev()
                .take_while(|byte| !significant(byte))
                .count()
        };
        // Zeros at the right end move into the exponent, those of the fraction out of it.
        let fraction_zeros = trailing(self.fraction);
        let fraction_length = self.fraction.len().saturating_sub(fraction_zeros);
        let fraction = self.fraction.get(..fraction_length).unwrap_or_default();
        let whole_zeros = if fraction.is_empty() {
            trailing(self.whole)
        } else {
            0
        };
        let whole_length = self.whole.len().saturating_sub(whole_zeros);
        let whole = self.whole.get(..whole_length).unwrap_or_default();

        let start = out.len();
        if self.negative {
            out.push(b'-');
        }
        let mut seen = false;
        if let Some(first) = whole.iter().position(significant) {
            out.extend_from_slice(whole.get(first..).unwrap_or_default());
            seen = true;
        }
        let first = if seen {
            Some(0)
        } else {
            fraction.iter().position(significant)
        };
        if let Some(first) = first {
            out.extend_from_slice(fraction.get(first..).unwrap_or_default());
            seen = true;
        }
        if !seen {
            out.truncate(start);
            out.push(b'0');
            return;
        }
        write_sum(
            self.exponent_negative,
            self.exponent,
            whole_zeros,
            fraction_length,
            out,
        );
    }
}

/// Appends `e` and `exponent + up - down` without leading zeros or a `+`, or nothing for 0.
fn write_sum(negative: bool, exponent: &[u8], up: usize, down: usize, out: &mut Vec<u8>) {
    let first = exponent
        .iter()
        .position(|byte| *byte != b'0')
        .unwrap_or(exponent.len());
    let exponent = exponent.get(first..).unwrap_or_default();
    let delta = i64::try_from(up).unwrap_or(i64::MAX);
    let delta = delta.saturating_sub(i64::try_from(down).unwrap_or(i64::MAX));
    // Up to 17 digits fit into 64 bits with room for the delta, which is below the body's length.
    if exponent.len() <= 17 {
        let magnitude = exponent.iter().fold(0_i64, |value, byte| {
            value
                .saturating_mul(10)
                .saturating_add(i64::from(byte.saturating_sub(b'0')))
        });
        let value = if negative {
            magnitude.saturating_neg()
        } else {
            magnitude
        };
        let value = value.saturating_add(delta);
        if value != 0 {
            out.push(b'e');
            write_integer(value, out);
        }
        return;
    }
    out.push(b'e');
    if negative {
        out.push(b'-');
    }
    // So long a magnitude outweighs any delta: the sign stays.
    let grows = (delta < 0) == negative;
    out.extend_from_slice(&shifted(exponent, delta.unsigned_abs(), grows));
}

/// Appends an integer, without the cost of a formatter.
fn write_integer(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let mut rest = value.unsigned_abs();
    let start = out.len();
    while rest > 0 || out.len() == start {
        let digit = u8::try_from(rest % 10).unwrap_or(0);
        out.push(digit.saturating_add(b'0'));
        rest /= 10;
    }
    out.get_mut(start..).unwrap_or_default().reverse();
}

/// `magnitude + delta`, or `magnitude - delta` for a magnitude above the delta.
fn shifted(magnitude: &[u8], mut delta: u64, grows: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(magnitude.len().saturating_add(2));
    let mut carry = 0_u8;
    for byte in magnitude.iter().rev() {
        let step = u8::try_from(delta % 10).unwrap_or(0);
        delta /= 10;
        let digit = byte.saturating_sub(b'0');
        let other = step.saturating_add(carry);
        let (value, next) = if grows {
            let value = digit.saturating_add(other);
            if value > 9 {
                (value.saturating_sub(10), 1)
            } else {
                (value, 0)
            }
        } else if digit < other {
            (digit.saturating_add(10).saturating_sub(other), 1)
        } else {
            (digit.saturating_sub(other), 0)
        };
        carry = next;
        out.push(value.saturating_add(b'0'));
    }
    if carry > 0 {
        out.push(b'1');
    }
    while out.last() == Some(&b'0') {
        out.pop();
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let mut out = Vec::new();
        Decimal::parse(text.as_bytes())?.write(&mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_spelling_of_a_number_has_one_canonical_form() {
        for (form, spellings) in [
            (
                "0",
                &[
                    "0",
                    "-0",
                    "0.0",
                    "-0.00",
                    "0e9",
                    "0E-999999999999",
                    "-0.0e+5",
                ][..],
            ),
            (
                "1",
                &["1", "1.0", "1e0", "10e-1", "0.1e1", "100E-2", "0.01e+2"],
            ),
            ("1e1", &["10", "10.0", "1e1", "1E+1", "0.1e2", "1000e-2"]),
            ("-15e-1", &["-1.5", "-1.50", "-15e-1", "-0.15e1"]),
            ("1999e-2", &["19.99", "19.990", "1999e-2"]),
            ("1002e-1", &["100.2", "100.20", "1.002e2"]),
            ("1001", &["1001", "1001.0", "1.001e3"]),
            ("1e-7", &["0.0000001", "1e-7", "0.1e-6", "10e-8"]),
            (
                "1e999999999",
                &[
                    "1e999999999",
                    "10e999999998",
                    "0.1e1000000000",
                    "1e0999999999",
                ],
            ),
        ] {
            for spelling in spellings {
                assert_eq!(canonical(spelling).as_deref(), Some(form), "{spelling}");
            }
        }
    }

    #[test]
    fn exponents_of_any_length_are_exact() {
        let nines = "9".repeat(60);
        let zeros = "0".repeat(60);
        for (a, b) in [
            (
                "1e999999999999999999999".into(),
                "10e999999999999999999998".into(),
            ),
            (format!("10e{nines}"), format!("1e1{zeros}")),
            (format!("1e{nines}"), format!("0.1e1{zeros}")),
            (format!("10e-1{zeros}"), format!("1e-{nines}")),
            (
                format!("0.001e-{nines}"),
                format!("1e-1{}2", "0".repeat(59)),
            ),
            (format!("1e{nines}"), format!("1e000{nines}")),
        ] {
            assert_eq!(canonical(&a), canonical(&b), "{a} {b}");
        }
        assert_ne!(
            canonical(&format!("1e{nines}")),
            canonical(&format!("1e-{nines}"))
        );
        assert_ne!(
            canonical(&format!("1e{nines}")),
            canonical(&format!("1e9{nines}"))
        );
    }

    #[test]
    fn neighbours_beyond_a_double_stay_different() {
        assert_ne!(canonical("9007199254740993"), canonical("9007199254740992"));
        assert_ne!(canonical("0.1"), canonical("0.1000000000000000055"));
    }

    #[test]
    fn what_json_does_not_call_a_number_is_not_one() {
        for text in [
            "", "-", "+1", ".5", "1.", "1e", "1e+", "01", "-01", "0x1", "1 ", " 1", "NaN",
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
