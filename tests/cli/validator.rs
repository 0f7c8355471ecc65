//! A validator for the part of JSON Schema (draft 7) that the schema of the policy uses.
//!
//! It fails on a keyword that it does not know, so that nothing of a schema goes unchecked.

use regex_lite::Regex;
use serde_json::{Map, Value};

pub(crate) struct Validator<'s> {
    root: &'s Value,
}

impl<'s> Validator<'s> {
    pub(crate) fn new(root: &'s Value) -> Self {
        Self { root }
    }

    /// The first fault of a document.
    pub(crate) fn fault(&self, document: &Value) -> Option<String> {
        self.against(self.root, document)
    }

    /// The first fault of a value under a part of the schema.
    pub(crate) fn against(&self, schema: &Value, value: &Value) -> Option<String> {
        let schema = schema.as_object().expect("a schema is a table");
        let faults = schema.iter().filter_map(|(keyword, rule)| {
            let holds = self.holds(schema, keyword, rule, value);
            match holds {
                Ok(true) => None,
                Ok(false) => Some(format!("{keyword} {rule} does not hold of {value}")),
                Err(below) => Some(below),
            }
        });
        faults.into_iter().next()
    }

    fn holds(
        &self,
        schema: &Map<String, Value>,
        keyword: &str,
        rule: &Value,
        value: &Value,
    ) -> Result<bool, String> {
        let below = |schema: &Value, value: &Value| self.against(schema, value).map_or(Ok(()), Err);
        let number = |value: &Value| value.as_i64().expect("a whole number");
        match keyword {
            "$schema" | "title" | "description" | "default" | "examples" | "definitions" => {}
            "$ref" => {
                let pointer = rule.as_str().and_then(|it| it.strip_prefix('#'));
                let found = pointer.and_then(|pointer| self.root.pointer(pointer));
                below(found.expect("a reference leads somewhere"), value)?;
            }
            "type" => return Ok(is_of(rule.as_str().expect("a type"), value)),
            "enum" => return Ok(rule.as_array().expect("a list").contains(value)),
            "minimum" => return Ok(value.as_i64().is_none_or(|it| it >= number(rule))),
            "maximum" => return Ok(value.as_i64().is_none_or(|it| it <= number(rule))),
            "pattern" => {
                let pattern = Regex::new(rule.as_str().expect("a text")).expect("an expression");
                return Ok(value.as_str().is_none_or(|text| pattern.is_match(text)));
            }
            "anyOf" => {
                let mut kinds = rule.as_array().expect("a list").iter();
                return Ok(kinds.any(|kind| self.against(kind, value).is_none()));
            }
            "allOf" => {
                for kind in rule.as_array().expect("a list") {
                    below(kind, value)?;
                }
            }
            "minItems" => {
                let least = usize::try_from(number(rule)).expect("a length");
                return Ok(value.as_array().is_none_or(|items| items.len() >= least));
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    below(rule, item)?;
                }
            }
            "required" => {
                let mut names = rule.as_array().expect("a list").iter();
                let has = |name: &Value| value.get(name.as_str().expect("a name")).is_some();
                return Ok(!value.is_object() || names.all(has));
            }
            "propertyNames" => {
                for name in value.as_object().into_iter().flat_map(Map::keys) {
                    below(rule, &Value::from(name.as_str()))?;
                }
            }
            "properties" | "patternProperties" | "additionalProperties" => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    match (keyword, rules_of(schema, name)) {
                        ("properties", (Some(rule), _)) => below(rule, member)?,
                        ("patternProperties", (_, Some(rule))) => below(rule, member)?,
                        ("additionalProperties", (None, None)) if rule == false => {
                            return Err(format!("unknown name {name}"));
                        }
                        ("additionalProperties", (None, None)) => below(rule, member)?,
                        _ => {}
                    }
                }
            }
            other => panic!("the validator does not know {other}"),
        }
        Ok(true)
    }
}

/// What `properties` and `patternProperties` of a schema say about a name.
fn rules_of<'s>(
    schema: &'s Map<String, Value>,
    name: &str,
) -> (Option<&'s Value>, Option<&'s Value>) {
    let exact = schema.get("properties").and_then(|it| it.get(name));
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let matching = patterns.into_iter().flatten().find(|(pattern, _)| {
        let pattern = Regex::new(pattern).expect("an expression");
        pattern.is_match(name)
    });
    (exact, matching.map(|(_, rule)| rule))
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        other => panic!("the validator does not know the type {other}"),
    }
}
