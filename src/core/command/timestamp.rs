//! RFC 3339 times as points in time.
//!
//! Owns the normal form of a time: UTC, `Z`, a fraction of exactly the digits that count. It takes
//! the one spelling of RFC 3339 and nothing wider; dates and offsets are the time library's. What
//! is no such time, a leap second too, has no normal form and stays as it is.

use super::recipe::Precision;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

/// The normal form of a time.
pub(super) fn normal(text: &[u8], precision: Precision) -> Option<Vec<u8>> {
    let (date, rest) = text.split_at_checked(10)?;
    let (time, rest) = rest.split_at_checked(9)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else {
        return None;
    };
    let [b'T' | b't' | b' ', h1, h2, b':', n1, n2, b':', s1, s2] = time else {
        return None;
    };
    let (fraction, zone) = match rest {
        [b'.', after @ ..] => {
            let digits = after
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            after
                .split_at_checked(digits)
                .filter(|(digits, _)| !digits.is_empty())?
        }
        _ => (rest.get(..0)?, rest),
    };
    let date = Date::new(
        i16::try_from(number(&[*y1, *y2, *y3, *y4])?).ok()?,
        i8::try_from(number(&[*m1, *m2])?).ok()?,
        i8::try_from(number(&[*d1, *d2])?).ok()?,
    );
    let part = |a: &u8, b: &u8| i8::try_from(number(&[*a, *b])?).ok();
    let time = Time::new(part(h1, h2)?, part(n1, n2)?, part(s1, s2)?, 0);
    let local = DateTime::from_parts(date.ok()?, time.ok()?);
    let offset = Offset::from_seconds(offset(zone)?).ok()?;
    let utc = Offset::UTC.to_datetime(offset.to_timestamp(local).ok()?);
    if !(0..=9999).contains(&utc.year()) {
        return None;
    }
    let mut out = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        utc.year(),
        utc.month(),
        utc.day(),
        utc.hour(),
        utc.minute(),
        utc.second()
    )
    .into_bytes();
    let digits = precision.digits();
    if digits > 0 {
        out.push(b'.');
        out.extend(
            fraction
                .iter()
                .copied()
                .chain(std::iter::repeat(b'0'))
                .take(digits),
        );
    }
    out.push(b'Z');
    Some(out)
}

/// The seconds of a zone: `Z`, or a sign with hours below 24 and minutes below 60.
fn offset(zone: &[u8]) -> Option<i32> {
    let (sign, [h1, h2, b':', m1, m2]) = (match zone {
        [b'Z' | b'z'] => return Some(0),
        [sign @ (b'+' | b'-'), rest @ ..] => (sign, <&[u8; 5]>::try_from(rest).ok()?),
        _ => return None,
    }) else {
        return None;
    };
    let hours = number(&[*h1, *h2]).filter(|hours| *hours < 24)?;
    let minutes = number(&[*m1, *m2]).filter(|minutes| *minutes < 60)?;
    let seconds = hours
        .checked_mul(60)?
        .checked_add(minutes)?
        .checked_mul(60)?;
    if *sign == b'-' {
        seconds.checked_neg()
    } else {
        Some(seconds)
    }
}

fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0_i32, |value, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        value
            .checked_mul(10)?
            .checked_add(i32::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, precision: Precision) -> Option<String> {
        normal(text.as_bytes(), precision).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn one_point_in_time_has_one_normal_form() {
        for text in [
            "2026-03-01T00:30:00Z",
            "2026-03-01t00:30:00z",
            "2026-03-01 00:30:00.000+00:00",
            "2026-02-28T23:30:00-01:00",
            "2026-03-01T06:15:00.9+05:45",
            "2026-03-01T00:30:00.123456789123-00:00",
        ] {
            let normal = at(text, Precision::Second);
            assert_eq!(normal.as_deref(), Some("2026-03-01T00:30:00Z"), "{text}");
        }
        assert_eq!(
            at("2024-02-29T23:59:59+00:00", Precision::Second).as_deref(),
            Some("2024-02-29T23:59:59Z")
        );
    }

    #[test]
    fn the_fraction_is_cut_to_the_precision_and_never_rounded() {
        let text = "2026-03-01T00:00:00.999999999999Z";
        for (precision, fraction) in [
            (Precision::Second, ""),
            (Precision::Millisecond, ".999"),
            (Precision::Microsecond, ".999999"),
            (Precision::Nanosecond, ".999999999"),
        ] {
            let expected = format!("2026-03-01T00:00:00{fraction}Z");
            assert_eq!(at(text, precision), Some(expected));
        }
        let padded = at("2026-03-01T00:00:00.5Z", Precision::Millisecond);
        assert_eq!(padded.as_deref(), Some("2026-03-01T00:00:00.500Z"));
        assert_eq!(
            padded
                .as_deref()
                .and_then(|text| at(text, Precision::Millisecond)),
            padded
        );
    }

    #[test]
    fn what_is_no_rfc_3339_time_has_no_normal_form() {
        for text in [
            "",
            "2026-03-01",
            "2026-03-01T00:00:00",
            "2026-03-01T00:00Z",
            "2026-02-30T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-03-01T24:00:00Z",
            "2016-12-31T23:59:60Z",
            "2026-03-01T00:00:00.Z",
            "2026-03-01T00:00:00+24:00",
            "2026-03-01T00:00:00+00:60",
            "2026-03-01T00:00:00+0000",
            "2026-03-01T00:00:00Z[UTC]",
            "2026-03-01T00:00:00ZZ",
            "+2026-03-01T00:00:00Z",
            "20260301T000000Z",
            "9999-12-31T23:59:59-01:00",
            "0000-01-01T00:00:00+01:00",
            " 2026-03-01T00:00:00Z",
        ] {
            assert_eq!(at(text, Precision::Second), None, "{text}");
        }
    }
}
