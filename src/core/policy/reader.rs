//! Reads tables of the policy: names, types and values, with the path of every fault.
//!
//! Owns what is common to all fields: unknown names, wrong types, choices,
//! spans and sizes. It knows no field by name. It stops at no fault: what cannot
//! be read is reported and left out, so that one run finds everything. Values are shown shortened,
//! since something secret may stand in the wrong place.

use std::fmt;

use serde_json::{Map, Value};

use super::declare::Known;
use super::spelling::nearest;
use crate::core::time::Span;

/// One fault of a policy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyError {
    /// Where it is: `operations[0].keep.for` or `ONCEGATE_OP_NAME.keep.for`.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// All faults so far.
#[derive(Default)]
pub(super) struct Faults(Vec<PolicyError>);

impl Faults {
    pub(super) fn add(&mut self, path: String, message: impl Into<String>) {
        self.0.push(PolicyError {
            path,
            message: message.into(),
        });
    }

    /// Takes the value, or reports the message.
    pub(super) fn check<T>(&mut self, path: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.add(path.to_owned(), message))
            .ok()
    }

    pub(super) fn into_errors(self) -> Vec<PolicyError> {
        self.0
    }
}

/// What stood in a field.
pub(super) enum Field<T> {
    /// Nothing.
    Absent,
    /// Something that could not be read; it has been reported.
    Faulty,
    /// This.
    Is(T),
}

impl<T> Field<T> {
    /// The value, or the default where nothing was written; nothing where it was faulty.
    pub(super) fn or(self, default: T) -> Option<T> {
        match self {
            Self::Absent => Some(default),
            Self::Faulty => None,
            Self::Is(value) => Some(value),
        }
    }

    /// The value; where nothing was written that is a fault.
    pub(super) fn required(self, path: String, write: &str, faults: &mut Faults) -> Option<T> {
        match self {
            Self::Absent => {
                faults.add(path, format!("must be written: {write}"));
                None
            }
            Self::Faulty => None,
            Self::Is(value) => Some(value),
        }
    }

    /// The value, if one was written; nothing where it was faulty.
    pub(super) fn optional(self) -> Option<Option<T>> {
        match self {
            Self::Absent => Some(None),
            Self::Faulty => None,
            Self::Is(value) => Some(Some(value)),
        }
    }

    fn of(read: Option<T>) -> Self {
        read.map_or(Self::Faulty, Self::Is)
    }
}

/// A table and where it is.
pub(super) struct Table<'a> {
    path: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Table<'a> {
    /// Takes a value as a table and reports every name that it should not hold.
    pub(super) fn open(
        value: &'a Value,
        path: &str,
        names: &dyn Known,
        faults: &mut Faults,
    ) -> Option<Self> {
        let Value::Object(fields) = value else {
            faults.add(path.to_owned(), wrong_type("a table", value));
            return None;
        };
        let table = Self {
            path: path.to_owned(),
            fields,
        };
        let built = names.built();
        for name in fields.keys().map(String::as_str) {
            if !built.contains(&name) {
                faults.add(table.path(&short(name)), unknown(name, &built));
            }
        }
        Some(table)
    }

    /// The path of a field; the fields of the outermost table stand alone.
    pub(super) fn path(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn table(&self, name: &str, names: &dyn Known, faults: &mut Faults) -> Field<Self> {
        self.get(name).map_or(Field::Absent, |value| {
            Field::of(Self::open(value, &self.path(name), names, faults))
        })
    }

    pub(super) fn list(&self, name: &str, faults: &mut Faults) -> Field<&'a [Value]> {
        self.typed(name, "a list", faults, |value| {
            value.as_array().map(Vec::as_slice)
        })
    }

    /// A table whose names are not fixed.
    pub(super) fn entries(&self, name: &str, faults: &mut Faults) -> Field<&'a Map<String, Value>> {
        self.typed(name, "a table", faults, Value::as_object)
    }

    pub(super) fn flag(&self, name: &str, faults: &mut Faults) -> Field<bool> {
        self.typed(name, "true or false", faults, Value::as_bool)
    }

    fn typed<T>(
        &self,
        name: &str,
        wanted: &str,
        faults: &mut Faults,
        take: fn(&'a Value) -> Option<T>,
    ) -> Field<T> {
        let Some(value) = self.get(name) else {
            return Field::Absent;
        };
        let taken = take(value);
        if taken.is_none() {
            faults.add(self.path(name), wrong_type(wanted, value));
        }
        Field::of(taken)
    }

    /// A string that `read` makes something of.
    pub(super) fn text<T>(
        &self,
        name: &str,
        faults: &mut Faults,
        read: fn(&str) -> Result<T, String>,
    ) -> Field<T> {
        let Some(value) = self.get(name) else {
            return Field::Absent;
        };
        let path = self.path(name);
        Field::of(string(value, &path, faults).and_then(|text| faults.check(&path, read(text))))
    }

    pub(super) fn span(&self, name: &str, faults: &mut Faults) -> Field<Span> {
        self.text(name, faults, |text| {
            Span::parse(text).ok_or_else(|| {
                let shown = quote(text);
                format!("{shown} is not a duration: write a whole number with ms, s, m, h or d")
            })
        })
    }

    /// A size in bytes up to a limit.
    pub(super) fn size(&self, name: &str, most: usize, faults: &mut Faults) -> Field<usize> {
        let read = self.text(name, faults, |text| {
            size(text).ok_or_else(|| {
                format!(
                    "{} is not a size: write a whole number with KiB or MiB",
                    quote(text)
                )
            })
        });
        if let Field::Is(bytes) = read
            && bytes > most
        {
            faults.add(
                self.path(name),
                format!("can be {} MiB at most", most >> 20),
            );
            return Field::Faulty;
        }
        read
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        built: &[(&str, T)],
        faults: &mut Faults,
    ) -> Field<T> {
        let Some(value) = self.get(name) else {
            return Field::Absent;
        };
        let path = self.path(name);
        let Some(text) = string(value, &path, faults) else {
            return Field::Faulty;
        };
        let chosen = built
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, choice)| *choice);
        if chosen.is_none() {
            let words: Vec<&str> = built.iter().map(|(word, _)| *word).collect();
            faults.add(path, no_choice(text, &words));
        }
        Field::of(chosen)
    }
}

/// Takes a value as a string.
pub(super) fn string<'a>(value: &'a Value, path: &str, faults: &mut Faults) -> Option<&'a str> {
    let text = value.as_str();
    if text.is_none() {
        faults.add(path.to_owned(), wrong_type("a string", value));
    }
    text
}

/// Takes a value as the status of an answer.
pub(super) fn status(value: &Value, path: &str, faults: &mut Faults) -> Option<u16> {
    let status = value.as_u64().and_then(|number| u16::try_from(number).ok());
    let status = status.filter(|status| (100..=599).contains(status));
    if status.is_none() {
        faults.add(
            path.to_owned(),
            "must be a status: a whole number from 100 to 599",
        );
    }
    status
}

/// A value as it may be shown: in quotes and not longer than 40 characters.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", short(text))
}

/// Words as they are listed in a message.
pub(super) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(", ")
}

/// The fault of a word that is not among those that can be written.
pub(super) fn no_choice(text: &str, words: &[&str]) -> String {
    format!("{} is not one of {}", quote(text), listed(words))
}

/// The fault of a value of the wrong type.
pub(super) fn wrong_type(wanted: &str, value: &Value) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    };
    format!("must be {wanted}, not {found}")
}

fn short(text: &str) -> String {
    const MOST: usize = 40;
    let shown = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { '?' } else { c });
    let mut out: String = shown.collect();
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

fn unknown(name: &str, known: &[&str]) -> String {
    let hint = match nearest(name, known) {
        Some(word) => format!("did you mean {}? ", quote(word)),
        None => String::new(),
    };
    format!("unknown name; {hint}known are {}", listed(known))
}

/// Reads `64KiB` or `4MiB`; a size of zero is not one.
fn size(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let unit: usize = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    let number: usize = number.parse().ok()?;
    number.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_whole_number_with_a_unit() {
        for (text, bytes) in [("64KiB", 65_536), ("4MiB", 4_194_304), ("100B", 100)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in [
            "", "1", "KiB", "0KiB", "1kib", "1KB", "1 KiB", "-1KiB", "1.5MiB", "1GiB",
        ] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(size("99999999999999999999MiB"), None);
    }

    #[test]
    fn what_is_shown_is_short_and_on_one_line() {
        assert_eq!(quote("a\nb"), "\"a?b\"");
        assert_eq!(quote(&"s".repeat(40)), format!("\"{}\"", "s".repeat(40)));
        assert_eq!(quote(&"é".repeat(41)), format!("\"{}…\"", "é".repeat(40)));
    }
}
