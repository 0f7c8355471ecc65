//! Recovery: how the origin is asked what became of a command.
//!
//! Owns the probe's template, the values that are kept for it, and the reading of its answer. It
//! never decides what a finding makes of a record (`step` does). It is correct because an answer
//! is a verdict only if a rule of the policy says so: what no rule matches, what cannot be read,
//! what names two candidates and what is about another operation is inconclusive.

use serde_json::Value;

use super::command::{Pointer, source};
use super::reply::{Body, READ_AHEAD, Reply};
use super::time::Span;

mod template;

pub use template::{Placeholder, Template};

/// The recovery of an operation whose origin can be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconcile {
    /// Path and query of the question.
    pub probe: Template,
    /// Values that a candidate must have to be ours.
    pub confirm: Vec<(Pointer, Template)>,
    /// How long after the outcome became unknown a "not there" counts.
    pub settle_after: Span,
    /// The pauses before the probes; the last repeats.
    pub schedule: Vec<Span>,
    /// When a record that is still unknown needs a person.
    pub escalate_after: Span,
    /// What answers mean; the first rule that matches decides.
    pub verdicts: Vec<Rule>,
    /// Where in the probe's answer the receipt is; all of it if there is none.
    pub reply_pointer: Option<Pointer>,
    /// The status of a rebuilt receipt.
    pub reply_status: u16,
    /// The status of a rebuilt failure.
    pub failed_status: u16,
}

/// One rule of the verdicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The statuses that it is about.
    pub statuses: Vec<u16>,
    /// Where in the answer to look; nowhere, if the status says enough.
    pub pointer: Option<Pointer>,
    /// What must be there.
    pub test: Test,
    /// What that means.
    pub ruling: Ruling,
}

/// What must be at the place of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Anything.
    Exists,
    /// An array of this length.
    Length(usize),
    /// One of these values.
    OneOf(Vec<Value>),
}

/// What a rule says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ruling {
    /// The effect happened.
    Applied,
    /// It did not happen and will not.
    Failed,
    /// It has not happened.
    NotApplied,
    /// It is still being worked on.
    Pending,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The effect happened; this is what can be told of it.
    Applied(Reply),
    /// It did not happen and will not.
    Failed(Reply),
    /// Nothing that decides.
    Inconclusive,
    /// It has not happened.
    NotApplied,
    /// It is still being worked on.
    Pending,
}

/// A value that is kept for the probe, by the spelling of its placeholder.
pub type Kept = (String, String);

impl Reconcile {
    /// Every value that has to be kept with a claim, so that the origin can be asked later.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let confirming = self
            .confirm
            .iter()
            .flat_map(|(_, template)| template.placeholders());
        self.probe
            .placeholders()
            .chain(confirming)
            .filter(|placeholder| **placeholder != Placeholder::Reference)
    }

    /// Path and query of the question; nothing if a value was not kept with the claim.
    #[must_use]
    pub fn target(&self, reference: &str, kept: &[Kept]) -> Option<String> {
        self.probe.fill(reference, kept, template::escape)
    }

    /// The pause before a probe, by how many were sent, with up to a tenth of jitter on top.
    #[must_use]
    pub fn pause(&self, sent: u32, draw: u64) -> Span {
        let sent = usize::try_from(sent).unwrap_or(usize::MAX);
        let Span(pause) = self
            .schedule
            .get(sent)
            .or_else(|| self.schedule.last())
            .copied()
            .unwrap_or(Span::seconds(60));
        let most = pause.div_euclid(10).saturating_add(1);
        Span(pause.saturating_add(draw.checked_rem(most).unwrap_or(0)))
    }

    /// Reads the answer of a probe.
    #[must_use]
    pub fn read(&self, status: u16, body: &[u8], reference: &str, kept: &[Kept]) -> Finding {
        let document = serde_json::from_slice::<Value>(body).ok();
        let Some(rule) = self
            .verdicts
            .iter()
            .find(|rule| rule.matches(status, document.as_ref()))
        else {
            return Finding::Inconclusive;
        };
        let found = matches!(rule.ruling, Ruling::Applied | Ruling::Failed);
        if !self.confirmed(document.as_ref(), reference, kept, found) {
            return Finding::Inconclusive;
        }
        match rule.ruling {
            Ruling::Applied => Finding::Applied(self.receipt(body, document.as_ref())),
            Ruling::Failed => Finding::Failed(self.failure(body, document.as_ref())),
            Ruling::NotApplied => Finding::NotApplied,
            Ruling::Pending => Finding::Pending,
        }
    }

    /// Whether what was found is ours. What was found must show every value; where nothing was
    /// found, no value may be another one.
    fn confirmed(
        &self,
        document: Option<&Value>,
        reference: &str,
        kept: &[Kept],
        found: bool,
    ) -> bool {
        self.confirm.iter().all(|(pointer, template)| {
            let Some(expected) = template.fill(reference, kept, str::to_owned) else {
                return false;
            };
            match document.and_then(|document| look_up(document, pointer)) {
                Some(Value::String(text)) => *text == expected,
                Some(Value::Number(number)) => number.to_string() == expected,
                Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => false,
                None => !found,
            }
        })
    }

    fn receipt(&self, body: &[u8], document: Option<&Value>) -> Reply {
        let body = self.excerpt(body, document).map_or(Body::Lost, Body::whole);
        rebuilt(self.reply_status, body)
    }

    fn failure(&self, body: &[u8], document: Option<&Value>) -> Reply {
        let body = self.excerpt(body, document).unwrap_or_default();
        rebuilt(self.failed_status, Body::whole(body))
    }

    /// The bytes of the answer, or of its part that the policy names, as the origin spelled them.
    fn excerpt(&self, body: &[u8], document: Option<&Value>) -> Option<Vec<u8>> {
        let bytes = match &self.reply_pointer {
            None => body,
            Some(pointer) => {
                // The same one-element rule as for verdicts.
                look_up(document?, pointer)?;
                source(body, pointer)?
            }
        };
        (bytes.len() <= READ_AHEAD).then(|| bytes.to_vec())
    }
}

fn rebuilt(status: u16, body: Body) -> Reply {
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    Reply {
        status,
        headers,
        body,
        seal: None,
    }
}

impl Rule {
    fn matches(&self, status: u16, document: Option<&Value>) -> bool {
        if !self.statuses.contains(&status) {
            return false;
        }
        let Some(pointer) = &self.pointer else {
            return true;
        };
        let Some(value) = document.and_then(|document| look_up(document, pointer)) else {
            return false;
        };
        match &self.test {
            Test::Exists => true,
            Test::Length(length) => value.as_array().is_some_and(|array| array.len() == *length),
            Test::OneOf(values) => values.contains(value),
        }
    }
}

/// The value at a place. A way through an array leads on only if that has exactly one element: of
/// two candidates neither is taken.
fn look_up<'a>(document: &'a Value, pointer: &Pointer) -> Option<&'a Value> {
    pointer
        .tokens()
        .iter()
        .try_fold(document, |value, token| match value {
            Value::Object(members) => members.get(token),
            Value::Array(items) => match (items.as_slice(), token.as_str()) {
                ([item], "0") => Some(item),
                _ => None,
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
}

#[cfg(test)]
mod tests;
