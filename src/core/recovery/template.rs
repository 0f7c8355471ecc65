//! Text with placeholders, for what is asked of the origin.
//!
//! Owns their spelling, and how kept values are put in: percent-encoded, so that a value stays one
//! value wherever in a target it is put. A value that was not kept makes no text at all.

use super::Kept;
use crate::core::command::Pointer;

/// Text with placeholders.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Text(String),
    Value(Placeholder),
}

/// A value that a template takes from the command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Placeholder {
    /// A scalar of the JSON body.
    Body(Pointer),
    /// The idempotency key.
    Key,
    /// A parameter of the path.
    Path(String),
    /// The reference that the origin was given.
    Reference,
}

impl Template {
    /// Reads `text {placeholder} text`; the error says what is wrong with it.
    ///
    /// # Errors
    /// A brace without its partner, or a placeholder that does not exist.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err("a \"{\" needs its \"}\"".to_owned());
            };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Value(Placeholder::parse(name)?));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        let stray = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains('}'));
        if pieces.iter().any(stray) {
            return Err("a \"}\" needs its \"{\"".to_owned());
        }
        Ok(Self { pieces })
    }

    /// The placeholders, in their order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Value(placeholder) => Some(placeholder),
        })
    }

    /// The text with its values put in by `put`; nothing if one of them was not kept.
    pub(super) fn fill(
        &self,
        reference: &str,
        kept: &[Kept],
        put: fn(&str) -> String,
    ) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Value(Placeholder::Reference) => text.push_str(&put(reference)),
                Piece::Value(placeholder) => {
                    let spelling = placeholder.to_string();
                    let (_, value) = kept.iter().find(|(name, _)| *name == spelling)?;
                    text.push_str(&put(value));
                }
            }
        }
        Some(text)
    }
}

impl Placeholder {
    fn parse(name: &str) -> Result<Self, String> {
        if let Some(pointer) = name.strip_prefix("body:") {
            return Pointer::parse(pointer)
                .map(Self::Body)
                .map_err(str::to_owned);
        }
        if let Some(name) = name.strip_prefix("path.").filter(|name| !name.is_empty()) {
            return Ok(Self::Path(name.to_owned()));
        }
        match name {
            "key" => Ok(Self::Key),
            "reference" => Ok(Self::Reference),
            _ => Err(
                "there is no such placeholder; there are {reference}, {key}, {path.NAME} \
                      and {body:/pointer}"
                    .to_owned(),
            ),
        }
    }
}

impl std::fmt::Display for Placeholder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Body(pointer) => write!(f, "body:{pointer}"),
            Self::Key => f.write_str("key"),
            Self::Path(name) => write!(f, "path.{name}"),
            Self::Reference => f.write_str("reference"),
        }
    }
}

/// Percent-encodes a value, so that it stays one value wherever in a target it is put.
pub(super) fn escape(value: &str) -> String {
    crate::core::parts::escape(value.as_bytes())
}
