//! The slow parser of the reference: one character a step, exponents counted by one.

use super::Value;
use std::collections::BTreeMap;

/// Parses a document.
pub(crate) fn parse(source: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(source).ok()?;
    let mut parser = Parser {
        text: text.chars().collect(),
        at: 0,
    };
    let value = parser.value(0)?;
    parser.space();
    (parser.at == parser.text.len()).then_some(value)
}

struct Parser {
    text: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.space();
        let word = |parser: &mut Self, word: &str, value: Value| {
            word.chars()
                .try_for_each(|character| parser.take(character))
                .map(|()| value)
        };
        match self.peek()? {
            'n' => word(self, "null", Value::Null),
            't' => word(self, "true", Value::Bool(true)),
            'f' => word(self, "false", Value::Bool(false)),
            '"' => self.string().map(Value::Text),
            '[' if depth < 128 => self.list(depth),
            '{' if depth < 128 => self.object(depth),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take('[')?;
        let mut items = Vec::new();
        self.space();
        if self.peek()? == ']' {
            self.at += 1;
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            match self.next()? {
                ',' => {}
                ']' => return Some(Value::List(items)),
                _ => return None,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.take('{')?;
        let mut members = BTreeMap::new();
        self.space();
        if self.peek()? == '}' {
            self.at += 1;
            return Some(Value::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?.into_bytes();
            self.space();
            self.take(':')?;
            let value = self.value(depth + 1)?;
            if members.insert(name, value).is_some() || members.len() > 131_072 {
                return None;
            }
            self.space();
            match self.next()? {
                ',' => {}
                '}' => return Some(Value::Object(members)),
                _ => return None,
            }
        }
    }

    fn unit(&mut self) -> Option<u16> {
        let digits: String = (0..4).map(|_| self.next()).collect::<Option<_>>()?;
        let hexadecimal = digits.chars().all(|digit| digit.is_ascii_hexdigit());
        hexadecimal.then(|| u16::from_str_radix(&digits, 16).ok())?
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut units: Vec<u16> = Vec::new();
        loop {
            match self.next()? {
                '"' => return String::from_utf16(&units).ok(),
                '\\' => {
                    let simple = match self.next()? {
                        'u' => {
                            let unit = self.unit()?;
                            units.push(unit);
                            continue;
                        }
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        c @ ('"' | '\\' | '/') => c,
                        _ => return None,
                    };
                    units.extend(simple.encode_utf16(&mut [0; 2]).iter());
                }
                c if c < ' ' => return None,
                c => units.extend(c.encode_utf16(&mut [0; 2]).iter()),
            }
        }
    }

    fn digits(&mut self) -> Option<String> {
        let mut out = String::new();
        while let Some(digit @ '0'..='9') = self.peek() {
            out.push(digit);
            self.at += 1;
        }
        (!out.is_empty()).then_some(out)
    }

    fn number(&mut self) -> Option<Value> {
        let negative = self.peek() == Some('-');
        if negative {
            self.at += 1;
        }
        let whole = if self.peek() == Some('0') {
            self.at += 1;
            "0".to_owned()
        } else {
            self.digits()?
        };
        let mut fraction = String::new();
        if self.peek() == Some('.') {
            self.at += 1;
            fraction = self.digits()?;
        }
        let mut exponent = "0".to_owned();
        if let Some('e' | 'E') = self.peek() {
            self.at += 1;
            let minus = self.peek() == Some('-');
            if let Some('+' | '-') = self.peek() {
                self.at += 1;
            }
            let digits = self.digits()?;
            let digits = digits.trim_start_matches('0');
            if !digits.is_empty() {
                exponent = format!("{}{digits}", if minus { "-" } else { "" });
            }
        }
        for _ in 0..fraction.len() {
            exponent = step(&exponent, false);
        }
        let digits = format!("{whole}{fraction}");
        let mut digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Value::Number(false, "0".to_owned(), "0".to_owned()));
        }
        while digits.ends_with('0') {
            digits.pop();
            exponent = step(&exponent, true);
        }
        Some(Value::Number(negative, digits, exponent))
    }
}

/// A signed integer in text, one up or one down.
fn step(number: &str, up: bool) -> String {
    let (negative, magnitude) = match number.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, number),
    };
    if magnitude == "0" {
        return if up { "1".to_owned() } else { "-1".to_owned() };
    }
    let grows = up != negative;
    let mut digits: Vec<u8> = magnitude.bytes().collect();
    for digit in digits.iter_mut().rev() {
        if grows {
            if *digit < b'9' {
                *digit += 1;
                return signed(negative, &digits);
            }
            *digit = b'0';
        } else {
            if *digit > b'0' {
                *digit -= 1;
                return signed(negative, &digits);
            }
            *digit = b'9';
        }
    }
    digits.insert(0, b'1');
    signed(negative, &digits)
}

fn signed(negative: bool, digits: &[u8]) -> String {
    let text = std::str::from_utf8(digits).unwrap().trim_start_matches('0');
    match (text, negative) {
        ("", _) => "0".to_owned(),
        (text, true) => format!("-{text}"),
        (text, false) => text.to_owned(),
    }
}
