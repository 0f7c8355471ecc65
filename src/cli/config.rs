//! The configuration of the Worker, as far as the policy is in it.
//!
//! Owns finding the variables of one environment in wrangler.toml. It never judges them: they go
//! to the core as the Worker would find them, by name and as JSON. Environments of wrangler
//! inherit neither variables nor bindings, so nothing is filled in from the top of the file.

use std::path::Path;

use serde_json::{Map, Value};

use super::Failure;
use super::args::Source;
use crate::core::policy::parse::{GLOBALS, Loaded, is_variable, parse};
use crate::core::policy::{Origin, Policy, PolicyError};

/// What a Worker of one environment would find.
#[derive(Debug)]
pub(super) struct Deployment {
    variables: Vec<(String, Value)>,
    bindings: Vec<String>,
    env: Option<String>,
}

/// Reads the configuration of an environment.
pub(super) fn read(source: &Source) -> Result<Deployment, Failure> {
    let shown = source.config.display();
    let text = text(&source.config)?;
    let file: toml::Table = text
        .parse()
        .map_err(|error| Failure::new(format!("{shown} is not TOML: {error}")))?;
    let whole = Value::Object(file.into_iter().map(json).collect());
    let table = match &source.env {
        None => &whole,
        Some(name) => environment(&whole, name)
            .map_err(|known| Failure::new(format!("{shown} has no [env.{name}]; {known}")))?,
    };
    let mut bindings = Vec::new();
    for (name, value) in table.as_object().into_iter().flatten() {
        if name != "vars" && name != "env" {
            find_bindings(value, false, &mut bindings);
        }
    }
    let variables = table.get("vars").and_then(Value::as_object);
    let mut variables: Vec<(String, Value)> = variables
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        // The Worker sees bindings beside the variables.
        .chain(bindings.iter().map(|it| (it.clone(), Map::new().into())))
        .filter(|(name, _)| is_variable(name))
        .collect();
    variables.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(Deployment {
        variables,
        bindings,
        env: source.env.clone(),
    })
}

impl Deployment {
    /// The policy, judged by the core, and held against the bindings that are there.
    pub(super) fn policy(self) -> Result<Policy, Vec<PolicyError>> {
        let Self {
            mut variables,
            bindings,
            env,
        } = self;
        let globals = variables.iter().position(|(name, _)| name == GLOBALS);
        let globals = globals.map(|at| variables.remove(at).1);
        let policy = match parse(globals, variables) {
            Loaded::Valid(policy) => policy,
            Loaded::Invalid { errors, .. } => return Err(errors),
        };
        let place = env.map_or_else(String::new, |env| format!("env.{env}."));
        let mut errors = Vec::new();
        let mut needed = |path: String, name: &str, kind: &str| {
            if !bindings.iter().any(|known| known == name) {
                let message = format!(
                    "there is no binding \"{name}\" in [[{place}{kind}]]; \
                     environments inherit no bindings"
                );
                errors.push(PolicyError { path, message });
            }
        };
        if let Origin::Service(name) = &policy.origin {
            needed("origin".to_owned(), name, "services");
        }
        for operation in policy.operations.iter().filter(|it| it.limit) {
            let path = format!("{}.limit", operation.name);
            needed(path, "ONCEGATE_LIMIT", "ratelimits");
        }
        if errors.is_empty() {
            Ok(policy)
        } else {
            Err(errors)
        }
    }
}

/// Reads a text file.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let failed = |why: String| Failure::new(format!("cannot read {}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_owned()))
}

fn environment<'v>(whole: &'v Value, name: &str) -> Result<&'v Value, String> {
    let all = whole.get("env").and_then(Value::as_object);
    let found = all.and_then(|all| all.get(name));
    found.filter(|it| it.is_object()).ok_or_else(|| {
        let known: Vec<&str> = all
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        match known.as_slice() {
            [] => "it has no environments".to_owned(),
            known => format!("there are {}", known.join(", ")),
        }
    })
}

/// Finds the names of bindings: `binding`, or in lists of bindings `name`, whatever their kind.
fn find_bindings(value: &Value, listed: bool, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| find_bindings(item, true, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "binding" || listed && name == "name" => {
                        found.push(text.clone());
                    }
                    Value::Array(_) | Value::Object(_) => find_bindings(value, false, found),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A value of TOML as the Worker gets it.
fn json((name, value): (String, toml::Value)) -> (String, Value) {
    (name, value_of(value))
}

fn value_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        // Like JavaScript: what is no number in JSON is null.
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(value_of).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(json).collect()),
    }
}
