//! The rules of a recipe, arranged by the place they speak of.
//!
//! Owns the way from the pointers of a recipe to the one rule that holds at a place of a body. It
//! never reads a body. It is correct because every node is built from the set of pointers that
//! lead to it, so that `/items/0` and `/items/*` both hold at the first item, and following a body
//! downwards is one look-up a step.

use super::json;
use super::pointer::{self, Pointer};
use super::recipe::{Precision, Recipe};

/// The number of a node.
pub(super) type NodeId = u32;

/// Where every body starts.
pub(super) const ROOT: NodeId = 0;

/// What holds at one place.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    /// The value does not count.
    pub(super) drop: bool,
    /// The place of the value is asked for.
    pub(super) watch: bool,
    /// A string that is a decimal is compared as one.
    pub(super) decimal: bool,
    /// ASCII letters are compared without case.
    pub(super) casefold: bool,
    /// A string that is an RFC 3339 time is compared as one.
    pub(super) timestamp: Option<Precision>,
    /// The value that means the same as none.
    pub(super) default: Option<Default>,
}

/// A value that means the same as none.
#[derive(Clone, Debug)]
pub(super) struct Default {
    /// As canonical JSON.
    pub(super) json: Vec<u8>,
    /// As the text of a form field; none if it is no scalar.
    pub(super) field: Option<Vec<u8>>,
}

impl Rule {
    /// Whether a string needs a second look.
    pub(super) fn rewrites(&self) -> bool {
        self.decimal || self.casefold || self.timestamp.is_some()
    }

    fn merge(&mut self, other: &Self) {
        self.drop |= other.drop;
        self.watch |= other.watch;
        self.decimal |= other.decimal;
        self.casefold |= other.casefold;
        // Of two precisions at one place the coarser holds.
        self.timestamp = match (self.timestamp, other.timestamp) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if self.default.is_none() {
            self.default.clone_from(&other.default);
        }
    }
}

#[derive(Debug, Default)]
struct Node {
    rule: Rule,
    /// Object members, by their canonical JSON name.
    members: Vec<(Vec<u8>, NodeId)>,
    /// Array items with rules of their own.
    items: Vec<(usize, NodeId)>,
    /// Every other array item.
    star: Option<NodeId>,
}

/// All rules of a recipe.
#[derive(Debug)]
pub(super) struct Rules {
    nodes: Vec<Node>,
}

type Entry<'a> = (&'a [String], Rule);

impl Rules {
    /// The rules of a recipe; none if it has none, the common case.
    pub(super) fn of(recipe: &Recipe) -> Option<Self> {
        let mut entries: Vec<(&Pointer, Rule)> = Vec::new();
        let dropped = Rule {
            drop: true,
            ..Rule::default()
        };
        let decimal = Rule {
            decimal: true,
            ..Rule::default()
        };
        let casefold = Rule {
            casefold: true,
            ..Rule::default()
        };
        entries.extend(recipe.ignore.iter().map(|at| (at, dropped.clone())));
        entries.extend(recipe.echo.iter().map(|at| (at, dropped.clone())));
        entries.extend(recipe.decimals.iter().map(|at| (at, decimal.clone())));
        entries.extend(recipe.casefold.iter().map(|at| (at, casefold.clone())));
        entries.extend(recipe.timestamps.iter().map(|(at, precision)| {
            (
                at,
                Rule {
                    timestamp: Some(*precision),
                    ..Rule::default()
                },
            )
        }));
        // Where two defaults meet, the first added holds: an index before `*`, however written.
        let mut defaults: Vec<_> = recipe.defaults.iter().collect();
        defaults.sort_by(|(a, x), (b, y)| (b, y.as_str()).cmp(&(a, x.as_str())));
        entries.extend(defaults.into_iter().map(|(at, value)| {
            let json = value.as_str().into();
            let default = Default { json, field: None };
            let rule = Rule {
                default: Some(default),
                ..Rule::default()
            };
            (at, rule)
        }));
        if entries.is_empty() {
            return None;
        }
        let mut rules = Self::build(&entries);
        rules.settle_defaults();
        Some(rules)
    }

    /// Rules that ask for the places of these pointers and change nothing.
    pub(super) fn watching<'a>(pointers: impl Iterator<Item = &'a Pointer>) -> Self {
        let watch = Rule {
            watch: true,
            ..Rule::default()
        };
        Self::build(
            &pointers
                .map(|pointer| (pointer, watch.clone()))
                .collect::<Vec<_>>(),
        )
    }

    fn build(entries: &[(&Pointer, Rule)]) -> Self {
        let mut rules = Self { nodes: Vec::new() };
        let entries = entries
            .iter()
            .map(|(at, rule)| (at.tokens(), rule.clone()))
            .collect();
        rules.add(entries);
        rules
    }

    /// Adds the node that these pointers lead to, and all below it.
    fn add(&mut self, entries: Vec<Entry<'_>>) -> NodeId {
        let id = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let mut rule = Rule::default();
        let mut below: Vec<(&str, Entry<'_>)> = Vec::new();
        for (tokens, part) in entries {
            match tokens.split_first() {
                None => rule.merge(&part),
                Some((first, rest)) => below.push((first, (rest, part))),
            }
        }
        self.nodes.push(Node {
            rule,
            ..Node::default()
        });
        let chosen = |wanted: &dyn Fn(&str) -> bool| -> Vec<Entry<'_>> {
            let matching = below.iter().filter(|(token, _)| wanted(token));
            matching.map(|(_, entry)| entry.clone()).collect()
        };
        let mut tokens: Vec<&str> = below.iter().map(|(token, _)| *token).collect();
        tokens.sort_unstable();
        tokens.dedup();
        let star = tokens
            .contains(&"*")
            .then(|| self.add(chosen(&|token| token == "*")));
        let mut members = Vec::new();
        let mut items = Vec::new();
        for name in tokens {
            members.push((json::quoted(name), self.add(chosen(&|token| token == name))));
            if let Some(index) = pointer::index(name) {
                let both = self.add(chosen(&|token| token == name || token == "*"));
                items.push((index, both));
            }
        }
        if let Some(node) = self.node_mut(id) {
            (node.members, node.items, node.star) = (members, items, star);
        }
        id
    }

    /// Brings every default into the form in which values are compared with it.
    fn settle_defaults(&mut self) {
        // From the leaves upwards: a default may hold values with rules and defaults of their own.
        for id in (0..self.nodes.len()).rev() {
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            let Some(default) = self.node_mut(id).and_then(|node| node.rule.default.take()) else {
                continue;
            };
            let value = json::read_below(&default.json, self, id);
            let json = value.map(|value| value.to_vec()).unwrap_or_default();
            let field = match json.as_slice() {
                [b'{' | b'[', ..] | [] => None,
                [b'"', ..] => json::unquoted(&json),
                _ => Some(default.json),
            };
            if let Some(node) = self.node_mut(id) {
                node.rule.default = Some(Default { json, field });
            }
        }
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(usize::try_from(id).ok()?)
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(usize::try_from(id).ok()?)
    }

    /// The rule of a node.
    pub(super) fn rule(&self, id: NodeId) -> Option<&Rule> {
        self.node(id).map(|node| &node.rule)
    }

    /// The node of an object's member, by its canonical JSON name.
    pub(super) fn member(&self, id: NodeId, quoted: &[u8]) -> Option<NodeId> {
        let members = self.node(id)?.members.iter();
        members
            .clone()
            .find(|(name, _)| name == quoted)
            .map(|(_, node)| *node)
    }

    /// The node of an array's item.
    pub(super) fn item(&self, id: NodeId, index: usize) -> Option<NodeId> {
        let node = self.node(id)?;
        let own = node.items.iter().find(|(number, _)| *number == index);
        own.map(|(_, node)| *node).or(node.star)
    }

    /// The rule of a field of a form, a query or a multipart body, by its decoded name.
    pub(super) fn field(&self, name: &[u8]) -> Option<&Rule> {
        let name = std::str::from_utf8(name).ok()?;
        self.rule(self.member(ROOT, &json::quoted(name))?)
    }
}
