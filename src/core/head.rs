//! The head of a request: its target, and the headers that may travel.
//!
//! Owns taking a URL apart and removing headers that belong to one connection or to the gate. It
//! never changes what it keeps: the origin gets the spelling of the client.

/// Headers that belong to one connection and never travel on, RFC 9110 §7.6.1.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
];

/// The parts of a request's URL, as they came.
#[derive(Clone, Debug)]
pub struct Target {
    /// Scheme and authority.
    pub base: String,
    /// Path and query.
    pub target: String,
}

impl Target {
    /// Takes a URL apart without changing it.
    #[must_use]
    pub fn of(url: &str) -> Self {
        let authority = url.find("://").map_or(0, |at| at.saturating_add(3));
        let rest = url.get(authority..).unwrap_or_default();
        let path = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, target) = rest.split_at_checked(path).unwrap_or((rest, ""));
        let target = target.split('#').next().unwrap_or_default();
        let slash = if target.starts_with('/') { "" } else { "/" };
        Self {
            base: format!("{}{host}", url.get(..authority).unwrap_or_default()),
            target: format!("{slash}{target}"),
        }
    }

    /// The path, as it came.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The query, without its question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }
}

/// Removes what belongs to one connection, and what only the gate may say.
#[must_use]
pub fn travelling(pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let listed: Vec<String> = pairs
        .iter()
        .filter(|(name, _)| name == "connection")
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let stays = |name: &str| {
        HOP_BY_HOP.binary_search(&name).is_ok()
            || name.starts_with("oncegate-")
            || listed.iter().any(|it| it == name)
    };
    pairs.into_iter().filter(|(name, _)| !stays(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_without_changing_it() {
        for (url, base, target) in [
            ("http://h/v1/%70ay?a=%2F", "http://h", "/v1/%70ay?a=%2F"),
            ("https://h:8443//v1;x", "https://h:8443", "//v1;x"),
            ("http://h", "http://h", "/"),
            ("http://h?a=1", "http://h", "/?a=1"),
        ] {
            let split = Target::of(url);
            assert_eq!((split.base.as_str(), split.target.as_str()), (base, target));
        }
    }

    #[test]
    fn what_belongs_to_a_connection_or_to_the_gate_does_not_travel() {
        assert!(HOP_BY_HOP.is_sorted());
        let pairs = [
            ("accept", "*/*"),
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("expect", "100-continue"),
            ("oncegate-reference", "forged"),
            ("idempotency-key", "k"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let left: Vec<_> = travelling(pairs.into())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(left, ["accept", "idempotency-key"]);
    }
}
