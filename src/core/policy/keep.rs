//! The `keep` table of an operation: what is stored of an answer, and for how long.
//!
//! Owns its spelling and its defaults; what is done with it is `core::reply`'s and the shell's.
//! Where no reply is ever replayed, none is kept unless the policy says so.

use super::declare::{Choice, Decl, Duration, Flag, Size, field};
#[cfg(feature = "cli")]
use super::declare::{Kind, forms};
use super::declared::MOST_BYTES;
use super::reader::{Faults, Field, Table, quote, string};
use super::{Keep, KeepReply, OnRepeat, values};
use crate::core::command::Pointer;
use crate::core::time::Span;

pub(super) const REPLY: Choice<KeepReply> = Choice {
    name: "reply",
    built: &[
        ("full", KeepReply::Full),
        ("reference", KeepReply::Reference),
        ("none", KeepReply::None),
    ],
    // It depends on what repeats get.
    default: None,
};

const FOR: Duration = Duration {
    name: "for",
    default: Span::seconds(DAY),
};

const TOMBSTONE: Duration = Duration {
    name: "tombstone",
    default: Span::seconds(DAY.saturating_mul(30)),
};

const MAX_REPLY: Size = Size {
    name: "max_reply",
    default: 4 << 20,
    most: MOST_BYTES,
};

const ENCRYPT: Flag = Flag {
    name: "encrypt",
    default: false,
};

const DAY: u64 = 86_400;

/// The fields of `keep`.
pub(super) static FIELDS: &[Decl] = &[
    field!(
        REPLY.name,
        Kind::Words(&REPLY),
        "How much is kept: full under on_repeat = \"replay\", else none, if nothing is written."
    ),
    field!(
        FOR.name,
        FOR.kind(),
        "How long the reply can be replayed, from completion."
    ),
    field!(
        TOMBSTONE.name,
        TOMBSTONE.kind(),
        "How long the key is remembered, from completion; at least as long as for."
    ),
    field!(
        MAX_REPLY.name,
        MAX_REPLY.kind(),
        "The longest body that is kept; a longer one is passed on and cannot be replayed."
    ),
    field!(
        "fields",
        Kind::List(0, &Kind::Text(forms::POINTER)),
        "The members of a JSON body that are kept; with reply = \"reference\" only."
    ),
    field!(
        "headers",
        Kind::List(0, &Kind::Text(forms::HEADER)),
        "Further headers of the answer that are kept and replayed."
    ),
    field!(
        ENCRYPT.name,
        ENCRYPT.kind(),
        "Whether what is kept is encrypted with the secret ONCEGATE_RECORD_SECRET."
    ),
];

/// Reads `keep`.
pub(super) fn read(
    table: &Table<'_>,
    on_repeat: Option<OnRepeat>,
    faults: &mut Faults,
) -> Option<Keep> {
    let defaults = defaults(on_repeat);
    let inner = match table.table("keep", &FIELDS, faults) {
        Field::Absent => return Some(defaults),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let reply = REPLY.read(&inner, faults).or(defaults.reply);
    let for_ = FOR.take(&inner, faults);
    let tombstone = TOMBSTONE.take(&inner, faults);
    let max_reply = MAX_REPLY.take(&inner, faults);
    let fields = list(&inner, "fields", member_path, faults);
    let headers = list(&inner, "headers", kept_header, faults);
    let encrypt = ENCRYPT.take(&inner, faults);
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
        for_: FOR.default,
        tombstone: TOMBSTONE.default,
        max_reply: MAX_REPLY.default,
        fields: Vec::new(),
        headers: Vec::new(),
        encrypt: ENCRYPT.default,
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
