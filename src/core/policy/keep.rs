//! The `keep` table of an operation: what is stored of an answer, and for how long.
//!
//! Owns its spelling and its defaults; what is done with it is `core::reply`'s and the shell's.
//! Where no reply is ever replayed, none is kept unless the policy says so.

use super::reader::{Faults, Field, Names, Table, quote, string};
use super::{Keep, KeepReply, OnRepeat, fields::MOST_BYTES, values};
use crate::core::command::Pointer;
use crate::core::time::Span;

const NAMES: Names<'_> = Names {
    built: &[
        "reply",
        "for",
        "tombstone",
        "max_reply",
        "fields",
        "headers",
        "encrypt",
    ],
    planned: &[],
};

const DAY: Span = Span::seconds(86_400);

/// Reads `keep`.
pub(super) fn read(
    table: &Table<'_>,
    on_repeat: Option<OnRepeat>,
    faults: &mut Faults,
) -> Option<Keep> {
    let defaults = defaults(on_repeat);
    let inner = match table.table("keep", &NAMES, faults) {
        Field::Absent => return Some(defaults),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let replies = [
        ("full", KeepReply::Full),
        ("reference", KeepReply::Reference),
        ("none", KeepReply::None),
    ];
    let reply = inner
        .choice("reply", &replies, &[], faults)
        .or(defaults.reply);
    let for_ = inner.span("for", faults).or(defaults.for_);
    let tombstone = inner.span("tombstone", faults).or(defaults.tombstone);
    let max_reply = inner
        .size("max_reply", MOST_BYTES, faults)
        .or(defaults.max_reply);
    let fields = list(&inner, "fields", member_path, faults);
    let headers = list(&inner, "headers", kept_header, faults);
    let encrypt = inner.flag("encrypt", faults).or(false);
    if let (Some(for_), Some(tombstone)) = (for_, tombstone)
        && tombstone < for_
    {
        faults.add(
            inner.path("tombstone"),
            "must be at least as long as keep.for (defaults: for 24h, tombstone 30d)",
        );
    }
    if inner.get("fields").is_some() && !matches!(reply, None | Some(KeepReply::Reference)) {
        faults.add(
            inner.path("fields"),
            "goes with keep.reply = \"reference\" only: \"full\" keeps every field, \"none\" none",
        );
    }
    Some(Keep {
        reply: reply?,
        for_: for_?,
        tombstone: tombstone?,
        max_reply: max_reply?,
        fields: fields?,
        headers: headers?,
        encrypt: encrypt?,
    })
}

fn defaults(on_repeat: Option<OnRepeat>) -> Keep {
    Keep {
        reply: match on_repeat {
            Some(OnRepeat::Acknowledge | OnRepeat::Refuse) => KeepReply::None,
            Some(OnRepeat::Replay) | None => KeepReply::Full,
        },
        for_: DAY,
        tombstone: Span(DAY.0.saturating_mul(30)),
        max_reply: 4 << 20,
        fields: Vec::new(),
        headers: Vec::new(),
        encrypt: false,
    }
}

fn list<T>(
    table: &Table<'_>,
    name: &str,
    read: fn(&str) -> Result<T, String>,
    faults: &mut Faults,
) -> Option<Vec<T>> {
    let items = table.list(name, faults).or(&[])?;
    let mut values = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let path = format!("{}[{n}]", table.path(name));
        let text = string(item, &path, faults);
        values.extend(text.and_then(|text| faults.check(&path, read(text))));
    }
    (values.len() == items.len()).then_some(values)
}

/// A pointer through objects alone: what is kept of an array would not be that array.
fn member_path(text: &str) -> Result<Pointer, String> {
    let pointer = Pointer::parse(text).map_err(|why| format!("{}: {why}", quote(text)))?;
    let item = |token: &String| token == "*" || token.bytes().all(|byte| byte.is_ascii_digit());
    if pointer.tokens().is_empty() || pointer.tokens().iter().any(item) {
        return Err(format!(
            "{} must name a member of an object, not an item",
            quote(text)
        ));
    }
    Ok(pointer)
}

/// A header that a replay may carry: not one that speaks of this connection or of this moment.
fn kept_header(text: &str) -> Result<String, String> {
    const NEVER: [&str; 13] = [
        "age",
        "connection",
        "content-length",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "retry-after",
        "server",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "www-authenticate",
    ];
    let name = values::header(text)?;
    let cors = name.starts_with("access-control-");
    if NEVER.contains(&name.as_str()) || cors || name.starts_with("oncegate-") {
        return Err(format!(
            "{} belongs to one exchange and is never replayed",
            quote(text)
        ));
    }
    Ok(name)
}
