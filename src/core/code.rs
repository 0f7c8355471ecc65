//! The problem codes: every way in which the gate itself answers.
//!
//! Owns the codes with their names on the wire, titles, statuses and retry advice. It makes no
//! answer; a policy may choose another status, never another name or other advice. Every property
//! is an exhaustive match, so that a new code cannot be forgotten in one of them.

use crate::core::policy::Preset;

/// A problem code.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Code {
    /// The request has no key.
    KeyMissing,
    /// The key cannot be read in one way only.
    KeyMalformed,
    /// The body cannot be read as what it says it is.
    CommandMalformed,
    /// Another spelling of the target of a protected operation.
    TargetAmbiguous,
    /// No operation has this target, and the policy refuses such requests.
    TargetUnmatched,
    /// The request does not say who it is from.
    PrincipalMissing,
    /// The credentials change between attempts.
    PrincipalUnstable,
    /// The credentials do not hold.
    PrincipalInvalid,
    /// The key is bound to another command.
    KeyReused,
    /// The first request is still running.
    InProgress,
    /// Nobody knows what the first request did.
    OutcomeUnknown,
    /// The command has succeeded before.
    Duplicate,
    /// The reply window of the key has passed.
    KeyExpired,
    /// The command is settled, but its reply is not kept.
    ReplyUnavailable,
    /// The body is longer than the operation takes.
    BodyTooLarge,
    /// The principal makes new keys too fast.
    TooManyNewKeys,
    /// There is no such record for this principal.
    RecordNotFound,
    /// The origin gave no answer.
    OriginUnreachable,
    /// The origin took too long.
    OriginTimeout,
    /// The gate cannot do its work safely.
    GateUnavailable,
}

/// What a client should do after a gate-made answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Retry {
    /// Send the same request with the same key again, later.
    SameKey,
    /// Take a new key, if a second operation is meant.
    NewKey,
    /// Do not send it again; look at the status of the operation.
    Never,
    /// Repair the request first.
    AfterFixing,
}

impl Code {
    /// Every code, in the order of the documentation.
    pub const ALL: [Self; 20] = [
        Self::KeyMissing,
        Self::KeyMalformed,
        Self::CommandMalformed,
        Self::TargetAmbiguous,
        Self::TargetUnmatched,
        Self::PrincipalMissing,
        Self::PrincipalUnstable,
        Self::PrincipalInvalid,
        Self::KeyReused,
        Self::InProgress,
        Self::OutcomeUnknown,
        Self::Duplicate,
        Self::KeyExpired,
        Self::ReplyUnavailable,
        Self::BodyTooLarge,
        Self::TooManyNewKeys,
        Self::RecordNotFound,
        Self::OriginUnreachable,
        Self::OriginTimeout,
        Self::GateUnavailable,
    ];

    /// The code with this name on the wire.
    #[must_use]
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.wire() == name)
    }

    /// The name on the wire.
    #[must_use]
    pub const fn wire(self) -> &'static str {
        match self {
            Self::KeyMissing => "key_missing",
            Self::KeyMalformed => "key_malformed",
            Self::CommandMalformed => "command_malformed",
            Self::TargetAmbiguous => "target_ambiguous",
            Self::TargetUnmatched => "target_unmatched",
            Self::PrincipalMissing => "principal_missing",
            Self::PrincipalUnstable => "principal_unstable",
            Self::PrincipalInvalid => "principal_invalid",
            Self::KeyReused => "key_reused",
            Self::InProgress => "in_progress",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Duplicate => "duplicate",
            Self::KeyExpired => "key_expired",
            Self::ReplyUnavailable => "reply_unavailable",
            Self::BodyTooLarge => "body_too_large",
            Self::TooManyNewKeys => "too_many_new_keys",
            Self::RecordNotFound => "record_not_found",
            Self::OriginUnreachable => "origin_unreachable",
            Self::OriginTimeout => "origin_timeout",
            Self::GateUnavailable => "gate_unavailable",
        }
    }

    /// A short summary for people, the same for every occurrence.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::KeyMissing => "The idempotency key is missing",
            Self::KeyMalformed => "The idempotency key is malformed",
            Self::CommandMalformed => "The request body is malformed",
            Self::TargetAmbiguous => "The request target is ambiguous",
            Self::TargetUnmatched => "No operation has this target",
            Self::PrincipalMissing => "The request carries no credentials",
            Self::PrincipalUnstable => "The credentials change between attempts",
            Self::PrincipalInvalid => "The credentials are not valid",
            Self::KeyReused => "The idempotency key belongs to another request",
            Self::InProgress => "The first request with this key is still running",
            Self::OutcomeUnknown => "The outcome of this operation is not known yet",
            Self::Duplicate => "This operation has already been done",
            Self::KeyExpired => "The idempotency key has expired",
            Self::ReplyUnavailable => "The reply of this operation is not kept",
            Self::BodyTooLarge => "The request body is too large",
            Self::TooManyNewKeys => "Too many new idempotency keys",
            Self::RecordNotFound => "There is no such operation",
            Self::OriginUnreachable => "The origin cannot be reached",
            Self::OriginTimeout => "The origin did not answer in time",
            Self::GateUnavailable => "The idempotency gate is not available",
        }
    }

    /// The status that this code has where the policy chooses none.
    #[must_use]
    pub const fn status(self, preset: Preset) -> u16 {
        match self {
            Self::KeyMissing
            | Self::KeyMalformed
            | Self::CommandMalformed
            | Self::TargetAmbiguous => 400,
            Self::PrincipalMissing | Self::PrincipalUnstable | Self::PrincipalInvalid => 401,
            Self::TargetUnmatched | Self::RecordNotFound => 404,
            Self::KeyReused => match preset {
                Preset::Default => 409,
                Preset::Ietf => 422,
                Preset::Stripe => 400,
            },
            Self::InProgress | Self::OutcomeUnknown => match preset {
                Preset::Default => 202,
                Preset::Ietf | Preset::Stripe => 409,
            },
            Self::Duplicate | Self::KeyExpired | Self::ReplyUnavailable => 409,
            Self::BodyTooLarge => 413,
            Self::TooManyNewKeys => 429,
            Self::OriginUnreachable => 502,
            Self::GateUnavailable => 503,
            Self::OriginTimeout => 504,
        }
    }

    /// What the client should do.
    #[must_use]
    pub const fn retry(self) -> Retry {
        match self {
            Self::InProgress
            | Self::OutcomeUnknown
            | Self::TooManyNewKeys
            | Self::OriginUnreachable
            | Self::OriginTimeout
            | Self::GateUnavailable => Retry::SameKey,
            Self::KeyReused => Retry::NewKey,
            Self::Duplicate | Self::KeyExpired | Self::ReplyUnavailable => Retry::Never,
            Self::KeyMissing
            | Self::KeyMalformed
            | Self::CommandMalformed
            | Self::TargetAmbiguous
            | Self::TargetUnmatched
            | Self::PrincipalMissing
            | Self::PrincipalUnstable
            | Self::PrincipalInvalid
            | Self::BodyTooLarge
            | Self::RecordNotFound => Retry::AfterFixing,
        }
    }

    /// Whether this is one of the two pending answers.
    #[must_use]
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::InProgress | Self::OutcomeUnknown)
    }

    /// Whether this asks the client for credentials.
    #[must_use]
    pub const fn is_challenge(self) -> bool {
        matches!(
            self,
            Self::PrincipalMissing | Self::PrincipalUnstable | Self::PrincipalInvalid
        )
    }
}

impl Retry {
    /// The value of the header `Oncegate-Retry`.
    #[must_use]
    pub const fn wire(self) -> &'static str {
        match self {
            Self::SameKey => "same-key",
            Self::NewKey => "new-key",
            Self::Never => "never",
            Self::AfterFixing => "after-fixing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own_and_is_found_by_it() {
        for code in Code::ALL {
            assert_eq!(Code::from_wire(code.wire()), Some(code));
        }
        assert_eq!(Code::from_wire("key_lost"), None);
    }

    #[test]
    fn the_presets_differ_in_three_codes_only() {
        let row = |code: Code| {
            [Preset::Default, Preset::Ietf, Preset::Stripe].map(|preset| code.status(preset))
        };
        assert_eq!(row(Code::KeyReused), [409, 422, 400]);
        assert_eq!(row(Code::InProgress), [202, 409, 409]);
        assert_eq!(row(Code::OutcomeUnknown), [202, 409, 409]);
        for code in Code::ALL {
            let [default, ietf, stripe] = row(code);
            let same = default == ietf && ietf == stripe;
            assert_eq!(
                same,
                code != Code::KeyReused && !code.is_pending(),
                "{code:?}"
            );
        }
    }

    #[test]
    fn only_a_pending_answer_is_no_error() {
        for code in Code::ALL {
            let status = code.status(Preset::Default);
            assert_eq!(status < 400, code.is_pending(), "{code:?}");
            assert_eq!(status == 401, code.is_challenge(), "{code:?}");
        }
    }
}
