//! The `command` table of an operation: how its commands are hashed.
//!
//! Owns the spelling of the recipe and of its earlier versions; what a recipe means is
//! `core::command`'s. Two recipes never have one version, so that a record finds its own.

use serde_json::Value;

use super::reader::{Faults, Field, Names, Table, no_choice, quote, string, wrong_type};
use crate::core::command::{
    JsonText, Pointer, Precision, QueryRule, Recipe, WhenMalformed, may_be_semantic,
};

const NAMES: Names<'_> = Names {
    built: &[
        "version",
        "query",
        "target",
        "headers",
        "ignore",
        "decimals",
        "casefold",
        "defaults",
        "timestamps",
        "echo",
        "when_malformed",
        "earlier",
    ],
    planned: &[],
};

/// Reads the recipe of an operation with all its earlier versions.
pub(super) fn read(table: &Table<'_>, faults: &mut Faults) -> Option<Recipe> {
    let inner = match table.table("command", &NAMES, faults) {
        Field::Absent => return Some(Recipe::default()),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let version = version(&inner, faults).or(1);
    let recipe = options(&inner, version, faults);
    let earlier = earlier(&inner, version, faults);
    Some(Recipe {
        earlier: earlier?,
        ..recipe?
    })
}

fn earlier(table: &Table<'_>, current: Option<u32>, faults: &mut Faults) -> Option<Vec<Recipe>> {
    let names: Vec<&str> = NAMES
        .built
        .iter()
        .copied()
        .filter(|name| *name != "earlier")
        .collect();
    let names = Names {
        built: &names,
        planned: NAMES.planned,
    };
    let items = table.list("earlier", faults).or(&[])?;
    let mut versions: Vec<u32> = current.into_iter().collect();
    let mut recipes = Vec::new();
    for (n, value) in items.iter().enumerate() {
        let path = format!("{}[{n}]", table.path("earlier"));
        let Some(inner) = Table::open(value, &path, &names, faults) else {
            continue;
        };
        let path = inner.path("version");
        let write = "the version that the recipe had";
        let version = version(&inner, faults).required(path.clone(), write, faults);
        if let Some(version) = version {
            if versions.contains(&version) {
                faults.add(path, format!("{version} is the version of another recipe"));
            }
            versions.push(version);
        }
        recipes.extend(options(&inner, version, faults));
    }
    (recipes.len() == items.len()).then_some(recipes)
}

fn version(table: &Table<'_>, faults: &mut Faults) -> Field<u32> {
    let Some(value) = table.get("version") else {
        return Field::Absent;
    };
    let version = value.as_u64().and_then(|number| u32::try_from(number).ok());
    match version.filter(|version| *version > 0) {
        Some(version) => Field::Is(version),
        None => {
            faults.add(table.path("version"), "must be a whole number from 1");
            Field::Faulty
        }
    }
}

/// Reads everything but the versions.
fn options(table: &Table<'_>, version: Option<u32>, faults: &mut Faults) -> Option<Recipe> {
    let query = query(table, faults);
    let target = table.flag("target", faults).or(true);
    let headers = strings(table, "headers", faults, header);
    let [ignore, decimals, casefold, echo] = ["ignore", "decimals", "casefold", "echo"]
        .map(|name| strings(table, name, faults, pointer));
    let defaults = places(table, "defaults", faults, |value, path, faults| {
        let text = JsonText::parse(&value.to_string());
        faults.check(path, text.map_err(|malformed| malformed.detail))
    });
    let timestamps = places(table, "timestamps", faults, precision);
    let malformed = [
        ("refuse", WhenMalformed::Refuse),
        ("bytes", WhenMalformed::Bytes),
    ];
    let when_malformed = table
        .choice("when_malformed", &malformed, &[], faults)
        .or(WhenMalformed::Refuse);
    Some(Recipe {
        version: version?,
        query: query?,
        target: target?,
        headers: headers?,
        ignore: ignore?,
        decimals: decimals?,
        casefold: casefold?,
        defaults: defaults?,
        timestamps: timestamps?,
        echo: echo?,
        when_malformed: when_malformed?,
        earlier: Vec::new(),
    })
}

fn query(table: &Table<'_>, faults: &mut Faults) -> Option<QueryRule> {
    let path = table.path("query");
    match table.get("query") {
        None => Some(QueryRule::All),
        Some(Value::Array(_)) => {
            strings(table, "query", faults, |text| Ok(text.to_owned())).map(QueryRule::Names)
        }
        Some(Value::String(text)) => {
            let rule = match text.as_str() {
                "all" => Ok(QueryRule::All),
                "none" => Ok(QueryRule::None),
                _ => Err(format!(
                    "{}, or a list of names",
                    no_choice(text, &["all", "none"], false)
                )),
            };
            faults.check(&path, rule)
        }
        Some(value) => {
            faults.add(
                path,
                wrong_type("\"all\", \"none\" or a list of names", value),
            );
            None
        }
    }
}

fn header(text: &str) -> Result<String, String> {
    let name = super::values::header(text)?;
    if may_be_semantic(&name) {
        Ok(name)
    } else {
        Err(format!(
            "{} says how a request is sent, not what is meant",
            quote(&name)
        ))
    }
}

fn pointer(text: &str) -> Result<Pointer, String> {
    Pointer::parse(text).map_err(|why| format!("{}: {why}", quote(text)))
}

fn precision(value: &Value, path: &str, faults: &mut Faults) -> Option<Precision> {
    const WORDS: [&str; 4] = ["second", "millisecond", "microsecond", "nanosecond"];
    let text = string(value, path, faults)?;
    let precision = match text {
        "second" => Ok(Precision::Second),
        "millisecond" => Ok(Precision::Millisecond),
        "microsecond" => Ok(Precision::Microsecond),
        "nanosecond" => Ok(Precision::Nanosecond),
        _ => Err(no_choice(text, &WORDS, false)),
    };
    faults.check(path, precision)
}

/// Reads a list of strings, each made something of.
fn strings<T>(
    table: &Table<'_>,
    name: &str,
    faults: &mut Faults,
    read: fn(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let items = table.list(name, faults).or(&[])?;
    let mut values = Vec::new();
    for (n, value) in items.iter().enumerate() {
        let path = format!("{}[{n}]", table.path(name));
        let text = string(value, &path, faults);
        values.extend(text.and_then(|text| faults.check(&path, read(text))));
    }
    (values.len() == items.len()).then_some(values)
}

/// Reads a table from JSON pointers to values.
fn places<T>(
    table: &Table<'_>,
    name: &str,
    faults: &mut Faults,
    read: fn(&Value, &str, &mut Faults) -> Option<T>,
) -> Option<Vec<(Pointer, T)>> {
    let entries = match table.entries(name, faults) {
        Field::Absent => return Some(Vec::new()),
        Field::Faulty => return None,
        Field::Is(entries) => entries,
    };
    let mut places = Vec::new();
    for (place, value) in entries {
        let path = format!("{}[{}]", table.path(name), quote(place));
        let pointer = faults.check(&path, Pointer::parse(place).map_err(str::to_owned));
        let value = read(value, &path, faults);
        places.extend(pointer.zip(value));
    }
    (places.len() == entries.len()).then_some(places)
}
