//! Properties of the hash of forms: boundaries, escapes and orders that do not matter never do.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use oncegate::core::command::{Body, Command, Recipe};
use proptest::prelude::*;
use proptest::sample::Index;

const FORM: &str = "application/x-www-form-urlencoded";

fn digest(media: &str, body: &[u8]) -> [u8; 32] {
    let headers = [("content-type".to_owned(), media.to_owned())];
    let fingerprint = Recipe::default().fingerprint(&command(&headers, body));
    fingerprint.unwrap().digest
}

fn command<'a>(headers: &'a [(String, String)], body: &'a [u8]) -> Command<'a> {
    Command {
        operation: "pay",
        method: "POST",
        path: "/v1/payments",
        query: None,
        headers,
        body,
        max_decoded: 1 << 20,
    }
}

/// The name, the file name and the content of a part.
type Part = (String, Option<String>, Vec<u8>);

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let content = prop::collection::vec(any::<u8>(), 0..40);
    let name = "[a-c\"\\\\;= é]{0,4}";
    prop::collection::vec((name, prop::option::of("[a-z]{0,4}"), content), 0..5)
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

fn multipart(parts: &[Part], boundary: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, file, bytes) in parts {
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        let file = file
            .as_ref()
            .map(|file| format!("; filename=\"{file}\""))
            .unwrap_or_default();
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n"
        );
        out.extend(head.bytes());
        out.extend(bytes);
        out.extend(b"\r\n");
    }
    out.extend(format!("--{boundary}--\r\n").bytes());
    out
}

type Pairs = Vec<(String, String)>;

/// A form in text; with `all`, every byte is escaped.
fn spell(pairs: &Pairs, all: bool) -> String {
    let byte = |byte: u8| match byte {
        b'a' | b'b' if !all => char::from(byte).to_string(),
        b' ' if !all => "+".to_owned(),
        _ => format!("%{byte:02x}"),
    };
    let escape = |text: &str| text.bytes().map(byte).collect::<String>();
    let pair = |(name, value): &(String, String)| format!("{}={}", escape(name), escape(value));
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The pairs in another order, those of one name still in theirs.
fn mix(pairs: &Pairs, choices: &[Index]) -> Pairs {
    let mut left = pairs.clone();
    let mut mixed = Pairs::new();
    for choice in choices.iter().cycle() {
        if left.is_empty() {
            break;
        }
        let name = left[choice.index(left.len())].0.clone();
        let first = left.iter().position(|pair| pair.0 == name).unwrap();
        mixed.push(left.remove(first));
    }
    mixed
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_boundary_never_changes_the_hash_of_a_form_and_any_change_of_a_part_does(
        parts in parts(),
        a in "[A-Za-z0-9'()+_,./:=?-]{30}",
        b in "[A-Za-z0-9]{1,8}",
        place in any::<Index>(),
    ) {
        let (body_a, body_b) = (multipart(&parts, &a), multipart(&parts, &b));
        let media = |boundary: &str| format!("multipart/form-data; boundary=\"{boundary}\"");
        prop_assume!(!parts.iter().any(|(_, _, bytes)| contains(bytes, b.as_bytes())));
        prop_assert_eq!(digest(&media(&a), &body_a), digest(&media(&b), &body_b));
        if !parts.is_empty() {
            let mut other = parts.clone();
            other[place.index(parts.len())].2.push(b'!');
            let other = multipart(&other, &a);
            prop_assert_ne!(digest(&media(&a), &body_a), digest(&media(&a), &other));
        }
    }

    #[test]
    fn the_order_across_names_never_changes_the_hash_of_a_form(
        pairs in prop::collection::vec(("[abc%+ é]{0,3}", "[a-c&=%+é]{0,4}"), 0..8),
        choices in prop::collection::vec(any::<Index>(), 1..9),
    ) {
        let mut mixed = mix(&pairs, &choices);
        let first = digest(FORM, spell(&pairs, false).as_bytes());
        prop_assert_eq!(first, digest(FORM, spell(&mixed, true).as_bytes()));
        if let Some(pair) = mixed.first_mut() {
            pair.1.push('z');
            prop_assert_ne!(first, digest(FORM, spell(&mixed, true).as_bytes()));
        }
    }

    #[test]
    fn no_body_of_any_media_type_or_coding_makes_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        media in prop::sample::select(vec![
            "application/json", FORM, "multipart/form-data; boundary=a", "text/plain", ";;",
        ]),
        coding in prop::sample::select(vec!["", "gzip", "deflate", "gzip, deflate", "br"]),
    ) {
        let headers = [
            ("content-type".to_owned(), media.to_owned()),
            ("content-encoding".to_owned(), coding.to_owned()),
        ];
        if let Ok(canonical) = Recipe::default().canonical(&command(&headers, &bytes)) {
            // Only what is or decodes to nothing is empty.
            let empty = matches!(canonical.body, Body::Empty);
            prop_assert_eq!(empty, canonical.media_type.is_none());
            prop_assert!(!empty || bytes.is_empty() || !coding.is_empty());
        }
    }
}
