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
    fn fill(&self, reference: &str, kept: &[Kept], put: fn(&str) -> String) -> Option<String> {
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
        self.probe.fill(reference, kept, escape)
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

/// Percent-encodes a value, so that it stays one value wherever in a target it is put.
fn escape(value: &str) -> String {
    super::admission::escape(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const REFERENCE: &str = "og_abc.0000000000000001";

    fn rule(statuses: &[u16], pointer: Option<&str>, test: Test, ruling: Ruling) -> Rule {
        let pointer = pointer.map(|pointer| Pointer::parse(pointer).unwrap());
        Rule {
            statuses: statuses.to_vec(),
            pointer,
            test,
            ruling,
        }
    }

    fn reconcile() -> Reconcile {
        let one_of = |values: &[&str]| Test::OneOf(values.iter().map(|it| json!(it)).collect());
        let status = Some("/data/0/status");
        Reconcile {
            probe: Template::parse("/v1/payments?reference={reference}&for={path.id}").unwrap(),
            confirm: vec![(
                Pointer::parse("/data/0/reference").unwrap(),
                Template::parse("{reference}").unwrap(),
            )],
            settle_after: Span::seconds(60),
            schedule: vec![Span::seconds(2), Span::seconds(5)],
            escalate_after: Span::seconds(3_600),
            verdicts: vec![
                rule(&[200], Some("/data"), Test::Length(0), Ruling::NotApplied),
                rule(
                    &[200],
                    status,
                    one_of(&["created", "captured"]),
                    Ruling::Applied,
                ),
                rule(&[200], status, one_of(&["refused"]), Ruling::Failed),
                rule(&[200], status, one_of(&["working"]), Ruling::Pending),
                rule(&[404], None, Test::Exists, Ruling::NotApplied),
            ],
            reply_pointer: Some(Pointer::parse("/data/0").unwrap()),
            reply_status: 201,
            failed_status: 422,
        }
    }

    fn found(status: u16, body: &str) -> Finding {
        reconcile().read(status, body.as_bytes(), REFERENCE, &[])
    }

    #[test]
    fn an_answer_is_read_by_the_first_rule_that_matches() {
        let ours = |status: &str| {
            format!(
                "{{\"data\":[ {{\"reference\":\"{REFERENCE}\",\"status\":\"{status}\",\"n\":1.10}} ]}}"
            )
        };
        let Finding::Applied(receipt) = found(200, &ours("created")) else {
            panic!("a receipt")
        };
        let Body::Whole(body) = receipt.body else {
            panic!("a body")
        };
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert_eq!(receipt.status, 201);
        assert!(
            body.starts_with("{\"reference\"") && body.contains("1.10"),
            "{body}"
        );
        assert!(matches!(
            found(200, &ours("refused")),
            Finding::Failed(Reply { status: 422, .. })
        ));
        assert_eq!(found(200, &ours("working")), Finding::Pending);
        assert_eq!(found(200, "{\"data\":[]}"), Finding::NotApplied);
        assert_eq!(found(404, "nothing here"), Finding::NotApplied);
    }

    #[test]
    fn what_no_rule_matches_or_what_is_not_ours_is_no_verdict() {
        let two = format!(
            "{{\"data\":[{{\"reference\":\"{REFERENCE}\",\"status\":\"created\"}},{{\"status\":\"created\"}}]}}"
        );
        for (status, body) in [
            (200, two.as_str()),
            (
                200,
                "{\"data\":[{\"reference\":\"og_other\",\"status\":\"created\"}]}",
            ),
            (200, "{\"data\":[{\"status\":\"created\"}]}"),
            (200, "{\"data\":[{\"status\":7}]}"),
            (200, "{\"data\":"),
            (200, ""),
            (200, "null"),
            (204, ""),
            (401, "{\"data\":[]}"),
            (429, "{\"data\":[]}"),
            (500, "{\"data\":[]}"),
        ] {
            assert_eq!(
                found(status, body),
                Finding::Inconclusive,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn values_are_put_into_the_target_as_one_value_each() {
        let kept = [("path.id".to_owned(), "a/b?c&d=\u{e9}".to_owned())];
        assert_eq!(
            reconcile().target("og_x.1", &kept).as_deref(),
            Some("/v1/payments?reference=og_x.1&for=a%2Fb%3Fc%26d%3D%C3%A9"),
        );
        assert_eq!(
            reconcile().target("og_x.1", &[]),
            None,
            "a value that was not kept"
        );
    }

    #[test]
    fn a_template_says_what_is_wrong_with_it() {
        for wrong in [
            "{", "}", "a{b", "{}", "{path.}", "{secret}", "{body:x}", "{key}}",
        ] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Template::parse("{reference}/{key}/{path.id}/{body:/a/b}").is_ok());
    }

    #[test]
    fn the_last_pause_repeats_and_jitter_only_lengthens() {
        let reconcile = reconcile();
        for (sent, least, most) in [(0, 2_000, 2_200), (1, 5_000, 5_500), (9, 5_000, 5_500)] {
            for draw in [0, 1, 199, 200, u64::MAX] {
                let Span(pause) = reconcile.pause(sent, draw);
                assert!((least..=most).contains(&pause), "{sent} {draw} {pause}");
            }
        }
    }
}
