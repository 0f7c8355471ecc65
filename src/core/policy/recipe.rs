//! The `command` table of an operation: how its commands are hashed.
//!
//! Owns the spelling of the recipe; what a recipe means is `core::command`'s.

use super::reader::{Faults, Field, Names, Table};
use crate::core::command::Recipe;

/// Reads the recipe.
pub(super) fn read(table: &Table<'_>, faults: &mut Faults) -> Option<Recipe> {
    const NAMES: Names<'_> = Names {
        built: &["version"],
        planned: &[
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
    };
    let inner = match table.table("command", &NAMES, faults) {
        Field::Absent => return Some(Recipe::default()),
        Field::Faulty => return None,
        Field::Is(inner) => inner,
    };
    let mut recipe = Recipe::default();
    if let Some(value) = inner.get("version") {
        let version = value
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n > 0);
        if version.is_none() {
            faults.add(inner.path("version"), "must be a whole number from 1");
        }
        recipe.version = version?;
    }
    Some(recipe)
}
