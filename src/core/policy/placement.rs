//! The `placement` table of an operation: where its objects are.
//!
//! Owns its spelling. A jurisdiction is part of the identity of every key, since objects of one
//! name in two jurisdictions are two; a hint only counts when an object is made.

#[cfg(feature = "cli")]
use super::declare::Kind;
use super::declare::{Choice, Decl, field};
use super::reader::{Faults, Field, Table};

/// Where the objects of an operation are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Placement {
    /// The jurisdiction that they never leave.
    pub jurisdiction: Option<&'static str>,
    /// The region that they are made in, if it can be.
    pub hint: Option<&'static str>,
}

const JURISDICTION: Choice<&str> = Choice {
    name: "jurisdiction",
    built: &[("eu", "eu"), ("us", "us"), ("fedramp", "fedramp")],
    default: None,
};

const HINT: Choice<&str> = Choice {
    name: "hint",
    built: &[
        ("wnam", "wnam"),
        ("enam", "enam"),
        ("sam", "sam"),
        ("weur", "weur"),
        ("eeur", "eeur"),
        ("apac", "apac"),
        ("apac-ne", "apac-ne"),
        ("apac-se", "apac-se"),
        ("oc", "oc"),
        ("afr", "afr"),
        ("me", "me"),
    ],
    default: None,
};

/// The fields of `placement`.
pub(super) static FIELDS: &[Decl] = &[
    field!(
        JURISDICTION.name,
        Kind::Words(&JURISDICTION),
        "Where records are kept and never leave; part of the identity of every key."
    ),
    field!(
        HINT.name,
        Kind::Words(&HINT),
        "The region in which new objects are made, if it can be."
    ),
];

/// Reads `placement`.
pub(super) fn read(table: &Table<'_>, faults: &mut Faults) -> Option<Placement> {
    let inner = match table.table("placement", &FIELDS, faults) {
        Field::Absent => return Some(Placement::default()),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let jurisdiction = JURISDICTION.read(&inner, faults).optional();
    let hint = HINT.read(&inner, faults).optional();
    Some(Placement {
        jurisdiction: jurisdiction?,
        hint: hint?,
    })
}
