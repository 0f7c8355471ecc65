//! The fingerprint of a command, and how a stored one judges a retry.
//!
//! Owns the stored format of fingerprints and the rules across deploys. It never guesses: when
//! the recipe of a record is gone or has changed under its version, only a request that is the
//! same byte by byte is the same command. It is correct because digests are compared only when
//! both come from one recipe of one meaning.

use super::recipe::Recipe;
use super::sink::{Digest, sha256};
use super::{Command, Malformed};
use serde::{Deserialize, Serialize};

/// The fingerprint of a command, as records keep it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Fingerprint {
    /// The version of its recipe.
    #[serde(rename = "v")]
    pub version: u32,
    /// The digest of its recipe.
    #[serde(rename = "r", with = "hex")]
    pub recipe: [u8; 8],
    /// The digest of its canonical form.
    #[serde(rename = "d", with = "hex")]
    pub digest: Digest,
    /// The digest of the request as it was sent.
    #[serde(rename = "w", with = "hex")]
    pub raw: Digest,
    /// The semantic headers that the raw digest covers, sorted.
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
}

/// Whether a retry is the same command as the one of a record, and how that was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What it rests on.
    pub basis: Basis,
    /// The recipe changed under an equal version: a mistake worth a warning.
    pub recipe_changed: bool,
}

/// Whether a retry is the same command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It is another one, or cannot be shown to be the same.
    Different,
    /// It is the same.
    Same,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Basis {
    /// The current recipe.
    Current,
    /// An earlier recipe that the policy still has.
    Earlier,
    /// The raw digest: the recipe of the record is gone or changed. A request that differs then is
    /// never executed as a new one.
    Raw,
}

impl Judgement {
    /// Whether the retry is the same command.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.verdict == Verdict::Same
    }
}

impl Recipe {
    /// The fingerprint of a command.
    ///
    /// # Errors
    /// If the body is malformed and the recipe refuses that.
    pub fn fingerprint(&self, command: &Command<'_>) -> Result<Fingerprint, Malformed> {
        let canonical = self.canonical(command)?;
        let body = sha256(command.body);
        let headers = self.header_names();
        Ok(Fingerprint {
            version: self.version,
            recipe: self.digest(),
            digest: canonical.digest(&body),
            raw: Self::raw(command, &headers, &body),
            headers,
        })
    }
}

impl Fingerprint {
    /// Judges a retry by this stored fingerprint. `claim` is the retry's own fingerprint under the
    /// current recipe.
    #[must_use]
    pub fn judge(&self, recipe: &Recipe, claim: &Self, command: &Command<'_>) -> Judgement {
        if self.version == claim.version && self.recipe == claim.recipe {
            return judged(self.digest == claim.digest, Basis::Current, false);
        }
        let earlier = recipe
            .earlier
            .iter()
            .find(|earlier| earlier.version == self.version);
        if self.version == claim.version || earlier.is_none() {
            return self.judge_raw(claim, command, self.version == claim.version);
        }
        match earlier.filter(|earlier| earlier.digest() == self.recipe) {
            None => self.judge_raw(claim, command, true),
            Some(earlier) => match earlier.fingerprint(command) {
                Ok(claim) => judged(self.digest == claim.digest, Basis::Earlier, false),
                // The record's command was well-formed or compared by its bytes then.
                Err(_) => self.judge_raw(claim, command, false),
            },
        }
    }

    /// Judges a retry that is malformed under the current recipe. Under an earlier one it may be
    /// the command of this record all the same.
    #[must_use]
    pub fn judge_malformed(&self, recipe: &Recipe, command: &Command<'_>) -> Judgement {
        let claim = Self {
            version: recipe.version,
            recipe: recipe.digest(),
            digest: [0; 32],
            raw: Recipe::raw_of(command, &recipe.header_names()),
            headers: recipe.header_names(),
        };
        self.judge(recipe, &claim, command)
    }

    fn judge_raw(&self, claim: &Self, command: &Command<'_>, recipe_changed: bool) -> Judgement {
        let raw = if self.headers == claim.headers {
            claim.raw
        } else {
            Recipe::raw_of(command, &self.headers)
        };
        judged(self.raw == raw, Basis::Raw, recipe_changed)
    }
}

fn judged(same: bool, basis: Basis, recipe_changed: bool) -> Judgement {
    let verdict = if same {
        Verdict::Same
    } else {
        Verdict::Different
    };
    Judgement {
        verdict,
        basis,
        recipe_changed,
    }
}

/// Digests as lower-case hexadecimal text.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        from: D,
    ) -> Result<[u8; N], D::Error> {
        let text = Cow::<'_, str>::deserialize(from)?;
        read(&text).ok_or_else(|| de::Error::custom("not a digest in hexadecimal"))
    }

    fn text(bytes: &[u8]) -> String {
        let digit = |value: u8| char::from_digit(u32::from(value), 16);
        bytes
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .flatten()
            .collect()
    }

    fn read<const N: usize>(text: &str) -> Option<[u8; N]> {
        let mut out = [0; N];
        let mut digits = text.bytes().map(|byte| match byte {
            b'0'..=b'9' => Some(byte.wrapping_sub(b'0')),
            b'a'..=b'f' => Some(byte.wrapping_sub(b'a').wrapping_add(10)),
            _ => None,
        });
        for byte in &mut out {
            let (high, low) = (digits.next()??, digits.next()??);
            *byte = (high << 4) | low;
        }
        digits.next().is_none().then_some(out)
    }
}
