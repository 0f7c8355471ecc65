//! The status of each gate-made answer of one operation.
//!
//! Owns how a preset, the school of the operation and the policy's own choices come together. It
//! knows nothing of bodies or headers. A choice that would lie (a refusal as 2xx, a challenge for
//! credentials that are not the matter) cannot be built.

use super::{OnRepeat, Preset};
use crate::core::code::Code;

/// The status of each gate-made answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statuses {
    preset: Preset,
    acknowledges: bool,
    /// The last choice for a code wins: those of the operation follow those of the whole policy.
    chosen: Vec<(Code, u16)>,
}

impl Statuses {
    /// The statuses under a preset, without any choice.
    #[must_use]
    pub fn new(preset: Preset, on_repeat: OnRepeat) -> Self {
        let acknowledges = on_repeat == OnRepeat::Acknowledge;
        Self {
            preset,
            acknowledges,
            chosen: Vec::new(),
        }
    }

    /// The wire habits that they come from.
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// Chooses the status of one code over all earlier choices.
    ///
    /// False, and nothing changed, if the code cannot have it.
    pub fn choose(&mut self, code: Code, status: u16) -> bool {
        let fits = Self::allowed(code, status);
        if fits {
            self.chosen.push((code, status));
        }
        fits
    }

    /// The status of an answer; the two pending codes are answered as pending.
    #[must_use]
    pub fn status(&self, code: Code) -> u16 {
        match self.choice(code) {
            Some(status) => status,
            // The one answer that every webhook sender takes for "not yet".
            None if self.acknowledges && code.is_pending() => 503,
            None => code.status(self.preset),
        }
    }

    /// The status of `in_progress` where the policy wants a conflict instead of a pending answer.
    #[must_use]
    pub fn conflict(&self) -> u16 {
        self.choice(Code::InProgress)
            .filter(|status| *status >= 400)
            .unwrap_or(409)
    }

    /// Whether a code can have a status.
    ///
    /// 401 asks for credentials; 405, 407 and 426 need headers that the gate does not have; 408 and
    /// 421 make clients send the request again by themselves.
    #[must_use]
    pub fn allowed(code: Code, status: u16) -> bool {
        match status {
            202 => code.is_pending(),
            401 => code.is_challenge(),
            405 | 407 | 408 | 421 | 426 => false,
            _ => (400..=599).contains(&status),
        }
    }

    fn choice(&self, code: Code) -> Option<u16> {
        self.chosen
            .iter()
            .rev()
            .find(|(known, _)| *known == code)
            .map(|(_, status)| *status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_choice_wins_over_the_preset_and_the_school() {
        let mut statuses = Statuses::new(Preset::Ietf, OnRepeat::Acknowledge);
        assert_eq!(statuses.status(Code::KeyReused), 422);
        assert_eq!(statuses.status(Code::InProgress), 503);
        assert_eq!(statuses.status(Code::OutcomeUnknown), 503);
        assert!(statuses.choose(Code::InProgress, 202));
        assert!(statuses.choose(Code::InProgress, 425));
        assert_eq!(statuses.status(Code::InProgress), 425);
        assert_eq!(statuses.status(Code::OutcomeUnknown), 503);
    }

    #[test]
    fn a_conflict_is_never_a_success() {
        let mut statuses = Statuses::new(Preset::Default, OnRepeat::Replay);
        assert_eq!(
            (statuses.status(Code::InProgress), statuses.conflict()),
            (202, 409)
        );
        assert!(statuses.choose(Code::InProgress, 202));
        assert_eq!(statuses.conflict(), 409);
        assert!(statuses.choose(Code::InProgress, 423));
        assert_eq!(
            (statuses.status(Code::InProgress), statuses.conflict()),
            (423, 423)
        );
    }

    #[test]
    fn a_status_that_would_lie_is_not_taken() {
        let mut statuses = Statuses::new(Preset::Default, OnRepeat::Replay);
        for (code, status) in [
            (Code::KeyReused, 200),
            (Code::KeyReused, 202),
            (Code::KeyReused, 401),
            (Code::InProgress, 200),
            (Code::InProgress, 303),
            (Code::Duplicate, 407),
            (Code::Duplicate, 600),
            (Code::Duplicate, 0),
        ] {
            assert!(!statuses.choose(code, status), "{code:?} {status}");
        }
        assert_eq!(statuses, Statuses::new(Preset::Default, OnRepeat::Replay));
        assert!(statuses.choose(Code::PrincipalMissing, 403));
    }
}
