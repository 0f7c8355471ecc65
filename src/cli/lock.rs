//! The identity lock: what every key of an operation is found by, written down.
//!
//! Owns the file `oncegate.lock` and what may change in it. The identity of an operation is its
//! name, the form of its principal, its scope and its key, each in the words that enter the digest
//! of every key. One that changes or vanishes is a fault unless it is accepted by name, because
//! the records of all keys so far would no longer be found. The file has one section for each
//! environment of wrangler, since environments may protect different operations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Failure;
use super::args::Lock as Options;
use crate::core::policy::{Operation, Policy, Principal};

/// What the keys of one operation are found by.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
struct Identity {
    principal: String,
    /// Who issues the tokens, where the principal is a claim of one.
    #[serde(default)]
    issuer: Option<String>,
    scope: Vec<String>,
    key: Vec<String>,
    #[serde(default)]
    jurisdiction: Option<String>,
}

/// The operations of one environment, by name.
type Section = BTreeMap<String, Identity>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(default)]
    top: Section,
    #[serde(default)]
    env: BTreeMap<String, Section>,
}

const VERSION: u32 = 1;
const HEADER: &str = "\
# The identity of every operation, by environment: commit this file, never edit it.
# What stands here finds the record of every key. If it changed, every retry across the deploy
# would be a second operation, so `npm run policy` refuses a change that is not accepted with
# --new-identity NAME.
";

/// What follows from another identity, in every message the same.
pub(super) const CONSEQUENCE: &str = "every retry across this deploy would be a second operation, \
     because the records of all keys so far would no longer be found";

/// What became of the lock.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) path: PathBuf,
    pub(super) state: State,
    /// What is wrong, one message for each operation.
    pub(super) problems: Vec<(String, String)>,
    /// What was accepted by name.
    pub(super) accepted: Vec<(String, String)>,
}

/// Whether the lock holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Agrees,
    Created,
    Refused,
    Updated,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Created => "created",
            Self::Refused => "refused",
            Self::Updated => "updated",
        }
    }
}

/// Holds a policy against the lock, and writes it down where that is allowed.
///
/// `may_write` is false where something else is wrong: then the file stays as it is.
pub(super) fn check(
    policy: &Policy,
    env: Option<&str>,
    path: PathBuf,
    options: &Options,
    may_write: bool,
) -> Result<Outcome, Failure> {
    let mut file = read(&path)?;
    let locked = file.section(env).cloned().unwrap_or_default();
    let identities = policy.operations.iter().map(|it| identity(policy, it));
    let current: Section = identities.collect();
    // An environment that was never written down has no identities to lose yet.
    let first = locked.is_empty();
    let mut outcome = compare(&locked, &current, &options.new_identity);
    let news = current.keys().filter(|name| !locked.contains_key(*name));
    let news: Vec<String> = news.cloned().collect();
    let changes = !news.is_empty() || !outcome.accepted.is_empty();
    let allowed = options.write || first || !options.new_identity.is_empty();
    if changes && (options.locked || !allowed) {
        let section = env.map_or_else(String::new, |env| format!("--env {env} "));
        outcome.problems.extend(news.into_iter().map(|name| {
            let message = format!(
                "not in {} yet: run `npm run policy -- {section}--write` and commit the file",
                path.display()
            );
            (name, message)
        }));
    }
    let state = match (outcome.problems.is_empty(), changes && may_write) {
        (false, _) => State::Refused,
        (true, false) => State::Agrees,
        (true, true) => {
            file.replace(env, current);
            write(&path, &file)?;
            if first {
                State::Created
            } else {
                State::Updated
            }
        }
    };
    Ok(Outcome {
        path,
        state,
        problems: outcome.problems,
        accepted: outcome.accepted,
    })
}

fn identity(policy: &Policy, operation: &Operation) -> (String, Identity) {
    let issuer = match operation.principal {
        Principal::Jwt(_) => policy.jwt.as_ref().map(|rules| rules.issuer.clone()),
        Principal::Authorization { .. }
        | Principal::Cookie(_)
        | Principal::Header(_)
        | Principal::None => None,
    };
    let identity = Identity {
        principal: operation.principal.to_string(),
        issuer,
        scope: operation.scope.iter().map(ToString::to_string).collect(),
        key: operation.key.iter().map(ToString::to_string).collect(),
        jurisdiction: operation.placement.jurisdiction.map(str::to_owned),
    };
    (operation.name.clone(), identity)
}

#[derive(Debug, Default)]
struct Comparison {
    problems: Vec<(String, String)>,
    accepted: Vec<(String, String)>,
}

fn compare(locked: &Section, current: &Section, meant: &[String]) -> Comparison {
    let mut comparison = Comparison::default();
    for (name, was) in locked {
        let message = match current.get(name) {
            Some(is) if is == was => continue,
            Some(is) => format!("{}: {CONSEQUENCE}", was.changes(is)),
            None => format!("is gone{}: {CONSEQUENCE}", successor(was, locked, current)),
        };
        if meant.contains(name) {
            comparison.accepted.push((name.clone(), message));
        } else {
            let message = format!("{message}; --new-identity {name} accepts that");
            comparison.problems.push((name.clone(), message));
        }
    }
    for name in meant {
        if !comparison.accepted.iter().any(|(known, _)| known == name) {
            let message = "--new-identity has nothing to accept: this identity is not changed";
            comparison.problems.push((name.clone(), message.to_owned()));
        }
    }
    comparison
}

/// The only new operation with the identity of the only one that is gone was probably renamed.
fn successor(was: &Identity, locked: &Section, current: &Section) -> String {
    let only = |from: &Section, without: &Section| {
        let mut found = from
            .iter()
            .filter(|(name, is)| *is == was && !without.contains_key(*name));
        let one = found.next().map(|(name, _)| name.clone());
        one.filter(|_| found.next().is_none())
    };
    match (only(locked, current), only(current, locked)) {
        (Some(_), Some(name)) => format!(" (renamed to {name}?)"),
        _ => String::new(),
    }
}

impl Identity {
    fn changes(&self, is: &Self) -> String {
        let fields = [
            ("principal", quoted(&self.principal), quoted(&is.principal)),
            (
                "issuer",
                maybe(self.issuer.as_ref()),
                maybe(is.issuer.as_ref()),
            ),
            ("scope", array(&self.scope), array(&is.scope)),
            ("key", array(&self.key), array(&is.key)),
            (
                "jurisdiction",
                maybe(self.jurisdiction.as_ref()),
                maybe(is.jurisdiction.as_ref()),
            ),
        ];
        let changed = fields.into_iter().filter(|(_, was, is)| was != is);
        let changed: Vec<String> = changed
            .map(|(name, was, is)| format!("{name} was {was} and is {is}"))
            .collect();
        changed.join(", ")
    }
}

impl File {
    fn section(&self, env: Option<&str>) -> Option<&Section> {
        match env {
            None => Some(&self.top),
            Some(env) => self.env.get(env),
        }
    }

    fn replace(&mut self, env: Option<&str>, section: Section) {
        match env {
            None => self.top = section,
            Some(env) => {
                self.env.insert(env.to_owned(), section);
            }
        }
    }

    fn text(&self) -> String {
        let mut out = format!("{HEADER}version = {VERSION}\n");
        let top = self.top.iter().map(|it| ("top".to_owned(), it));
        let envs = self.env.iter().flat_map(|(env, section)| {
            section
                .iter()
                .map(move |it| (format!("env.{}", key(env)), it))
        });
        for (place, (name, identity)) in top.chain(envs) {
            let Identity {
                principal,
                issuer,
                scope,
                key,
                jurisdiction,
            } = identity;
            let _ = write!(
                out,
                "\n[{place}.{name}]\nprincipal = {}\nscope = {}\nkey = {}\n",
                quoted(principal),
                array(scope),
                array(key),
            );
            // Where there is none, no line: so that the files of before stay as they are.
            for (name, value) in [("issuer", issuer), ("jurisdiction", jurisdiction)] {
                if let Some(value) = value {
                    let _ = writeln!(out, "{name} = {}", quoted(value));
                }
            }
        }
        out
    }
}

/// A key of TOML: bare where it can be.
fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// A string of TOML; the escapes of JSON are escapes of TOML too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// A value that may be missing, as people read it.
fn maybe(value: Option<&String>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| quoted(value))
}

fn array(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

fn read(path: &Path) -> Result<File, Failure> {
    if !path.exists() {
        return Ok(File::default());
    }
    let shown = path.display();
    let file: File = toml::from_str(&super::config::text(path)?)
        .map_err(|error| Failure::new(format!("{shown} is no identity lock: {error}")))?;
    if file.version != VERSION {
        let version = file.version;
        return Err(Failure::new(format!(
            "{shown} has version {version}; this oncegate knows version {VERSION}"
        )));
    }
    Ok(file)
}

/// Writes the file whole or not at all.
fn write(path: &Path, file: &File) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    std::fs::write(&fresh, file.text()).map_err(failed)?;
    std::fs::rename(&fresh, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let identity = Identity {
            principal: "jwt:sub".to_owned(),
            issuer: Some("https://login.example".to_owned()),
            jurisdiction: Some("eu".to_owned()),
            scope: vec!["principal".to_owned(), "query:a\"b\\\u{7f}é".to_owned()],
            key: vec!["header:idempotency-key".to_owned()],
        };
        let section = Section::from([("pay".to_owned(), identity)]);
        let mut file = File::default();
        file.replace(None, section.clone());
        for env in ["production", "eu west.1", ""] {
            file.replace(Some(env), section.clone());
        }
        let read: File = toml::from_str(&file.text()).unwrap();
        assert_eq!(read.version, VERSION);
        assert_eq!(read.top, file.top);
        assert_eq!(read.env, file.env);
        assert_eq!(read.text(), file.text());
    }
}
