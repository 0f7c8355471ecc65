//! What the origin's answer means.
//!
//! Owns the reading of a status and of the origin's own `Oncegate-Outcome`. It never looks at a
//! body and never at the record: what follows from a verdict is `step`'s. Certainty decides, not
//! success: whatever may have had an effect and did not say so is unknown.

use serde::{Deserialize, Serialize};

use super::policy::OutcomeLists;

/// What one answer says about its own attempt.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The effect happened.
    Completed,
    /// It did not happen and will not: the same command gets the same answer.
    Failed,
    /// Certainly without effect: the same command may run again.
    Retryable,
    /// This caller could not claim the key: as if it had never asked.
    NotClaimed,
    /// Nobody knows.
    Unknown(Reason),
}

/// Why an outcome is unknown.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The connection ended before the head of an answer.
    ConnectionLost,
    /// The lease passed without a result.
    LeaseLapsed,
    /// The origin itself says that it does not know.
    OriginSaid,
    /// No head of an answer within the origin time-out.
    OriginTimeout,
    /// A later attempt failed while an earlier one is unresolved.
    RerunRefused,
    /// A status that may stand for an effect.
    Status(u16),
}

/// The header in which an origin states the outcome itself.
pub const OUTCOME_HEADER: &str = "oncegate-outcome";

/// What an origin may write into [`OUTCOME_HEADER`]; anything else counts as absent.
#[must_use]
pub fn stated(value: &str) -> Option<Verdict> {
    match value.trim_matches([' ', '\t']) {
        "completed" => Some(Verdict::Completed),
        "failed" => Some(Verdict::Failed),
        "retry" => Some(Verdict::Retryable),
        "unknown" => Some(Verdict::Unknown(Reason::OriginSaid)),
        _ => None,
    }
}

/// Reads an answer: the origin's own word, then the operation's lists, then the defaults.
#[must_use]
pub fn classify(status: u16, stated: Option<Verdict>, lists: &OutcomeLists) -> Verdict {
    if let Some(verdict) = stated {
        return verdict;
    }
    if lists.final_.contains(&status) {
        return if status < 400 {
            Verdict::Completed
        } else {
            Verdict::Failed
        };
    }
    if lists.retryable.contains(&status) {
        return Verdict::Retryable;
    }
    if lists.ambiguous.contains(&status) {
        return Verdict::Unknown(Reason::Status(status));
    }
    match status {
        200..=299 | 303 => Verdict::Completed,
        401 | 403 | 407 => Verdict::NotClaimed,
        307 | 308 | 415 | 421 | 425 | 429 => Verdict::Retryable,
        408 => Verdict::Unknown(Reason::Status(status)),
        400..=499 | 501 | 505 => Verdict::Failed,
        _ => Verdict::Unknown(Reason::Status(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_default(status: u16) -> Verdict {
        classify(status, None, &OutcomeLists::default())
    }

    #[test]
    fn every_status_has_its_default_meaning() {
        for status in 0..=999 {
            let expected = match status {
                303 => Verdict::Completed,
                _ if (200..300).contains(&status) => Verdict::Completed,
                401 | 403 | 407 => Verdict::NotClaimed,
                307 | 308 | 415 | 421 | 425 | 429 => Verdict::Retryable,
                501 | 505 => Verdict::Failed,
                _ if (400..500).contains(&status) && status != 408 => Verdict::Failed,
                _ => Verdict::Unknown(Reason::Status(status)),
            };
            assert_eq!(by_default(status), expected, "{status}");
        }
    }

    #[test]
    fn the_origins_word_comes_first_and_then_the_lists() {
        let lists = OutcomeLists {
            final_: vec![302, 500],
            retryable: vec![402, 503],
            ambiguous: vec![429, 200],
        };
        assert_eq!(classify(500, None, &lists), Verdict::Failed);
        assert_eq!(classify(302, None, &lists), Verdict::Completed);
        assert_eq!(classify(402, None, &lists), Verdict::Retryable);
        assert_eq!(classify(503, None, &lists), Verdict::Retryable);
        assert_eq!(
            classify(429, None, &lists),
            Verdict::Unknown(Reason::Status(429))
        );
        assert_eq!(
            classify(200, None, &lists),
            Verdict::Unknown(Reason::Status(200))
        );
        assert_eq!(
            classify(500, stated("completed"), &lists),
            Verdict::Completed
        );
        assert_eq!(classify(200, stated("retry"), &lists), Verdict::Retryable);
        assert_eq!(
            classify(422, stated("unknown"), &lists),
            Verdict::Unknown(Reason::OriginSaid)
        );
    }

    #[test]
    fn a_malformed_word_of_the_origin_counts_as_absent() {
        for word in ["", "Completed", "done", "failed;x", "completed, failed"] {
            assert_eq!(stated(word), None, "{word}");
        }
        assert_eq!(stated(" failed "), Some(Verdict::Failed));
    }
}
