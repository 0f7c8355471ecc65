//! The `acknowledge` table of an operation: what the sender of a duplicate gets.
//!
//! Owns its spelling. It can only be a success, because a duplicate is acknowledged after a success
//! only, and whoever gets anything else sends it again.

use super::OnRepeat;
use super::declare::{Decl, field};
#[cfg(feature = "cli")]
use super::declare::{Form, Kind, forms};
use super::reader::{Faults, Field, Table};

/// What the sender of a duplicate gets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Acknowledge {
    /// The status; the stored one where nothing is written.
    pub status: Option<u16>,
    /// The media type of the body.
    pub content_type: Option<String>,
    /// The body; none where nothing is written.
    pub body: String,
}

/// The longest body, in bytes.
const LONGEST: usize = 1_024;

/// The fields of `acknowledge`.
pub(super) static FIELDS: &[Decl] = &[
    field!(
        "status",
        Kind::Number(200, Some(299)),
        "The status, a success; the stored one if nothing is written."
    ),
    field!(
        "content_type",
        Kind::Text(Form {
            pattern: "^[!-~]+/[ -~]+$",
            examples: &["text/plain", "application/json"],
        }),
        "The media type of the body."
    ),
    field!(
        "body",
        Kind::Text(forms::ANY),
        "The body: a text of at most 1,024 bytes; none if nothing is written."
    ),
];

/// Reads `acknowledge`.
pub(super) fn read(
    table: &Table<'_>,
    on_repeat: Option<OnRepeat>,
    faults: &mut Faults,
) -> Option<Acknowledge> {
    const NAME: &str = "acknowledge";
    let inner = match table.table(NAME, &FIELDS, faults) {
        Field::Absent => return Some(Acknowledge::default()),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    if matches!(on_repeat, Some(OnRepeat::Refuse | OnRepeat::Replay)) {
        let message = "goes with on_repeat = \"acknowledge\" only";
        faults.add(table.path(NAME), message);
    }
    let status = match inner.get("status").map(serde_json::Value::as_u64) {
        None => Some(None),
        Some(Some(status @ 200..=299)) => Some(u16::try_from(status).ok()),
        Some(_) => {
            let message = "must be a success: a whole number from 200 to 299";
            faults.add(inner.path("status"), message);
            None
        }
    };
    let content_type = inner
        .text("content_type", faults, |text| {
            let shown = text.bytes().all(|b| matches!(b, b' '..=b'~'));
            match text.split_once('/') {
                Some((kind, rest)) if shown && !kind.is_empty() && !rest.is_empty() => {
                    Ok(text.to_owned())
                }
                _ => Err("must be a media type such as \"text/plain\"".to_owned()),
            }
        })
        .optional();
    let body = inner
        .text("body", faults, |text| match text.len() {
            0..=LONGEST => Ok(text.to_owned()),
            _ => Err("can have 1,024 bytes at most".to_owned()),
        })
        .optional();
    let (status, content_type) = (status?, content_type?);
    let body = body?.unwrap_or_default();
    if !body.is_empty() && matches!(status, Some(204 | 205)) {
        faults.add(inner.path("body"), "an answer of this status has no body");
    }
    if body.is_empty() && content_type.is_some() {
        faults.add(inner.path("content_type"), "describes a body: write body");
    }
    Some(Acknowledge {
        status,
        content_type,
        body,
    })
}
