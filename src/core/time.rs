//! Points in time and spans, in whole milliseconds.
//!
//! Owns the two units and the way a policy spells a span. It never reads a clock: the shell gives
//! the time with every event. It is correct because the two types cannot be mixed up (a deadline
//! plus a deadline does not compile) and all arithmetic saturates.

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the Unix epoch, as the object's own clock says.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Millis {
    /// The point one span later.
    #[must_use]
    pub fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The time left from `now` until this point; nothing once it has passed.
    #[must_use]
    pub fn left(self, now: Self) -> Span {
        Span(self.0.saturating_sub(now.0))
    }

    /// The point in RFC 3339, in UTC; nothing beyond the year 9999.
    #[must_use]
    pub fn rfc3339(self) -> Option<String> {
        let at = jiff::Timestamp::from_millisecond(i64::try_from(self.0).ok()?).ok()?;
        Some(format!("{at:.3}"))
    }

    /// Whether this point has come.
    #[must_use]
    pub fn passed(self, now: Self) -> bool {
        now >= self
    }
}

impl Span {
    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// The span in seconds for a `Retry-After` header: rounded up and never 0.
    #[must_use]
    pub fn retry_after(self) -> u64 {
        self.0.div_ceil(1_000).max(1)
    }

    /// Reads `250ms`, `30s`, `10m`, `24h` or `30d`.
    ///
    /// A span of zero, a sign, a fraction or more than 10 years is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        const LONGEST: u64 = 10 * 366 * 86_400_000;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at_checked(digits)?;
        let unit = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        let number: u64 = number.parse().ok()?;
        let span = number.checked_mul(unit)?;
        (span > 0 && span <= LONGEST).then_some(Self(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_whole_number_with_a_unit() {
        for (text, ms) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("10m", 600_000),
            ("24h", 86_400_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(Span::parse(text), Some(Span(ms)), "{text}");
        }
        for text in [
            "", "0s", "s", "1", "1.5s", "-1s", "+1s", "1 s", "1S", "9999999d", "1ms ",
        ] {
            assert_eq!(Span::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_point_is_shown_in_utc() {
        assert_eq!(
            Millis(1_764_599_400_120).rfc3339().as_deref(),
            Some("2025-12-01T14:30:00.120Z")
        );
        assert_eq!(Millis(u64::MAX).rfc3339(), None);
    }

    #[test]
    fn a_retry_hint_is_rounded_up_and_never_zero() {
        assert_eq!(Span(0).retry_after(), 1);
        assert_eq!(Span(1_000).retry_after(), 1);
        assert_eq!(Span(1_001).retry_after(), 2);
    }
}
