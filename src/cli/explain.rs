//! `oncegate explain`: what the gate makes of a request, and whether another one is its retry.
//!
//! Owns the words. Operation, identity, canonical form and fingerprint come from the core under
//! the policy, exactly as the Worker takes them. Credentials are never printed: they are part of
//! the name of the object only, from which they cannot be taken back.

use std::io::Write;
use std::path::Path;

use super::args::Explain as Options;
use super::difference::{Difference, differences};
use super::frames::{self, PIECES, Part};
use super::request::{self, Request};
use super::words::{count, printable, wrapped};
use super::{FINE, Failure, NOT_FINE, config};
use crate::core::admission::{Incoming, identify, key};
use crate::core::answer::Problem;
use crate::core::code::Code;
use crate::core::command::{Canonical, Command, Fingerprint, Malformed, content};
use crate::core::head::travelling;
use crate::core::identity::{Digest, ObjectName};
use crate::core::policy::{
    Found, OnMismatch, Operation, Params, Policy, PolicyError, Unmatched, normalise,
};
use crate::core::principal::{Credentials, credentials};

/// Explains one request, or two.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<u8, Failure> {
    let read = config::read(&options.source)?;
    let policy = read.policy().map_err(|errors| invalid(&errors))?;
    let first = request::read(&options.first)?;
    let second = options.second.as_deref().map(request::read).transpose()?;
    let Some((second, file)) = second.zip(options.second.as_deref()) else {
        let case = Case::of(&policy, &first);
        return case.tell(&options.first, &policy, out);
    };
    let (one, other) = (Case::of(&policy, &first), Case::of(&policy, &second));
    one.tell(&options.first, &policy, out)?;
    other.tell(file, &policy, out)?;
    compare(&one, &other, out)
}

fn invalid(errors: &[PolicyError]) -> Failure {
    let errors: Vec<String> = errors.iter().map(|error| format!("\n  {error}")).collect();
    Failure::new(format!("the policy is not valid:{}", errors.concat()))
}

/// A request under the policy.
struct Case<'a> {
    request: &'a Request,
    operation: Found<&'a Operation>,
    /// The normal form of its path.
    path: String,
    /// The headers that reach the object.
    headers: Vec<(String, String)>,
}

/// By what the record of a request is found.
enum Identity {
    /// By nothing: it has no key and passes.
    Bypassed,
    /// By this name.
    Known(ObjectName),
    /// By what its token says once its signature has been verified, which is not done here.
    OfToken,
}

/// What the gate makes of the request of a protected operation.
struct Protected<'c> {
    operation: &'c Operation,
    identity: Result<Identity, Problem>,
    canonical: Result<Canonical<'c>, Malformed>,
    fingerprint: Result<Fingerprint, Malformed>,
}

impl<'a> Case<'a> {
    fn of(policy: &'a Policy, request: &'a Request) -> Self {
        let path = request.target.path();
        Self {
            request,
            operation: policy.find(&request.method, path),
            path: normalise(path),
            headers: travelling(request.headers.clone()),
        }
    }

    fn protected(&self) -> Option<Protected<'_>> {
        let Found::Operation(operation, params) = &self.operation else {
            return None;
        };
        let command = self.command(operation);
        Some(Protected {
            operation,
            identity: self.identity(operation, params),
            canonical: operation.recipe.canonical(&command),
            fingerprint: operation.recipe.fingerprint(&command),
        })
    }

    fn command<'c>(&'c self, operation: &'c Operation) -> Command<'c> {
        Command {
            operation: &operation.name,
            method: &self.request.method,
            path: &self.path,
            query: self.request.target.query(),
            headers: &self.headers,
            body: &self.request.body,
            max_decoded: operation.max_body.saturating_mul(8),
        }
    }

    fn identity(&self, operation: &Operation, params: &Params) -> Result<Identity, Problem> {
        let (is, most) = (self.request.body.len(), operation.max_body);
        if is > most {
            let detail = format!("the body has {is} bytes and may have {most}");
            return Err(Problem::detailed(Code::BodyTooLarge, detail));
        }
        let headers = &self.request.headers;
        let decoded = content(headers, &self.request.body, most.saturating_mul(8));
        let decoded = decoded
            .map_err(|malformed| Problem::detailed(Code::CommandMalformed, malformed.detail))?;
        let incoming = Incoming {
            headers,
            query: self.request.target.query(),
            params,
            body: Some(&decoded),
        };
        let Some(key) = key(operation, incoming)? else {
            return Ok(Identity::Bypassed);
        };
        match credentials(&operation.principal, headers)? {
            Credentials::Known(principal) => {
                identify(operation, incoming, &key, &principal).map(|it| Identity::Known(it.name))
            }
            Credentials::Token(_) => Ok(Identity::OfToken),
        }
    }

    /// Tells what becomes of the request; whether it could claim a key is the status.
    fn tell(&self, file: &Path, policy: &Policy, out: &mut dyn Write) -> Result<u8, Failure> {
        let Request { method, target, .. } = self.request;
        let target = printable(target.target.as_bytes());
        writeln!(out, "{}: {method} {target}", file.display())?;
        let Some(protected) = self.protected() else {
            let refused = |code: Code| {
                let status = policy.statuses.status(code);
                (format!("refused: {status} {}", code.wire()), NOT_FINE)
            };
            let (what, status) = match (&self.operation, policy.unmatched) {
                (Found::Ambiguous, _) => refused(Code::TargetAmbiguous),
                (Found::Operation(..) | Found::Unmatched, Unmatched::Pass) => {
                    let what = "no operation: it passes through unprotected";
                    (what.to_owned(), FINE)
                }
                (Found::Operation(..) | Found::Unmatched, Unmatched::Refuse) => {
                    refused(Code::TargetUnmatched)
                }
            };
            writeln!(out, "  {what}\n")?;
            return Ok(status);
        };
        let status = protected.tell(out)?;
        let ends_in_break = self.request.body.ends_with(b"\n") && self.request.to_the_end;
        let counts = |kind: &str| matches!(kind, "bytes" | "form");
        if ends_in_break && protected.kind().is_some_and(counts) {
            let note = "the file ends with a line break that belongs to the body; with a \
                        Content-Length it would not";
            write!(out, "{}", wrapped("  note            ", note))?;
        }
        writeln!(out)?;
        Ok(status)
    }
}

impl Protected<'_> {
    fn kind(&self) -> Option<&'static str> {
        Some(self.canonical.as_ref().ok()?.body.kind())
    }

    fn name(&self) -> Option<&ObjectName> {
        match &self.identity {
            Ok(Identity::Known(name)) => Some(name),
            Ok(Identity::Bypassed | Identity::OfToken) | Err(_) => None,
        }
    }

    /// An answer of the gate under this operation.
    fn refused(&self, code: Code, detail: Option<&str>) -> String {
        let status = self.operation.statuses.status(code);
        let detail = detail.unwrap_or_else(|| code.title());
        format!("refused: {status} {}; {detail}", code.wire())
    }

    fn tell(&self, out: &mut dyn Write) -> Result<u8, Failure> {
        let mut line = |name: &str, text: &str| {
            let text = wrapped(&format!("  {name:<16}"), text);
            write!(out, "{text}")
        };
        line("operation", &self.operation.name)?;
        let mut status = FINE;
        match &self.identity {
            Ok(Identity::Known(name)) => {
                line("identity", name.as_str())?;
                line("", &format!("of {}", self.identified_by()))?;
            }
            Ok(Identity::OfToken) => {
                line(
                    "identity",
                    "depends on its token, which is not verified here",
                )?;
                line("", &format!("of {}", self.identified_by()))?;
            }
            Ok(Identity::Bypassed) => line("identity", "none: without a key it is bypassed")?,
            Err(problem) => {
                status = NOT_FINE;
                let detail = problem.detail.as_deref();
                line("identity", &self.refused(problem.code, detail))?;
            }
        }
        match (&self.canonical, &self.fingerprint) {
            (Ok(canonical), Ok(fingerprint)) => {
                for (name, text) in form(canonical) {
                    writeln!(out, "  {name:<16}{text}")?;
                }
                writeln!(out, "  {:<16}{}", "fingerprint", Digest(fingerprint.digest))?;
                writeln!(out, "  {:<16}{}", "raw digest", Digest(fingerprint.raw))?;
            }
            (Err(Malformed { detail }), _) | (_, Err(Malformed { detail })) => {
                status = NOT_FINE;
                line(
                    "command",
                    &self.refused(Code::CommandMalformed, Some(detail)),
                )?;
            }
        }
        Ok(status)
    }

    /// The forms of all that enters the identity, never a value.
    fn identified_by(&self) -> String {
        let scope = self.operation.scope.iter().map(ToString::to_string);
        let key = self.operation.key.iter().map(ToString::to_string);
        let parts: Vec<String> = scope.chain(key).collect();
        format!("{}, {}", self.operation.name, parts.join(", "))
    }
}

/// The canonical form, part by part.
fn form(canonical: &Canonical<'_>) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (name, value) in canonical.parts() {
        // Told already, or told with what they belong to.
        let told = matches!(name.as_str(), "operation" | "headers" | "body kind")
            || name.starts_with("header name ");
        if !told {
            let absent = || "-".to_owned();
            let shown = value.map_or_else(absent, |value| match value.as_slice() {
                [] => "(empty)".to_owned(),
                bytes => printable(bytes),
            });
            let name = if name == "version" {
                "recipe".to_owned()
            } else {
                name
            };
            lines.push((pad(name), shown));
        }
    }
    let mut body = Vec::new();
    canonical.body.write(&mut body);
    let kind = canonical.body.kind();
    let shown = format!("{kind}, {}", count(body.len(), "byte"));
    lines.push(("body".to_owned(), shown));
    match frames::parts(&body).filter(|_| kind == "multipart") {
        Some(parts) => {
            let parts = parts.iter().map(|part| (String::new(), part_line(part)));
            lines.extend(parts);
        }
        None if body.is_empty() => {}
        None => lines.push((String::new(), printable(&body))),
    }
    lines
}

/// One part of a form with files on one line.
fn part_line(part: &Part<'_>) -> String {
    let pieces = PIECES.iter().zip(part).filter_map(|(piece, value)| {
        let value = printable((*value)?);
        Some(format!("{piece} {value}"))
    });
    pieces.collect::<Vec<_>>().join("; ")
}

/// Keeps a long name apart from what follows it.
fn pad(name: String) -> String {
    if name.len() < 13 {
        name
    } else {
        format!("{name}  ")
    }
}

/// Tells whether the second request is a retry of the first.
fn compare(one: &Case<'_>, other: &Case<'_>, out: &mut dyn Write) -> Result<u8, Failure> {
    let (Some(first), Some(second)) = (one.protected(), other.protected()) else {
        writeln!(out, "cannot be compared: not both are protected")?;
        return Ok(NOT_FINE);
    };
    let (Ok(mine), Ok(theirs)) = (&first.canonical, &second.canonical) else {
        writeln!(out, "cannot be compared: not both are commands")?;
        return Ok(NOT_FINE);
    };
    let (Ok(stored), Ok(claim)) = (&first.fingerprint, &second.fingerprint) else {
        writeln!(out, "cannot be compared: not both have a fingerprint")?;
        return Ok(NOT_FINE);
    };
    let operation = first.operation;
    let judgement = stored.judge(&operation.recipe, claim, &other.command(second.operation));
    let same_key = match (first.name(), second.name()) {
        (Some(first), Some(second)) => Some(first == second),
        _ => None,
    };
    let verdict = if judgement.is_same() {
        "same"
    } else {
        "different"
    };
    writeln!(
        out,
        "{verdict} command{}",
        consequence(operation, judgement.is_same(), same_key)
    )?;
    if !judgement.is_same() {
        tell_differences(&differences(mine, theirs), out)?;
    }
    Ok(if judgement.is_same() && same_key == Some(true) {
        FINE
    } else {
        NOT_FINE
    })
}

/// What the gate does with the second request, after the first.
fn consequence(operation: &Operation, same: bool, same_key: Option<bool>) -> String {
    let status = operation.statuses.status(Code::KeyReused);
    match (same_key, same, operation.on_mismatch) {
        (None, ..) => ": not both would be admitted".to_owned(),
        (Some(false), ..) => ", another identity: two operations that do not know each other \
                              (another operation, key or scope)"
            .to_owned(),
        (Some(true), true, _) => ", same identity: the second is a retry of the first".to_owned(),
        (Some(true), false, OnMismatch::Refuse) => {
            format!(", same identity: the second is refused with {status} key_reused")
        }
        (Some(true), false, OnMismatch::Replay) => {
            ", same identity: the second gets the answer of the first, marked as a mismatch".into()
        }
        (Some(true), false, OnMismatch::Separate) => {
            ", same identity, another command: the second is an operation of its own".into()
        }
        (Some(true), false, OnMismatch::Ignore) => {
            ", same identity, and the content is not compared: the second is a duplicate".into()
        }
    }
}

fn tell_differences(found: &[Difference], out: &mut dyn Write) -> Result<(), Failure> {
    const MOST: usize = 50;
    for Difference {
        place,
        first,
        second,
    } in found.iter().take(MOST)
    {
        let shown = |it: &Option<String>| it.clone().unwrap_or_else(|| "(absent)".to_owned());
        writeln!(out, "  {place}")?;
        writeln!(out, "    - {}", shown(first))?;
        writeln!(out, "    + {}", shown(second))?;
    }
    if let Some(more) = found.len().checked_sub(MOST).filter(|more| *more > 0) {
        writeln!(out, "  and {}", count(more, "further place"))?;
    }
    Ok(())
}
