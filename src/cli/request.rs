//! A raw HTTP/1.1 request in a file.
//!
//! Owns reading it as a server would, with lines that end in LF or CRLF, and telling what is wrong
//! with it by its line. It never repairs anything: a request that a server would refuse is refused.

use std::path::Path;

use super::Failure;
use crate::core::head::Target;

/// A request as the gate would get it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: Target,
    /// In lower case, repeats joined.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the body goes on to the end of the file because nothing says how long it is.
    pub(super) to_the_end: bool,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Request, Failure> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read {shown}: {error}")))?;
    parse(&bytes).map_err(|why| Failure::new(format!("{shown} is no HTTP request: {why}")))
}

/// Reads a request; the error says what is wrong, and where.
fn parse(bytes: &[u8]) -> Result<Request, String> {
    let mut lines = Lines {
        rest: bytes,
        number: 0,
    };
    let first = lines.next().unwrap_or_default();
    let (method, target) = request_line(first)?;
    let mut headers: Vec<(String, String)> = Vec::new();
    while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
        let (name, value) = header(line).map_err(|why| format!("line {}: {why}", lines.number))?;
        match headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.push_str(&format!(", {value}")),
            None => headers.push((name, value)),
        }
    }
    let (body, to_the_end) = body(&headers, lines.rest)?;
    Ok(Request {
        method,
        target,
        headers,
        body,
        to_the_end,
    })
}

struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    /// The next line without its end.
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (self.rest.get(..end)?, self.rest.get(end + 1..)?),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        self.number += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn request_line(line: &[u8]) -> Result<(String, Target), String> {
    const WRITE: &str = "line 1: must be a method, a target and a version: \
                         \"POST /v1/payments HTTP/1.1\"";
    let line = std::str::from_utf8(line).map_err(|_| WRITE)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().ok_or(WRITE)?);
    let version = words.next().unwrap_or("HTTP/1.1");
    if !is_token(method) || !version.starts_with("HTTP/1.") || words.next().is_some() {
        return Err(WRITE.to_owned());
    }
    if target.chars().any(char::is_control) {
        return Err("line 1: the target holds a control character".to_owned());
    }
    // A target in origin form may hold `://` in its query.
    let url = if target.starts_with('/') {
        format!("http://gate{target}")
    } else if target.starts_with("http://") || target.starts_with("https://") {
        target.to_owned()
    } else {
        return Err("line 1: the target must start with \"/\" or be a whole URL".to_owned());
    };
    Ok((method.to_owned(), Target::of(&url)))
}

fn header(line: &[u8]) -> Result<(String, String), &'static str> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err("a header cannot go on in the next line");
    }
    let colon = line.iter().position(|byte| *byte == b':');
    let (name, value) = colon
        .and_then(|colon| line.split_at_checked(colon))
        .ok_or("must be a header (\"Name: value\"), or empty before the body")?;
    let name = std::str::from_utf8(name).unwrap_or_default();
    if !is_token(name) {
        return Err("is not the name of a header before \":\"");
    }
    // The runtime decodes values as UTF-8 too, and replaces what is none.
    let value = String::from_utf8_lossy(value.get(1..).unwrap_or_default());
    let value = value.trim_matches([' ', '\t']);
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err("holds a control character");
    }
    Ok((name.to_ascii_lowercase(), value.to_owned()))
}

fn is_token(text: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(token)
}

/// The body, and whether only the end of the file ends it.
fn body(headers: &[(String, String)], rest: &[u8]) -> Result<(Vec<u8>, bool), String> {
    let find = |name: &str| headers.iter().find(|(known, _)| known == name);
    let length = find("content-length");
    match (find("transfer-encoding"), length) {
        (Some(_), Some(_)) => Err("Transfer-Encoding and Content-Length exclude each other".into()),
        (Some((_, coding)), None) if coding.eq_ignore_ascii_case("chunked") => {
            chunked(rest).map(|body| (body, false))
        }
        (Some(_), None) => Err("the only Transfer-Encoding that is read is chunked".to_owned()),
        (None, None) => Ok((rest.to_vec(), true)),
        (None, Some((_, length))) => {
            let digits = length.bytes().all(|b| b.is_ascii_digit());
            let length: usize = Some(length)
                .filter(|_| digits)
                .and_then(|length| length.parse().ok())
                .ok_or_else(|| format!("Content-Length \"{length}\" is no whole number"))?;
            let (body, after) = rest.split_at_checked(length).ok_or_else(|| {
                let there = rest.len();
                format!("Content-Length is {length}, but {there} bytes follow the head")
            })?;
            // Editors put a line break at the end of every file.
            if !matches!(after, b"" | b"\n" | b"\r\n") {
                let more = after.len();
                return Err(format!(
                    "{more} bytes follow the body that Content-Length ends"
                ));
            }
            Ok((body.to_vec(), false))
        }
    }
}

/// Decodes a chunked body, with lines that end in LF or CRLF.
fn chunked(rest: &[u8]) -> Result<Vec<u8>, String> {
    let mut lines = Lines { rest, number: 0 };
    let mut body = Vec::new();
    loop {
        let line = lines.next().ok_or("the chunked body has no last chunk")?;
        let line = std::str::from_utf8(line).unwrap_or_default();
        let size = line.split(';').next().unwrap_or_default().trim();
        let hex = !size.is_empty() && size.bytes().all(|b| b.is_ascii_hexdigit());
        let size = Some(size)
            .filter(|_| hex)
            .and_then(|size| usize::from_str_radix(size, 16).ok())
            .ok_or_else(|| format!("\"{size}\" is not the size of a chunk"))?;
        if size == 0 {
            return Ok(body);
        }
        let (chunk, after) = lines
            .rest
            .split_at_checked(size)
            .ok_or("the chunked body ends inside a chunk")?;
        body.extend_from_slice(chunk);
        lines.rest = after;
        if lines.next().is_none_or(|line| !line.is_empty()) {
            return Err("a chunk is longer than its size says".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_with_either_line_end() {
        let text = "POST /v1/a?x=http://b HTTP/1.1\nHost: h\nX-A: 1\nx-a:\t2 \n\n{\"a\":\r\n1}\n";
        for (text, body) in [
            (text.to_owned(), "{\"a\":\r\n1}\n"),
            (
                text.replace("\r\n", "\n").replace('\n', "\r\n"),
                "{\"a\":\r\n1}\r\n",
            ),
        ] {
            let request = parse(text.as_bytes()).unwrap();
            assert_eq!(request.method, "POST");
            assert_eq!(request.target.target, "/v1/a?x=http://b");
            let headers: Vec<_> = request
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(headers, [("host", "h"), ("x-a", "1, 2")]);
            assert_eq!(request.body, body.as_bytes());
            assert!(request.to_the_end);
        }
    }

    #[test]
    fn a_body_ends_where_the_head_says() {
        for (text, body) in [
            ("POST /\nContent-Length: 3\n\na=1\n", "a=1"),
            ("POST /\nContent-Length: 3\n\na=1\r\n", "a=1"),
            ("POST /\nContent-Length: 4\n\na=1\n", "a=1\n"),
            ("POST /\nContent-Length: 0\n\n\n", ""),
            (
                "POST /\nTransfer-Encoding: Chunked\n\n2;x\r\na=\r\n1\r\n1\r\n0\r\n\r\n",
                "a=1",
            ),
            ("POST /\nTransfer-Encoding: chunked\n\n0\n", ""),
        ] {
            let request = parse(text.as_bytes()).unwrap();
            assert_eq!(request.body, body.as_bytes(), "{text:?}");
            assert!(!request.to_the_end);
        }
    }

    #[test]
    fn what_is_no_request_is_told_by_its_line() {
        for (text, why) in [
            ("", "line 1: must be a method"),
            ("POST", "line 1: must be a method"),
            ("POST  /a", "line 1: "),
            ("P(ST /a", "line 1: must be a method"),
            ("POST /a HTTP/2", "line 1: must be a method"),
            ("POST /a b HTTP/1.1", "line 1: must be a method"),
            ("POST a", "line 1: the target must start with"),
            ("POST /a\u{1}", "line 1: the target holds a control"),
            ("POST /a\nX-A\n", "line 2: must be a header"),
            ("POST /a\nX-A: 1\n b\n", "line 3: a header cannot go on"),
            ("POST /a\nX A: 1\n", "line 2: is not the name"),
            ("POST /a\nX-A: \u{1}\n", "line 2: holds a control character"),
            ("POST /a\n{\"a\":1}", "line 2: is not the name of a header"),
            (
                "POST /a\nContent-Length: 5\n\nab",
                "Content-Length is 5, but 2 bytes follow",
            ),
            (
                "POST /a\nContent-Length: 1\n\nabc",
                "2 bytes follow the body",
            ),
            ("POST /a\nContent-Length: +1\n\na", "is no whole number"),
            (
                "POST /a\nContent-Length: 1\nContent-Length: 1\n\na",
                "is no whole number",
            ),
            (
                "POST /a\nTransfer-Encoding: gzip\n\n",
                "the only Transfer-Encoding",
            ),
            (
                "POST /a\nTransfer-Encoding: chunked\nContent-Length: 1\n\na",
                "exclude each other",
            ),
            (
                "POST /a\nTransfer-Encoding: chunked\n\n5\nab",
                "ends inside a chunk",
            ),
            (
                "POST /a\nTransfer-Encoding: chunked\n\n1\nabc\n0\n",
                "longer than its size",
            ),
            (
                "POST /a\nTransfer-Encoding: chunked\n\nx\n",
                "\"x\" is not the size",
            ),
            (
                "POST /a\nTransfer-Encoding: chunked\n\n",
                "has no last chunk",
            ),
        ] {
            let fault = parse(text.as_bytes()).unwrap_err();
            assert!(fault.contains(why), "{text:?}: {fault}");
        }
    }
}
