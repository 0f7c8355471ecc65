//! The pages behind the `type` of a problem, for people.
//!
//! Owns their text and their HTML. They hold nothing of any request or record: all that is in them
//! is this version's own words and, of the policy, names of operations and statuses. They run no
//! script and load nothing, and say so in their `Content-Security-Policy`.

use serde_json::Value;

use super::code::{Code, Retry};
use super::policy::{AfterWait, Operation, Policy, Statuses, WhileRunning};
use super::wire::{Message, WELL_KNOWN, facts, header, meaning, text};

/// What is the same for everybody may be kept for a little while: it changes with a deploy only,
/// and every answer of the gate speaks for itself.
pub(super) const CACHED: &str = "public, max-age=300";

/// The style of a page; its digest stands in [`POLICY`].
const STYLE: &str =
    "body{max-width:42rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}";

const POLICY: &str = "default-src 'none'; style-src \
     'sha256-0J+2fJ2LwLaOfao3DvFs9pRXeXv4NL1dZt7nd+bmZio='; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

/// The page of a problem, or the same as JSON.
#[must_use]
pub fn problem(code: Code, policy: Option<&Policy>, house: &Statuses, json: bool) -> Message {
    let status = house.status(code);
    if json {
        let document = Value::Object(facts(code, status, meaning(code)));
        return kept(
            200,
            "application/json",
            text(&document),
            &[("Vary", "Accept")],
        );
    }
    let mut statuses = status.to_string();
    for operation in policy.iter().flat_map(|policy| &policy.operations) {
        let own = self::status(operation, code);
        if own != status {
            statuses += &format!(", for {} {own}", operation.name);
        }
    }
    let main = format!(
        "<p><code>{}</code> {}.<p>Status: {statuses}.<p><code>Oncegate-Retry: {}</code> {}",
        code.wire(),
        escaped(meaning(code)),
        code.retry().wire(),
        escaped(advice(code.retry())),
    );
    page(code.title(), &main)
}

/// The list of all problems.
#[must_use]
pub fn problems() -> Message {
    let mut main = "<ul>".to_owned();
    for code in Code::ALL {
        let (name, title) = (code.wire(), escaped(code.title()));
        main += &format!("<li><a href=\"{WELL_KNOWN}/problems/{name}\">{name}</a> {title}");
    }
    page("Problems of this idempotency gate", &(main + "</ul>"))
}

/// The status that a problem has in an operation.
pub(super) fn status(operation: &Operation, code: Code) -> u16 {
    match operation.while_running {
        WhileRunning::Conflict
        | WhileRunning::Wait {
            then: AfterWait::Conflict,
            ..
        } if code == Code::InProgress => operation.statuses.conflict(),
        WhileRunning::Conflict | WhileRunning::Pending | WhileRunning::Wait { .. } => {
            operation.statuses.status(code)
        }
    }
}

/// What a client should do.
pub(super) const fn advice(retry: Retry) -> &'static str {
    match retry {
        Retry::SameKey => {
            "Send the same request with the same key again, after Retry-After. Never take a new \
             key: that would be a second operation."
        }
        Retry::NewKey => {
            "If a second operation is meant, send it with a new key. If not, the client has sent \
             something else than the first time."
        }
        Retry::Never => "Do not send it again. Look at the status of the operation.",
        Retry::AfterFixing => {
            "Repair the request as detail says, then send it again; the key is not used up."
        }
    }
}

fn page(title: &str, main: &str) -> Message {
    let title = escaped(title);
    let html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
         content=\"width=device-width\"><meta name=color-scheme content=\"light dark\">\
         <title>{title}</title><style>{STYLE}</style><main><h1>{title}</h1>{main}</main>\
         <p><a href=\"{WELL_KNOWN}/problems\">All problems</a>, \
         <a href=\"{WELL_KNOWN}\">what this gate does with keys</a>"
    );
    let safe = [
        ("Vary", "Accept"),
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", "nosniff"),
    ];
    kept(200, "text/html; charset=utf-8", html.into_bytes(), &safe)
}

/// An answer that is the same for everybody.
pub(super) fn kept(status: u16, kind: &str, body: Vec<u8>, more: &[(&str, &str)]) -> Message {
    let mut headers = vec![
        header("Content-Type", kind),
        header("Cache-Control", CACHED),
    ];
    headers.extend(more.iter().map(|(name, value)| header(name, value)));
    Message {
        status,
        headers,
        body,
    }
}

/// A text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
