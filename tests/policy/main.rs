//! Policies: what each field means, every fault with its path, what an invalid one still closes.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test fail it this way"
)]

mod choices;
mod closed;
mod faults;
mod pages;

use oncegate::core::policy::parse::{Loaded, parse};
use oncegate::core::policy::{Guarded, Operation, Policy};
use serde_json::{Value, json};

pub(crate) const OP: &str = "ONCEGATE_OP_PAY";

/// A table with the fields of another put in or over.
pub(crate) fn with(mut base: Value, patch: Value) -> Value {
    let (Value::Object(base_fields), Value::Object(patch)) = (&mut base, patch) else {
        panic!("two tables");
    };
    base_fields.extend(patch);
    base
}

pub(crate) fn globals(patch: Value) -> Value {
    with(json!({ "origin": "https://api.example.com" }), patch)
}

pub(crate) fn pay(patch: Value) -> Value {
    let base = json!({ "name": "pay", "match": "POST /v1/{tenant}/pay", "principal": "none" });
    with(base, patch)
}

pub(crate) fn load(globals: Value, operations: &[(&str, Value)]) -> Loaded {
    let named = operations
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    parse(Some(globals), named.collect())
}

#[track_caller]
pub(crate) fn valid(globals: Value, operations: &[(&str, Value)]) -> Policy {
    match load(globals, operations) {
        Loaded::Valid(policy) => policy,
        Loaded::Invalid { errors, .. } => panic!("{errors:#?}"),
    }
}

/// The operation of a policy that holds one.
#[track_caller]
pub(crate) fn operation(value: Value) -> Operation {
    let policy = valid(globals(json!({})), &[(OP, value)]);
    policy.operations.into_iter().next().expect("one operation")
}

#[track_caller]
pub(crate) fn invalid(
    globals: Value,
    operations: &[(&str, Value)],
) -> (Vec<String>, Option<Guarded>) {
    match load(globals, operations) {
        Loaded::Invalid { errors, routes, .. } => {
            (errors.iter().map(ToString::to_string).collect(), routes)
        }
        Loaded::Valid(policy) => panic!("valid: {policy:#?}"),
    }
}
