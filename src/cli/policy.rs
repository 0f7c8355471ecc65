//! `oncegate policy`: is this policy valid, what does it say, and may it be deployed?
//!
//! Owns the report in text and in JSON, and when the check fails. The judgement itself is the
//! core's; the identities are the lock's.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::args::Policy as Options;
use super::lock::{self, Outcome, State};
use super::questions::{Question, answers};
use super::words::{count, list, wrapped};
use super::{FINE, Failure, NOT_FINE, config};
use crate::core::cors::Cors;
use crate::core::policy::warnings::{Warning, warnings};
use crate::core::policy::{Operation, Origin, Policy, PolicyError, Preset, Unmatched};

/// Checks a policy and reports.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<u8, Failure> {
    let policy = match config::read(&options.source)?.policy() {
        Ok(policy) => policy,
        Err(errors) => {
            report_errors(&errors, options, out)?;
            return Ok(NOT_FINE);
        }
    };
    let warnings = warnings(&policy);
    let too_many = options.strict && !warnings.is_empty();
    let env = options.source.env.as_deref();
    let lock = lock::check(&policy, env, lock_file(options), &options.lock, !too_many)?;
    if options.json {
        report_json(&policy, &warnings, &lock, options, out)?;
    } else {
        report(&policy, &warnings, &lock, options, out)?;
    }
    Ok(if too_many || lock.state == State::Refused {
        NOT_FINE
    } else {
        FINE
    })
}

fn lock_file(options: &Options) -> PathBuf {
    let beside = || options.source.config.with_file_name("oncegate.lock");
    options.lock.file.clone().unwrap_or_else(beside)
}

/// Where the policy is from, for people.
fn title(options: &Options) -> String {
    let file = options.source.config.display();
    match &options.source.env {
        Some(env) => format!("{file}, environment {env}"),
        None => format!("{file}, top level"),
    }
}

fn report_errors(
    errors: &[PolicyError],
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if options.json {
        let errors: Vec<Value> = errors
            .iter()
            .map(|error| json!({ "path": error.path, "message": error.message }))
            .collect();
        let env = &options.source.env;
        let document = json!({ "valid": false, "environment": env, "errors": errors });
        writeln!(out, "{document:#}")?;
        return Ok(());
    }
    let found = count(errors.len(), "error");
    writeln!(out, "{}: the policy is not valid, {found}", title(options))?;
    for error in errors {
        write!(out, "{}", wrapped("  error  ", &error.to_string()))?;
    }
    Ok(())
}

fn report(
    policy: &Policy,
    warnings: &[Warning<'_>],
    lock: &Outcome,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let operations = count(policy.operations.len(), "operation");
    writeln!(out, "{}: a valid policy, {operations}", title(options))?;
    let unmatched = match policy.unmatched {
        Unmatched::Pass => "pass through unprotected",
        Unmatched::Refuse => "are refused",
    };
    let origin = match &policy.origin {
        Origin::Url(url) => url.clone(),
        Origin::Service(name) => format!("the service binding {name}"),
    };
    writeln!(
        out,
        "Origin: {origin}. Requests that match no operation {unmatched}."
    )?;
    let pages = match &policy.cors {
        Some(Cors::Anyone) => "All web pages, without their cookies,".to_owned(),
        Some(Cors::Listed(origins)) => format!("Web pages of {}", list(origins)),
        None => String::new(),
    };
    if !pages.is_empty() {
        let text = format!("{pages} may call the operations and read the answers.");
        write!(out, "{}", wrapped("", &text))?;
    }
    let mut left: Vec<&Operation> = policy.operations.iter().collect();
    while let Some(first) = left.first() {
        // Operations that answer alike are told together.
        let answers = answers(first);
        let (alike, others) = left
            .into_iter()
            .partition(|it| self::answers(it) == answers);
        left = others;
        report_operations(&alike, &answers, out)?;
    }
    report_warnings(warnings, out)?;
    report_lock(lock, out)
}

fn report_operations(
    alike: &[&Operation],
    answers: &[Question],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(out)?;
    let width = alike
        .iter()
        .map(|it| it.name.len())
        .max()
        .unwrap_or_default();
    for operation in alike {
        writeln!(out, "{:<width$}  {}", operation.name, matched(operation))?;
    }
    for Question {
        heading, answer, ..
    } in answers
    {
        write!(out, "{}", wrapped(&format!("  {heading:<11}  "), answer))?;
    }
    Ok(())
}

fn matched(operation: &Operation) -> String {
    let routes: Vec<String> = operation.routes.iter().map(ToString::to_string).collect();
    let preset = match operation.preset {
        Preset::Default => "",
        Preset::Ietf => "  [preset ietf]",
        Preset::Stripe => "  [preset stripe]",
    };
    format!("{}{preset}", routes.join(" | "))
}

/// Each warning once, with all the operations that it is about.
fn report_warnings(warnings: &[Warning<'_>], out: &mut dyn Write) -> Result<(), Failure> {
    let mut seen: Vec<&str> = Vec::new();
    for warning in warnings {
        if seen.contains(&warning.code) {
            continue;
        }
        if seen.is_empty() {
            writeln!(out, "\n{}:", count(warnings.len(), "warning"))?;
        }
        seen.push(warning.code);
        let alike = warnings.iter().filter(|other| other.code == warning.code);
        let operations: Vec<&str> = alike.filter_map(|it| it.operation).collect();
        let of = if operations.is_empty() {
            String::new()
        } else {
            format!(" of {}", list(&operations))
        };
        let Warning {
            code,
            field,
            message,
            ..
        } = warning;
        let text = format!("{code}: {field}{of}: {message}.");
        write!(out, "{}", wrapped("  warning  ", &text))?;
    }
    Ok(())
}

fn report_lock(lock: &Outcome, out: &mut dyn Write) -> Result<(), Failure> {
    let file = lock.path.display();
    let (verdict, what) = match lock.state {
        State::Agrees => ("agrees", "every identity is as it was"),
        State::Created => (
            "created",
            "commit it: from now on no identity may change unnoticed",
        ),
        State::Updated => ("updated", "commit it"),
        State::Refused => ("refused", "nothing was written"),
    };
    writeln!(out, "\n{file}: {verdict}; {what}.")?;
    for (heading, messages) in [
        ("  accepted  ", &lock.accepted),
        ("  error  ", &lock.problems),
    ] {
        let mut told: Vec<&str> = Vec::new();
        for (_, message) in messages {
            if told.contains(&message.as_str()) {
                continue;
            }
            told.push(message);
            let alike = messages.iter().filter(|(_, other)| other == message);
            let operations: Vec<&String> = alike.map(|(operation, _)| operation).collect();
            let text = format!("{}: {message}.", list(&operations));
            write!(out, "{}", wrapped(heading, &text))?;
        }
    }
    Ok(())
}

fn report_json(
    policy: &Policy,
    warnings: &[Warning<'_>],
    lock: &Outcome,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let operations: Vec<Value> = policy.operations.iter().map(operation_json).collect();
    let warnings: Vec<Value> = warnings
        .iter()
        .map(|it| {
            json!({ "code": it.code, "operation": it.operation, "field": it.field,
                    "message": it.message })
        })
        .collect();
    let about = |messages: &[(String, String)]| -> Vec<Value> {
        let each = messages.iter();
        each.map(|(operation, message)| json!({ "operation": operation, "message": message }))
            .collect()
    };
    let document = json!({
        "valid": true,
        "environment": options.source.env,
        "operations": operations,
        "warnings": warnings,
        "lock": {
            "state": lock.state.word(),
            "problems": about(&lock.problems),
            "accepted": about(&lock.accepted),
        },
    });
    writeln!(out, "{document:#}")?;
    Ok(())
}

fn operation_json(operation: &Operation) -> Value {
    let questions: Map<String, Value> = answers(operation)
        .into_iter()
        .map(|question| (question.name.to_owned(), question.answer.into()))
        .collect();
    let routes: Vec<String> = operation.routes.iter().map(ToString::to_string).collect();
    json!({ "name": operation.name, "match": routes, "questions": questions })
}
