//! Declarations of fields: one for each name that may stand in a table of the policy.
//!
//! Owns the forms of a declaration. The reader takes names, words, defaults and limits from it, and
//! the command line makes the JSON Schema of the same. What only people read (the line that tells
//! what a field is for) and the shape of a field are left out of the Worker.

use super::reader::{Faults, Field, Table, no_choice};
use crate::core::time::Span;

/// One field of a table.
#[derive(Debug)]
pub struct Decl {
    /// Its name.
    pub name: &'static str,
    /// What may stand there, and what it is for.
    #[cfg(feature = "cli")]
    pub about: About,
}

/// What may stand in a field, and what it is for.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub struct About {
    /// What may stand there.
    pub kind: Kind,
    /// Whether it must be written.
    pub required: bool,
    /// What it is for, in one line.
    pub doc: &'static str,
}

/// What may stand in a field.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub enum Kind {
    /// Any JSON.
    Anything,
    /// With this default, as JSON.
    Default(&'static str, &'static Self),
    /// A duration.
    Duration(Option<Span>),
    /// One of several kinds.
    Either(&'static [Self]),
    /// `true` or `false`.
    Flag(bool),
    /// A list of at least so many.
    List(usize, &'static Self),
    /// A table from texts of one form to values.
    Map(Form, &'static Self),
    /// A whole number.
    Number(u64, Option<u64>),
    /// A size up to a limit, and its default.
    Size(usize, usize),
    /// The statuses of problem codes.
    Statuses,
    /// A table.
    Table(fn() -> &'static [Decl]),
    /// A table without the field of this name, in which the other must be written.
    TableBut(fn() -> &'static [Decl], &'static str, &'static str),
    /// A text.
    Text(Form),
    /// One of a few words.
    Words(&'static (dyn Words + Sync)),
}

/// The form of a text: a regular expression, and how it is written.
#[cfg(feature = "cli")]
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The expression; it may take more than the reader does, never less.
    pub pattern: &'static str,
    /// Texts that have the form.
    pub examples: &'static [&'static str],
}

/// The words of a choice.
#[cfg(feature = "cli")]
pub trait Words: std::fmt::Debug {
    /// The words of this version.
    fn words(&self) -> Vec<&'static str>;
    /// The word that is meant where nothing is written, if that does not depend on other fields.
    fn default(&self) -> Option<&'static str>;
}

/// The names that a table may hold.
pub(super) trait Known {
    /// All of them.
    fn built(&self) -> Vec<&str>;
}

impl Known for &[Decl] {
    fn built(&self) -> Vec<&str> {
        self.iter().map(|field| field.name).collect()
    }
}

impl<const N: usize> Known for [&str; N] {
    fn built(&self) -> Vec<&str> {
        self.to_vec()
    }
}

/// Declares a field that this version reads: its name, its kind and what it is for.
macro_rules! field {
    (required $name:expr, $kind:expr, $doc:expr) => {
        $crate::core::policy::declare::field!(@ $name, $kind, true, $doc)
    };
    ($name:expr, $kind:expr, $doc:expr) => {
        $crate::core::policy::declare::field!(@ $name, $kind, false, $doc)
    };
    (@ $name:expr, $kind:expr, $required:expr, $doc:expr) => {
        $crate::core::policy::declare::Decl {
            name: $name,
            #[cfg(feature = "cli")]
            about: $crate::core::policy::declare::About {
                kind: $kind,
                required: $required,
                doc: $doc,
            },
        }
    };
}

pub(super) use field;

/// One of a few words.
#[derive(Debug)]
pub(super) struct Choice<T: 'static> {
    pub(super) name: &'static str,
    /// The words of this version, and what they mean.
    pub(super) built: &'static [(&'static str, T)],
    /// What is meant where nothing is written; nothing if that depends on other fields.
    pub(super) default: Option<T>,
}

impl<T: Copy> Choice<T> {
    pub(super) fn read(&self, table: &Table<'_>, faults: &mut Faults) -> Field<T> {
        table.choice(self.name, self.built, faults)
    }

    /// The choice, or its default.
    pub(super) fn take(&self, table: &Table<'_>, faults: &mut Faults) -> Option<T> {
        match self.read(table, faults) {
            Field::Absent => self.default,
            Field::Faulty => None,
            Field::Is(choice) => Some(choice),
        }
    }
}

impl<T: PartialEq> Choice<T> {
    /// The word of a choice.
    pub(super) fn word(&self, choice: &T) -> &'static str {
        let mut built = self.built.iter();
        built
            .find(|(_, known)| known == choice)
            .map_or("", |(word, _)| word)
    }
}

impl<T> Choice<T> {
    /// The fault of a text that is none of the words.
    pub(super) fn fault(&self, text: &str) -> String {
        let words: Vec<&str> = self.built.iter().map(|(word, _)| *word).collect();
        no_choice(text, &words)
    }
}

#[cfg(feature = "cli")]
impl<T: std::fmt::Debug + PartialEq> Words for Choice<T> {
    fn words(&self) -> Vec<&'static str> {
        self.built.iter().map(|(word, _)| *word).collect()
    }

    fn default(&self) -> Option<&'static str> {
        let default = self.default.as_ref()?;
        Some(self.word(default))
    }
}

/// A duration with its default.
pub(super) struct Duration {
    pub(super) name: &'static str,
    pub(super) default: Span,
}

impl Duration {
    pub(super) fn take(&self, table: &Table<'_>, faults: &mut Faults) -> Option<Span> {
        table.span(self.name, faults).or(self.default)
    }

    #[cfg(feature = "cli")]
    pub(super) const fn kind(&self) -> Kind {
        Kind::Duration(Some(self.default))
    }
}

/// A size with its default and its limit.
pub(super) struct Size {
    pub(super) name: &'static str,
    pub(super) default: usize,
    pub(super) most: usize,
}

impl Size {
    pub(super) fn take(&self, table: &Table<'_>, faults: &mut Faults) -> Option<usize> {
        table.size(self.name, self.most, faults).or(self.default)
    }

    #[cfg(feature = "cli")]
    pub(super) const fn kind(&self) -> Kind {
        Kind::Size(self.default, self.most)
    }
}

/// A flag with its default.
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) default: bool,
}

impl Flag {
    pub(super) fn take(&self, table: &Table<'_>, faults: &mut Faults) -> Option<bool> {
        table.flag(self.name, faults).or(self.default)
    }

    #[cfg(feature = "cli")]
    pub(super) const fn kind(&self) -> Kind {
        Kind::Flag(self.default)
    }
}

/// The forms of texts that stand in more than one field.
#[cfg(feature = "cli")]
pub(super) mod forms {
    use super::{Form, Kind};

    /// Any text.
    pub(in super::super) const ANY: Form = Form {
        pattern: "",
        examples: &[],
    };
    /// A JSON pointer.
    pub(in super::super) const POINTER: Form = Form {
        pattern: "^(/([^~]|~[01])*)?$",
        examples: &["/sent_at", "/items/*/trace"],
    };
    /// The name of a header.
    pub(in super::super) const HEADER: Form = Form {
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
        examples: &["X-Api-Version"],
    };
    /// A status of HTTP.
    pub(in super::super) const STATUS: Kind = Kind::Number(100, Some(599));
}
