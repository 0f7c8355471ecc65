//! Many spellings of one value: members in any order, white space, escapes, numbers.

use super::Value;
use std::collections::BTreeMap;

/// Spells a value in one of many ways, chosen by numbers that are drawn one by one.
pub(crate) struct Speller {
    pub(crate) choices: Vec<u8>,
    pub(crate) at: usize,
    pub(crate) out: Vec<u8>,
}

impl Speller {
    pub(crate) fn spell(value: &Value, choices: Vec<u8>) -> Vec<u8> {
        let mut speller = Self {
            choices,
            at: 0,
            out: Vec::new(),
        };
        speller.value(value);
        speller.space();
        speller.out
    }

    pub(crate) fn choose(&mut self, below: usize) -> usize {
        let choice = self.choices[self.at % self.choices.len()];
        self.at += 1;
        (usize::from(choice) + self.at / self.choices.len()) % below
    }

    fn space(&mut self) {
        for _ in 0..self.choose(3) {
            let blank = b" \t\r\n"[self.choose(4)];
            self.out.push(blank);
        }
    }

    fn value(&mut self, value: &Value) {
        self.space();
        match value {
            Value::Null => self.out.extend(b"null"),
            Value::Bool(value) => self.out.extend(value.to_string().bytes()),
            Value::Number(negative, digits, exponent) => self.number(*negative, digits, exponent),
            Value::Text(text) => self.text(text),
            Value::List(items) => {
                self.out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(b',');
                    }
                    self.value(item);
                }
                self.space();
                self.out.push(b']');
            }
            Value::Object(members) => self.object(members),
        }
        self.space();
    }

    fn object(&mut self, members: &BTreeMap<Vec<u8>, Value>) {
        let mut left: Vec<_> = members.iter().collect();
        self.out.push(b'{');
        self.space();
        let mut first = true;
        while !left.is_empty() {
            let (name, value) = left.remove(self.choose(left.len()));
            if !first {
                self.out.push(b',');
            }
            first = false;
            self.space();
            self.text(std::str::from_utf8(name).unwrap());
            self.space();
            self.out.push(b':');
            self.value(value);
        }
        self.out.push(b'}');
    }

    fn text(&mut self, text: &str) {
        self.out.push(b'"');
        for character in text.chars() {
            let must = character < ' ' || character == '"' || character == '\\';
            if must || self.choose(4) == 0 {
                let upper = self.choose(2) == 0;
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let escape = if upper {
                        format!("\\u{unit:04X}")
                    } else {
                        format!("\\u{unit:04x}")
                    };
                    self.out.extend(escape.bytes());
                }
            } else {
                self.out.extend(character.to_string().bytes());
            }
        }
        self.out.push(b'"');
    }

    fn number(&mut self, negative: bool, digits: &str, exponent: &str) {
        if negative {
            self.out.push(b'-');
        }
        if digits == "0" {
            let zero = ["0", "0.0", "0e7", "0.00E-3"][self.choose(4)];
            return self.out.extend(zero.bytes());
        }
        let exponent: i64 = exponent.parse().unwrap();
        let point = self.choose(digits.len() + 3);
        let zeros = "0".repeat(self.choose(3));
        // The digits, with a point somewhere in, before or after them.
        let (text, shift) = match point.checked_sub(digits.len()) {
            None if point == 0 => (format!("0.{digits}{zeros}"), digits.len() as i64),
            None => {
                let (whole, fraction) = digits.split_at(point);
                (format!("{whole}.{fraction}{zeros}"), fraction.len() as i64)
            }
            Some(1) => (format!("0.00{digits}"), digits.len() as i64 + 2),
            Some(_) => (format!("{digits}{zeros}"), -(zeros.len() as i64)),
        };
        self.out.extend(text.bytes());
        let exponent = exponent + shift;
        if exponent != 0 || self.choose(2) == 0 {
            let sign = if exponent < 0 {
                "-"
            } else {
                ["", "+"][self.choose(2)]
            };
            let letter = ["e", "E"][self.choose(2)];
            let zeros = "0".repeat(self.choose(2));
            let spelled = format!("{letter}{sign}{zeros}{}", exponent.abs());
            self.out.extend(spelled.bytes());
        }
    }
}
