//! Who a request is from, as far as its headers say it.
//!
//! Owns the forms of principals that are read off a request and the one spelling in which each
//! enters the identity. A credential goes into a digest and nowhere else: it is neither kept nor
//! shown. What can be read in two ways (two cookies of one name, a header with two values) is
//! refused. Whether a token may be believed is found out elsewhere (`jwt`).

use super::answer::Problem;
use super::code::Code;
use super::identity::Digest;
use super::parts::header;
use super::policy::Principal;

/// Who a request says it is from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credentials<'a> {
    /// This one.
    Known(Digest),
    /// The subject of this token, if it holds.
    Token(&'a str),
}

/// Reads who a request says it is from.
///
/// # Errors
/// It does not say, or says it in a way that changes between attempts or can be read in two ways.
pub fn credentials<'a>(
    principal: &Principal,
    headers: &'a [(String, String)],
) -> Result<Credentials<'a>, Problem> {
    match principal {
        Principal::None => Ok(Credentials::Known(Digest::of(b""))),
        Principal::Authorization { any } => {
            let credentials = header(headers, "authorization").unwrap_or_default();
            authorization(credentials, *any).map(Credentials::Known)
        }
        Principal::Cookie(name) => cookie(headers, name).map(Credentials::Known),
        Principal::Header(name) => one_header(headers, name).map(Credentials::Known),
        Principal::Jwt(_) => bearer(headers).map(Credentials::Token),
    }
}

fn cookie(headers: &[(String, String)], name: &str) -> Result<Digest, Problem> {
    let cookies = header(headers, "cookie").unwrap_or_default();
    let named = |pair: &'_ str| {
        let (known, value) = pair.split_once('=')?;
        (known.trim() == name).then(|| value.trim().to_owned())
    };
    // A comma is no part of a cookie's value (RFC 6265 §4.1.1): it joins two headers.
    if cookies.split([';', ',']).filter_map(named).count() > 1 {
        let detail = format!("the cookie {name} is there more than once");
        return Err(invalid(detail));
    }
    match cookies
        .split(';')
        .find_map(named)
        .unwrap_or_default()
        .as_str()
    {
        "" => Err(missing(&format!("cookie {name}"))),
        value if value.contains(',') => Err(invalid(format!(
            "the cookie {name} has more than one value"
        ))),
        value => Ok(Digest::of(value.as_bytes())),
    }
}

fn one_header(headers: &[(String, String)], name: &str) -> Result<Digest, Problem> {
    match header(headers, name).unwrap_or_default().trim() {
        "" => Err(missing(&format!("header {name}"))),
        value if value.contains(',') => Err(invalid(format!(
            "the header {name} has more than one value"
        ))),
        value => Ok(Digest::of(value.as_bytes())),
    }
}

fn bearer(headers: &[(String, String)]) -> Result<&str, Problem> {
    let credentials = header(headers, "authorization").unwrap_or_default().trim();
    match credentials.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(missing("header Authorization, as a bearer token")),
    }
}

fn missing(place: &str) -> Problem {
    let detail = format!("this operation needs credentials in the {place}");
    Problem::detailed(Code::PrincipalMissing, detail)
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::detailed(Code::PrincipalInvalid, detail)
}

fn authorization(credentials: &str, any: bool) -> Result<Digest, Problem> {
    let credentials = credentials.trim_matches([' ', '\t']);
    let (scheme, rest) = credentials.split_once(' ').unwrap_or(("", credentials));
    let rest = rest.trim_matches([' ', '\t']);
    let lone_scheme = [
        "basic",
        "bearer",
        "digest",
        "dpop",
        "negotiate",
        "signature",
        "token",
    ]
    .iter()
    .any(|scheme| credentials.eq_ignore_ascii_case(scheme));
    if rest.is_empty() || lone_scheme {
        return Err(missing("header Authorization"));
    }
    // Scheme names compare without case; what follows them does not.
    let scheme = scheme.to_ascii_lowercase();
    let signing =
        matches!(scheme.as_str(), "signature" | "dpop" | "digest") || scheme.starts_with("aws4-");
    if !any && (signing || looks_like_jwt(rest)) {
        let kind = if signing {
            "signed request"
        } else {
            "JSON Web Token"
        };
        return Err(Problem::detailed(
            Code::PrincipalUnstable,
            format!(
                "a {kind} changes between attempts, so a retry would be a second operation: \
                 this operation needs an opaque credential, or a policy with a principal of \
                 the form jwt:CLAIM or authorization:any"
            ),
        ));
    }
    let mut identity = scheme.into_bytes();
    identity.push(b' ');
    identity.extend_from_slice(rest.as_bytes());
    Ok(Digest::of(&identity))
}

/// Whether a token has the shape of a JWT: base64url segments, the first a JSON object.
fn looks_like_jwt(token: &str) -> bool {
    let segments = token.split('.').count();
    let base64url = token
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'='));
    // `{` is 0x7b: its base64 starts with `e`, and goes on with one of the last 16 letters.
    let object = matches!(
        token.as_bytes(),
        [b'e', b'w'..=b'z' | b'0'..=b'9' | b'-' | b'_', ..]
    );
    matches!(segments, 3 | 5) && base64url && object
}

/// The form by which a principal enters the identity.
impl std::fmt::Display for Principal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Authorization { any: false } => f.write_str("authorization"),
            Self::Authorization { any: true } => f.write_str("authorization:any"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Jwt(claim) => write!(f, "jwt:{claim}"),
            Self::None => f.write_str("none"),
        }
    }
}
