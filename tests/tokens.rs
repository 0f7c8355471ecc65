//! Tokens and key sets: what is believed of them before and after a signature holds.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

use oncegate::core::code::Code;
use oncegate::core::identity::Digest;
use oncegate::core::jwt::{Algorithm, Header, Rules, Token, key_set, principal};
use oncegate::core::time::Millis;
use serde_json::{Value, json};

const NOW: Millis = Millis(1_000_000_000);
const SECONDS: u64 = 1_000_000;

fn rules() -> Rules {
    Rules {
        jwks: "https://login.example/keys".to_owned(),
        issuer: "https://login.example".to_owned(),
        audience: vec!["payments".to_owned(), "refunds".to_owned()],
    }
}

/// Good claims with some changed; null takes one away.
fn claims(changes: Value) -> Vec<u8> {
    let mut claims = json!({
        "iss": "https://login.example", "aud": "payments", "sub": "alice", "exp": SECONDS + 600,
    });
    let fields = claims.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), value.clone());
        }
    }
    claims.to_string().into_bytes()
}

fn of(changes: Value) -> Result<Digest, String> {
    principal(&rules(), "sub", &claims(changes), NOW).map_err(|problem| {
        assert_eq!(problem.code, Code::PrincipalInvalid);
        problem.detail.unwrap_or_default()
    })
}

#[test]
fn a_principal_is_its_issuer_and_one_claim_and_nothing_else() {
    let alice = of(json!({})).unwrap();
    for same in [
        json!({ "exp": SECONDS + 1, "iat": 1, "jti": "x", "scope": "all" }),
        json!({ "aud": ["other", "refunds"] }),
        json!({ "exp": SECONDS - 59 }),
        json!({ "nbf": SECONDS + 60 }),
        json!({ "exp": 1_000_600.75 }),
    ] {
        assert_eq!(of(same.clone()), Ok(alice), "{same}");
    }
    let mut others = vec![alice];
    for other in [
        json!({ "sub": "Alice" }),
        json!({ "sub": "7" }),
        json!({ "sub": 7 }),
        json!({ "sub": "\"7\"" }),
    ] {
        others.push(of(other).unwrap());
    }
    let elsewhere = Rules {
        issuer: "https://login.example/".to_owned(),
        ..rules()
    };
    let of_another = claims(json!({ "iss": "https://login.example/" }));
    others.push(principal(&elsewhere, "sub", &of_another, NOW).unwrap());
    for (n, one) in others.iter().enumerate() {
        assert!(!others.iter().skip(n + 1).any(|other| other == one), "{n}");
    }
}

#[test]
fn what_a_token_must_say_is_looked_at_claim_by_claim() {
    for (changes, says) in [
        (json!({ "iss": null }), "another issuer"),
        (
            json!({ "iss": ["https://login.example"] }),
            "another issuer",
        ),
        (json!({ "aud": null }), "another audience"),
        (json!({ "aud": "payments2" }), "another audience"),
        (json!({ "aud": [["payments"]] }), "another audience"),
        (json!({ "exp": null }), "when it expires"),
        (json!({ "exp": "1000600" }), "when it expires"),
        (json!({ "exp": -1 }), "when it expires"),
        (json!({ "exp": 1e300 }), "when it expires"),
        (json!({ "exp": SECONDS - 60 }), "has expired"),
        (json!({ "nbf": SECONDS + 61 }), "not valid yet"),
        (json!({ "nbf": "soon" }), "cannot be read"),
        (json!({ "sub": null }), "no claim sub"),
        (json!({ "sub": "" }), "no claim sub"),
        (json!({ "sub": true }), "no claim sub"),
        (json!({ "sub": 1.5 }), "no claim sub"),
        (json!({ "sub": "x".repeat(2_000) }), "no claim sub"),
    ] {
        let detail = of(changes.clone()).expect_err(&changes.to_string());
        assert!(detail.contains(says), "{changes}: {detail}");
    }
    for text in ["", "[]", "null", "{", "{}"] {
        assert!(
            principal(&rules(), "sub", text.as_bytes(), NOW).is_err(),
            "{text}"
        );
    }
}

#[test]
fn only_two_algorithms_are_taken_from_a_header() {
    let read = |header: Value| Header::read(header.to_string().as_bytes());
    let header = read(json!({ "alg": "ES256", "kid": "a", "typ": "JWT" })).unwrap();
    assert_eq!(header.algorithm, Algorithm::Es256);
    for alg in [
        "none", "None", "", "HS256", "RS512", "PS256", "rs256", "ES384", "EdDSA",
    ] {
        assert!(read(json!({ "alg": alg })).is_err(), "{alg}");
    }
    for header in [
        json!({}),
        json!({ "alg": null }),
        json!({ "alg": ["RS256"] }),
        json!({ "alg": "RS256", "kid": 1 }),
        json!({ "alg": "RS256", "crit": [] }),
        json!([]),
    ] {
        assert!(read(header.clone()).is_err(), "{header}");
    }
}

#[test]
fn a_token_has_three_full_parts_of_base64url() {
    let token = Token::parse("aa.bb.cc").unwrap();
    assert_eq!((token.signed, token.signature), ("aa.bb", "cc"));
    for text in [
        "",
        "aa",
        "aa.bb",
        "aa.bb.",
        "aa..cc",
        ".bb.cc",
        "aa.bb.cc.dd",
        "aa.bb.c c",
        "aa.bb.c+",
        "aa.bb.cc=",
        "aa.bb.é",
        "aa.bb.cc.dd.ee",
    ] {
        assert!(Token::parse(text).is_err(), "{text}");
    }
    assert!(Token::parse(&format!("a.b.{}", "c".repeat(16_384))).is_err());
}

#[test]
fn keys_for_another_purpose_or_too_weak_are_left_out() {
    let n = "n".repeat(342);
    let rsa = json!({ "kty": "RSA", "kid": "r", "n": n, "e": "AQAB" });
    let ec = json!({ "kty": "EC", "kid": "e", "crv": "P-256", "x": "x", "y": "y" });
    let with = |key: &Value, name: &str, value: Value| {
        let mut key = key.clone();
        key.as_object_mut().unwrap().insert(name.to_owned(), value);
        key
    };
    let count = |keys: Vec<Value>| {
        let set = json!({ "keys": keys }).to_string();
        key_set(set.as_bytes()).map(|keys| keys.len())
    };
    assert_eq!(count(vec![rsa.clone(), ec.clone()]), Some(2));
    assert_eq!(count(vec![with(&rsa, "alg", json!("RS256"))]), Some(1));
    assert_eq!(
        count(vec![with(&ec, "key_ops", json!(["verify"]))]),
        Some(1)
    );
    for key in [
        with(&rsa, "n", json!("n".repeat(341))),
        with(&rsa, "alg", json!("RS512")),
        with(&rsa, "use", json!("enc")),
        with(&ec, "alg", json!("RS256")),
        with(&ec, "crv", json!("P-384")),
        with(&ec, "key_ops", json!(["sign"])),
        with(&ec, "x", json!(1)),
        json!({ "kty": "oct", "k": "c2VjcmV0" }),
        json!("key"),
    ] {
        assert_eq!(count(vec![key.clone()]), Some(0), "{key}");
    }
    for set in ["", "[]", "{}", r#"{"keys":{}}"#] {
        assert_eq!(key_set(set.as_bytes()), None, "{set}");
    }
    // What a publisher puts beside the public key is not handed on.
    let leaked = with(&rsa, "d", json!("private"));
    let set = json!({ "keys": [leaked] }).to_string();
    let keys = key_set(set.as_bytes()).unwrap();
    assert!(keys.iter().all(|key| !key.jwk.contains("private")));
}

#[test]
fn a_key_is_chosen_by_its_name_and_its_kind() {
    let n = "n".repeat(342);
    let set = json!({ "keys": [
        { "kty": "RSA", "kid": "a", "n": n, "e": "AQAB" },
        { "kty": "EC", "kid": "a", "crv": "P-256", "x": "x", "y": "y" },
        { "kty": "EC", "kid": "b", "crv": "P-256", "x": "x", "y": "z" },
    ] });
    let keys = key_set(set.to_string().as_bytes()).unwrap();
    let chosen = |header: Value| {
        let header = Header::read(header.to_string().as_bytes()).unwrap();
        header.candidates(&keys).count()
    };
    assert_eq!(chosen(json!({ "alg": "RS256", "kid": "a" })), 1);
    assert_eq!(chosen(json!({ "alg": "ES256", "kid": "a" })), 1);
    assert_eq!(chosen(json!({ "alg": "RS256", "kid": "b" })), 0);
    assert_eq!(chosen(json!({ "alg": "ES256", "kid": "c" })), 0);
    assert_eq!(chosen(json!({ "alg": "ES256" })), 2, "each is tried");
}
