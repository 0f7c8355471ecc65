//! The `command` table of an operation: how its commands are hashed.
//!
//! Owns the spelling of the recipe and of its earlier versions; what a recipe means is
//! `core::command`'s. Two recipes never have one version, so that a record finds its own.

use serde_json::Value;

use super::declare::{Choice, Decl, Flag, Known, field};
#[cfg(feature = "cli")]
use super::declare::{Kind, forms};
use super::reader::{Faults, Field, Table, quote, string, wrong_type};
use crate::core::command::{
    JsonText, Pointer, Precision, QueryRule, Recipe, WhenMalformed, may_be_semantic,
};

const TARGET: Flag = Flag {
    name: "target",
    default: true,
};

const WHEN_MALFORMED: Choice<WhenMalformed> = Choice {
    name: "when_malformed",
    built: &[
        ("refuse", WhenMalformed::Refuse),
        ("bytes", WhenMalformed::Bytes),
    ],
    default: Some(WhenMalformed::Refuse),
};

const QUERY: Choice<Query> = Choice {
    name: "query",
    built: &[("all", Query::All), ("none", Query::None)],
    default: Some(Query::All),
};

/// The rules for the query that are words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Query {
    All,
    None,
}

const PRECISIONS: Choice<Precision> = Choice {
    name: "timestamps",
    built: &[
        ("second", Precision::Second),
        ("millisecond", Precision::Millisecond),
        ("microsecond", Precision::Microsecond),
        ("nanosecond", Precision::Nanosecond),
    ],
    default: None,
};

/// The fields of `command`.
pub(super) static FIELDS: &[Decl] = &[
    field!(
        "version",
        Kind::Default("1", &Kind::Number(1, Some(u32::MAX as u64))),
        "The version of this recipe: change it with any other field of this table."
    ),
    field!(
        QUERY.name,
        Kind::Either(&[Kind::Words(&QUERY), Kind::List(0, &Kind::Text(forms::ANY)),]),
        "Which parameters of the query count: all, none or those with these names."
    ),
    field!(
        TARGET.name,
        TARGET.kind(),
        "Whether method and path count; false for one operation with several paths."
    ),
    field!(
        "headers",
        Kind::List(0, &Kind::Text(forms::HEADER)),
        "Request headers that are part of the command."
    ),
    field!("ignore", POINTERS, "Values of the body that do not count."),
    field!(
        "decimals",
        POINTERS,
        "Strings that hold a number and are compared as one."
    ),
    field!(
        "casefold",
        POINTERS,
        "Strings whose ASCII letters are compared without case."
    ),
    field!(
        "defaults",
        Kind::Map(forms::POINTER, &Kind::Anything),
        "Values that mean the same whether they are there or not."
    ),
    field!(
        PRECISIONS.name,
        Kind::Map(forms::POINTER, &Kind::Words(&PRECISIONS)),
        "Strings that hold an RFC 3339 time, compared as a point in time of this precision."
    ),
    field!(
        "echo",
        POINTERS,
        "Values that do not count and that a replayed reply takes from the retry."
    ),
    field!(
        WHEN_MALFORMED.name,
        Kind::Words(&WHEN_MALFORMED),
        "What a body is that is not what its media type says."
    ),
    field!(
        EARLIER,
        Kind::List(0, &Kind::TableBut(|| FIELDS, EARLIER, "version")),
        "The recipes of earlier versions, by which records of their time are judged."
    ),
];

const EARLIER: &str = "earlier";

#[cfg(feature = "cli")]
const POINTERS: Kind = Kind::List(0, &Kind::Text(forms::POINTER));

/// The fields of an earlier recipe: those of the current one, without earlier ones.
struct WithoutEarlier;

impl Known for WithoutEarlier {
    fn built(&self) -> Vec<&str> {
        let mut names = FIELDS.built();
        names.retain(|name| *name != EARLIER);
        names
    }
}

/// Reads the recipe of an operation with all its earlier versions.
pub(super) fn read(table: &Table<'_>, faults: &mut Faults) -> Option<Recipe> {
    let inner = match table.table("command", &FIELDS, faults) {
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
    let items = table.list(EARLIER, faults).or(&[])?;
    let mut versions: Vec<u32> = current.into_iter().collect();
    let mut recipes = Vec::new();
    for (n, value) in items.iter().enumerate() {
        let path = format!("{}[{n}]", table.path(EARLIER));
        let Some(inner) = Table::open(value, &path, &WithoutEarlier, faults) else {
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
    let target = TARGET.take(table, faults);
    let headers = strings(table, "headers", faults, header);
    let [ignore, decimals, casefold, echo] = ["ignore", "decimals", "casefold", "echo"]
        .map(|name| strings(table, name, faults, pointer));
    let defaults = places(table, "defaults", faults, |value, path, faults| {
        let text = JsonText::parse(&value.to_string());
        faults.check(path, text.map_err(|malformed| malformed.detail))
    });
    let timestamps = places(table, PRECISIONS.name, faults, precision);
    let when_malformed = WHEN_MALFORMED.take(table, faults);
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
    let path = table.path(QUERY.name);
    match table.get(QUERY.name) {
        None => Some(QueryRule::All),
        Some(Value::Array(_)) => {
            strings(table, QUERY.name, faults, |text| Ok(text.to_owned())).map(QueryRule::Names)
        }
        Some(Value::String(text)) => {
            let rule = QUERY.built.iter().find(|(word, _)| word == text);
            let rule = rule.map(|(_, rule)| match rule {
                Query::All => QueryRule::All,
                Query::None => QueryRule::None,
            });
            let fault = || format!("{}, or a list of names", QUERY.fault(text));
            faults.check(&path, rule.ok_or_else(fault))
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
    let text = string(value, path, faults)?;
    let found = PRECISIONS.built.iter().find(|(word, _)| *word == text);
    let precision = found.map(|(_, precision)| *precision);
    faults.check(path, precision.ok_or_else(|| PRECISIONS.fault(text)))
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
