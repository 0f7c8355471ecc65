//! `oncegate schema`: the JSON Schema of the policy, for editors.
//!
//! Owns the way from the declarations of fields, which the reader of the policy goes by too, to
//! JSON Schema (draft 7, the one that editors of TOML know). The schema speaks of a whole
//! wrangler.toml. It never refuses what the reader takes in tables; what two fields say together
//! only the reader knows.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{FINE, Failure, words};
use crate::core::code::Code;
use crate::core::policy::{Decl, Form, GLOBALS, Kind, OPERATION, Statuses};

/// Prints the schema.
pub(super) fn run(out: &mut dyn Write) -> Result<u8, Failure> {
    writeln!(out, "{:#}", schema())?;
    Ok(FINE)
}

fn schema() -> Value {
    let vars = json!({ "vars": { "$ref": "#/definitions/vars" } });
    let mut definitions = Map::new();
    for code in Code::ALL {
        let status = json!({ "type": "integer", "anyOf": ranges(code) });
        definitions.insert(group(code).to_owned(), status);
    }
    let tables = [
        ("globals", table(GLOBALS, None, None)),
        ("operation", table(OPERATION, None, None)),
        ("statuses", statuses()),
        ("vars", variables()),
    ];
    definitions.extend(tables.map(|(name, schema)| (name.to_owned(), schema)));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "The policy of an oncegate gate in wrangler.toml",
        "type": "object",
        "properties": {
            "vars": { "$ref": "#/definitions/vars" },
            "env": {
                "type": "object",
                "additionalProperties": { "type": "object", "properties": vars },
            },
        },
        "definitions": definitions,
    })
}

fn variables() -> Value {
    json!({
        "type": "object",
        "properties": { "ONCEGATE": { "$ref": "#/definitions/globals" } },
        "patternProperties": { "^ONCEGATE_OP_.+$": { "$ref": "#/definitions/operation" } },
    })
}

/// A table with these fields: without one of them, and with one more that must be written.
fn table(fields: &[Decl], but: Option<&str>, also_required: Option<&str>) -> Value {
    let fields = fields.iter().filter(|field| but != Some(field.name));
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields {
        let value = with(
            kind(&field.about.kind),
            "description",
            Some(field.about.doc.into()),
        );
        properties.insert(field.name.to_owned(), value);
        if field.about.required || also_required == Some(field.name) {
            required.push(field.name);
        }
    }
    let table = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    let required = Some(required).filter(|names| !names.is_empty());
    with(table, "required", required.map(Value::from))
}

fn kind(kind: &Kind) -> Value {
    match kind {
        Kind::Anything => json!({}),
        Kind::Default(default, inner) => {
            let default = serde_json::from_str(default).unwrap_or(Value::Null);
            with(self::kind(inner), "default", Some(default))
        }
        Kind::Duration(default) => {
            let schema = json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$" });
            with(
                schema,
                "default",
                default.map(|span| words::span(span).into()),
            )
        }
        Kind::Either(kinds) => {
            let kinds: Vec<Value> = kinds.iter().map(self::kind).collect();
            json!({ "anyOf": kinds })
        }
        Kind::Flag(default) => json!({ "type": "boolean", "default": default }),
        Kind::List(least, inner) => {
            let schema = json!({ "type": "array", "items": self::kind(inner) });
            let least = Some(*least).filter(|least| *least > 0);
            with(schema, "minItems", least.map(Value::from))
        }
        Kind::Map(names, inner) => json!({
            "type": "object",
            "propertyNames": text(names),
            "additionalProperties": self::kind(inner),
        }),
        Kind::Number(least, most) => {
            let schema = json!({ "type": "integer", "minimum": least });
            with(schema, "maximum", most.map(Value::from))
        }
        Kind::Size(default, _) => json!({
            "type": "string",
            "pattern": "^[0-9]+(B|KiB|MiB)$",
            "default": words::size(*default),
        }),
        // Told once for both places: `allOf` because draft 7 reads nothing beside a reference.
        Kind::Statuses => json!({ "allOf": [{ "$ref": "#/definitions/statuses" }] }),
        Kind::Table(fields) if std::ptr::eq(fields(), OPERATION) => {
            json!({ "$ref": "#/definitions/operation" })
        }
        Kind::Table(fields) => table(fields(), None, None),
        Kind::TableBut(fields, but, required) => table(fields(), Some(but), Some(required)),
        Kind::Text(form) => text(form),
        Kind::Words(choice) => {
            let schema = json!({ "type": "string", "enum": choice.words() });
            with(schema, "default", choice.default().map(Value::from))
        }
    }
}

fn text(form: &Form) -> Value {
    let pattern = Some(form.pattern).filter(|pattern| !pattern.is_empty());
    let examples = Some(form.examples).filter(|examples| !examples.is_empty());
    let schema = with(
        json!({ "type": "string" }),
        "pattern",
        pattern.map(Value::from),
    );
    with(schema, "examples", examples.map(Value::from))
}

/// The schema with one more keyword, where there is something to say.
fn with(schema: Value, keyword: &str, rule: Option<Value>) -> Value {
    match (schema, rule) {
        (Value::Object(mut keywords), Some(rule)) => {
            keywords.insert(keyword.to_owned(), rule);
            Value::Object(keywords)
        }
        (schema, _) => schema,
    }
}

/// The statuses of all problem codes.
fn statuses() -> Value {
    let properties: Map<String, Value> = Code::ALL
        .into_iter()
        .map(|code| {
            let group = format!("#/definitions/{}", group(code));
            let status = json!({ "allOf": [{ "$ref": group }], "description": code.title() });
            (code.wire().to_owned(), status)
        })
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// The codes that can have the same statuses.
fn group(code: Code) -> &'static str {
    if code.is_pending() {
        "pending_status"
    } else if code.is_challenge() {
        "challenge_status"
    } else {
        "problem_status"
    }
}

/// What the core allows, as ranges.
fn ranges(code: Code) -> Vec<Value> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for status in (100..=599).filter(|status| Statuses::allowed(code, *status)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == status => *last = status,
            _ => ranges.push((status, status)),
        }
    }
    let ranges = ranges.into_iter();
    ranges
        .map(|(least, most)| json!({ "minimum": least, "maximum": most }))
        .collect()
}
