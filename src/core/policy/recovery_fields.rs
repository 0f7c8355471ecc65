//! The fields of `recovery` and of its verdicts, declared.
//!
//! Owns their names, words and defaults, and the line that tells people what each is for; how they
//! are read, and what they say together, is `recovery`'s.

use super::declare::{Choice, Decl, Duration, Flag, field};
#[cfg(feature = "cli")]
use super::declare::{Form, Kind, forms};
use crate::core::recovery::Ruling;
use crate::core::time::Span;

pub(super) const THEN: Choice<Then> = Choice {
    name: "then",
    built: &[
        ("hold", Then::Hold),
        ("reconcile", Then::Reconcile),
        ("rerun", Then::Rerun),
    ],
    // It depends on the effect.
    default: None,
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Then {
    Hold,
    Reconcile,
    Rerun,
}

pub(super) const UNSCOPED: Flag = Flag {
    name: "probe_unscoped",
    default: false,
};

pub(super) const ESCALATE_AFTER: Duration = Duration {
    name: "escalate_after",
    default: Span::seconds(3_600),
};

/// The fields of `recovery`; all but `then` go with `then = "reconcile"` only.
pub(super) static FIELDS: &[Decl] = &[
    field!(
        THEN.name,
        Kind::Words(&THEN),
        "Ask the origin, hold until somebody settles it, or run again; effect sets the default."
    ),
    field!(
        "probe",
        Kind::Text(Form {
            pattern: "^GET /[^ ]*$",
            examples: &["GET /v1/payments?reference={reference}"],
        }),
        "The question to the origin; must contain {reference}."
    ),
    field!(
        UNSCOPED.name,
        UNSCOPED.kind(),
        "Dangerous: allows a probe without {reference}."
    ),
    field!(
        "confirm",
        Kind::Map(forms::POINTER, &Kind::Text(forms::ANY)),
        "Values that the probe's answer must have to be about this operation."
    ),
    field!(
        "settle_after",
        Kind::Duration(None),
        "How long after the outcome became unknown \"not applied\" counts; else the lease."
    ),
    field!(
        "schedule",
        Kind::Default(
            r#"["2s", "5s", "15s", "60s", "5m"]"#,
            &Kind::List(1, &Kind::Duration(None))
        ),
        "The pauses before the probes; the last one repeats."
    ),
    field!(
        ESCALATE_AFTER.name,
        ESCALATE_AFTER.kind(),
        "When a record that is still unknown needs an operator."
    ),
    field!(
        "verdicts",
        Kind::List(1, &Kind::Table(|| RULE)),
        "What the probe's answers mean; the first rule that matches decides."
    ),
    field!(
        "reply_pointer",
        Kind::Text(forms::POINTER),
        "Where in the probe's answer the receipt is; all of it, if not written."
    ),
    field!(
        "reply_status",
        Kind::Default("200", &Kind::Number(200, Some(299))),
        "The status of a receipt that is rebuilt from the probe."
    ),
    field!(
        "failed_status",
        Kind::Default("422", &Kind::Number(400, Some(499))),
        "The status of a failure that the probe found."
    ),
];

pub(super) const RULING: Choice<Ruling> = Choice {
    name: "verdict",
    built: &[
        ("applied", Ruling::Applied),
        ("not_applied", Ruling::NotApplied),
        ("failed", Ruling::Failed),
        ("pending", Ruling::Pending),
    ],
    default: None,
};

/// The fields of a rule of `verdicts`.
pub(super) static RULE: &[Decl] = &[
    field!(
        required "status",
        Kind::Either(&[forms::STATUS, Kind::List(1, &forms::STATUS)]),
        "The statuses that the rule is about."
    ),
    field!(
        "pointer",
        Kind::Text(forms::POINTER),
        "Where in the answer to look."
    ),
    field!("equals", Kind::Anything, "The value that must be there."),
    field!(
        "one_of",
        Kind::List(1, &Kind::Anything),
        "The values of which one must be there."
    ),
    field!(
        "length",
        Kind::Number(0, None),
        "The length of the array that must be there."
    ),
    field!(
        required RULING.name,
        Kind::Words(&RULING),
        "What that says about the operation."
    ),
];
