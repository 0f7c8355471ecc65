//! The published keys that tokens are verified with, as one isolate knows them.
//!
//! Owns how long they count and when they are fetched again. It fetches nothing. It is safe to
//! lose, and bounded in age: a key that its issuer has withdrawn is believed for an hour at most,
//! and that only while its publisher cannot be reached. A token that names a key of nobody makes
//! them be fetched once a minute at most, so that nobody can have the publisher flooded.

use super::jwt::Key;
use super::time::{Millis, Span};

/// For how long keys are used without asking again.
const FRESH: Span = Span::seconds(600);
/// For how long keys are used whose publisher does not answer.
const USABLE: Span = Span::seconds(3_600);
/// How often a key of nobody makes them be fetched.
const UNKNOWN_AGAIN: Span = Span::seconds(60);
/// How soon a fetch that failed is tried again.
const FAILED_AGAIN: Span = Span::seconds(5);
/// How long a fetch may take.
pub const PATIENCE: Span = Span::seconds(5);

/// What is known of the keys.
#[derive(Debug, Default)]
pub struct Keys {
    known: Option<(Vec<Key>, Millis)>,
    /// When the last fetch began.
    tried: Option<Millis>,
    /// Whether it is still under way.
    open: bool,
    /// Whether it failed.
    failed: bool,
}

/// What to do for somebody who needs a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// Fetch the keys.
    Fetch,
    /// There is no such key.
    Refuse,
    /// The keys cannot be had now.
    Unreachable,
    /// Use what is known.
    Use,
    /// Somebody fetches them: look again soon.
    Wait,
}

impl Keys {
    /// What to do; `unknown` for somebody whose key is not among those that are known.
    #[must_use]
    pub fn next(&self, unknown: bool, now: Millis) -> Next {
        let since = |span: Span| self.tried.is_none_or(|tried| tried.after(span).passed(now));
        let younger = |span: Span| {
            let known = self.known.as_ref();
            known.is_some_and(|(_, at)| !at.after(span).passed(now))
        };
        // One that was cut off with its request is not waited for.
        let open = self.open && !since(PATIENCE);
        match (unknown, younger(FRESH)) {
            (false, true) => Next::Use,
            _ if open && unknown => Next::Wait,
            (true, true) if since(UNKNOWN_AGAIN) => Next::Fetch,
            (true, true) if self.failed => Next::Unreachable,
            (true, true) => Next::Refuse,
            (_, false) if open && younger(USABLE) => Next::Use,
            (_, false) if open => Next::Wait,
            (_, false) if since(FAILED_AGAIN) => Next::Fetch,
            (false, false) if younger(USABLE) => Next::Use,
            (_, false) => Next::Unreachable,
        }
    }

    /// A fetch begins.
    pub fn begin(&mut self, now: Millis) {
        self.tried = Some(now);
        self.open = true;
    }

    /// A fetch ended, with the keys or without.
    pub fn end(&mut self, keys: Option<Vec<Key>>, now: Millis) {
        self.open = false;
        self.failed = keys.is_none();
        if let Some(keys) = keys {
            self.known = Some((keys, now));
        }
    }

    /// The keys that are known.
    #[must_use]
    pub fn known(&self) -> &[Key] {
        self.known.as_ref().map_or(&[], |(keys, _)| keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Millis {
        Millis(1_000_000).after(Span::seconds(seconds))
    }

    fn fetched() -> Keys {
        let mut keys = Keys::default();
        assert_eq!(keys.next(false, at(0)), Next::Fetch);
        keys.begin(at(0));
        keys.end(Some(Vec::new()), at(0));
        keys
    }

    #[test]
    fn keys_are_fetched_once_and_used_for_ten_minutes() {
        let keys = fetched();
        assert_eq!(keys.next(false, at(599)), Next::Use);
        assert_eq!(keys.next(false, at(600)), Next::Fetch);
    }

    #[test]
    fn a_key_of_nobody_makes_them_be_fetched_once_a_minute_at_most() {
        let mut keys = fetched();
        assert_eq!(keys.next(true, at(59)), Next::Refuse);
        assert_eq!(keys.next(true, at(60)), Next::Fetch);
        keys.begin(at(60));
        assert_eq!(keys.next(true, at(61)), Next::Wait, "it may be among them");
        assert_eq!(keys.next(false, at(61)), Next::Use);
        keys.end(Some(Vec::new()), at(62));
        assert_eq!(keys.next(true, at(62)), Next::Refuse);
        assert_eq!(keys.next(true, at(119)), Next::Refuse);
        assert_eq!(keys.next(true, at(120)), Next::Fetch);
    }

    #[test]
    fn a_publisher_that_does_not_answer_is_no_reason_to_refuse_anybody() {
        let mut keys = Keys::default();
        keys.begin(at(0));
        assert_eq!(keys.next(false, at(1)), Next::Wait);
        keys.end(None, at(2));
        assert_eq!(keys.next(false, at(4)), Next::Unreachable);
        assert_eq!(keys.next(true, at(4)), Next::Unreachable);
        assert_eq!(keys.next(false, at(5)), Next::Fetch);
    }

    #[test]
    fn old_keys_serve_an_hour_while_their_publisher_does_not_answer() {
        let mut keys = fetched();
        keys.begin(at(700));
        assert_eq!(keys.next(false, at(701)), Next::Use);
        keys.end(None, at(702));
        assert_eq!(keys.next(false, at(703)), Next::Use);
        assert_eq!(keys.next(true, at(703)), Next::Unreachable);
        keys.begin(at(3_600));
        keys.end(None, at(3_600));
        assert_eq!(keys.next(false, at(3_601)), Next::Unreachable);
    }

    #[test]
    fn a_fetch_that_was_cut_off_is_begun_again() {
        let mut keys = Keys::default();
        keys.begin(at(0));
        assert_eq!(keys.next(false, at(4)), Next::Wait);
        assert_eq!(keys.next(false, at(5)), Next::Fetch);
    }
}
