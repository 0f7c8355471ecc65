//! Who may use what is stored: tokens, the question that allows a replay, trusted headers.
//!
//! Owns those fields and what they say together with the principal. An operation whose principal
//! anybody can write into a header, and which hands out receipts, is no policy.

#[cfg(feature = "cli")]
use super::declare::Form;
use super::declare::{Decl, Flag, field};
#[cfg(feature = "cli")]
use super::declare::{Kind, forms};
use super::reader::{Faults, Field, Table, quote, string};
use super::{OnRepeat, Principal};
use crate::core::jwt::Rules;

pub(super) const TRUSTED: Flag = Flag {
    name: "principal_trusted",
    default: false,
};

#[cfg(feature = "cli")]
pub(super) const QUESTION: Form = Form {
    pattern: "^GET /[^# ]*$",
    examples: &["GET /v1/me"],
};

/// The fields of `jwt`.
pub(super) static JWT: &[Decl] = &[
    field!(
        required "jwks",
        Kind::Text(Form {
            pattern: "^https?://[^#@]+$",
            examples: &["https://login.example.com/.well-known/jwks.json"],
        }),
        "Where the keys are published that tokens are signed with."
    ),
    field!(
        required "issuer",
        Kind::Text(forms::ANY),
        "Who has to have issued a token: its claim iss, to the letter."
    ),
    field!(
        required "audience",
        Kind::Either(&[Kind::Text(forms::ANY), Kind::List(1, &Kind::Text(forms::ANY))]),
        "For whom a token has to be: its claim aud, or one of several."
    ),
];

/// Reads the table `jwt` of the whole policy.
pub(super) fn jwt(table: &Table<'_>, faults: &mut Faults) -> Option<Option<Rules>> {
    let inner = match table.table("jwt", &JWT, faults) {
        Field::Absent => return Some(None),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let filled = |text: &str| match text.trim() {
        "" => Err("must not be empty".to_owned()),
        _ => Ok(text.to_owned()),
    };
    let jwks =
        inner
            .text("jwks", faults, key_set)
            .required(inner.path("jwks"), "\"https://...\"", faults);
    let issuer = inner.text("issuer", faults, filled).required(
        inner.path("issuer"),
        "the claim iss of the tokens",
        faults,
    );
    let audience = audience(&inner, filled, faults);
    Some(Some(Rules {
        jwks: jwks?,
        issuer: issuer?,
        audience: audience?,
    }))
}

fn audience(
    table: &Table<'_>,
    read: fn(&str) -> Result<String, String>,
    faults: &mut Faults,
) -> Option<Vec<String>> {
    const NAME: &str = "audience";
    let Some(items) = table.get(NAME).and_then(serde_json::Value::as_array) else {
        let wanted = "the claim aud of the tokens, or a list";
        let one = table.text(NAME, faults, read);
        return one
            .required(table.path(NAME), wanted, faults)
            .map(|one| vec![one]);
    };
    if items.is_empty() {
        faults.add(table.path(NAME), "must hold at least one audience");
        return None;
    }
    let mut found = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let path = format!("{}[{n}]", table.path(NAME));
        let text = string(item, &path, faults);
        found.extend(text.and_then(|text| faults.check(&path, read(text))));
    }
    (found.len() == items.len()).then_some(found)
}

/// Reads the address of a key set. Whoever can change it on the way is everybody: in the clear it
/// may only come from this machine.
fn key_set(text: &str) -> Result<String, String> {
    let after = |scheme| text.strip_prefix(scheme);
    let host = |rest: &str| {
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => authority,
        };
        host.to_owned()
    };
    let local = |rest: &str| matches!(host(rest).as_str(), "127.0.0.1" | "localhost" | "[::1]");
    let plain = text.bytes().all(|b| b.is_ascii_graphic()) && !text.contains(['#', '@', '\\']);
    let fits = match (after("https://"), after("http://")) {
        (Some(rest), _) => !host(rest).is_empty(),
        (None, Some(rest)) => local(rest),
        (None, None) => false,
    };
    if plain && fits {
        return Ok(text.to_owned());
    }
    Err(
        "must be an address that starts with \"https://\", without credentials or a fragment"
            .to_owned(),
    )
}

/// Reads what the origin is asked before anything stored is given out.
pub(super) fn authorize_replay(table: &Table<'_>, faults: &mut Faults) -> Option<Option<String>> {
    let question = table.text("authorize_replay", faults, |text| {
        let target = text.strip_prefix("GET ").filter(|it| it.starts_with('/'));
        let plain = |it: &&str| {
            it.bytes().all(|b| b.is_ascii_graphic())
                && !it.contains(['#', '\\', '{', '}'])
                && !it.starts_with("//")
        };
        match target.filter(plain) {
            Some(target) => Ok(target.to_owned()),
            None => Err(format!(
                "{} is not GET and a path of the origin, such as \"GET /v1/me\"",
                quote(text)
            )),
        }
    });
    question.optional()
}

/// What the fields say together: who must not be believed, and what is missing.
pub(super) fn check(
    table: &Table<'_>,
    principal: Option<&Principal>,
    on_repeat: Option<OnRepeat>,
    asks: bool,
    tokens: bool,
    faults: &mut Faults,
) -> Option<()> {
    let trusted = TRUSTED.take(table, faults)?;
    match principal? {
        Principal::Header(_) if on_repeat == Some(OnRepeat::Replay) && !trusted && !asks => {
            faults.add(
                table.path("principal"),
                "a header is whatever its sender writes: with on_repeat = \"replay\" it needs \
                 authorize_replay, or principal_trusted = true where something before the gate \
                 sets it",
            );
        }
        Principal::Jwt(_) if !tokens => faults.add(
            table.path("principal"),
            "needs the table jwt = { jwks, issuer, audience } at the top of the policy",
        ),
        Principal::Header(_) | Principal::Jwt(_) => {}
        Principal::Authorization { .. } | Principal::Cookie(_) | Principal::None if trusted => {
            faults.add(
                table.path(TRUSTED.name),
                "goes with a principal of the form header:NAME only",
            );
        }
        Principal::None if asks => faults.add(
            table.path("authorize_replay"),
            "the origin would be asked about nobody: principal is \"none\"",
        ),
        Principal::Authorization { .. } | Principal::Cookie(_) | Principal::None => {}
    }
    Some(())
}
