//! What the canonical text of JSON is.

use super::super::{Pointer, Recipe, rules::Rules};
use super::*;

fn canonical(text: &str) -> Result<String, String> {
    let document = read(text.as_bytes(), None).map_err(|fault| fault.detail)?;
    Ok(String::from_utf8(document.to_vec()).unwrap())
}

#[track_caller]
fn alike(texts: &[&str]) {
    let first = canonical(texts[0]).unwrap();
    for text in texts {
        assert_eq!(canonical(text).unwrap(), first, "{text}");
    }
    assert_eq!(
        canonical(&first).unwrap(),
        first,
        "canonical text is its own canonical text"
    );
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>, detail: &str) {
    let fault = read(text.as_ref(), None)
        .map(|document| document.to_vec())
        .unwrap_err();
    assert_eq!(fault.detail, format!("the JSON body {detail}"));
}

#[test]
fn white_space_and_the_order_of_members_do_not_matter() {
    alike(&[
        r#"{"a":1,"b":[true,false,null],"c":{"x":"","y":{}}}"#,
        " {\t\"b\" : [ true , false,null ] ,\r\n\"c\":{\"y\":{ },\"x\":\"\"},\"a\":1 } ",
        r#"{"c":{"y":{},"x":""},"b":[true,false,null],"a":1}"#,
    ]);
    assert_ne!(canonical("[1,2]"), canonical("[2,1]"));
    assert_eq!(canonical(" [ ] ").unwrap(), "[]");
}

#[test]
fn members_move_at_every_level_with_all_that_is_in_them() {
    let source = r#"[{"b":{"d":[{"f":1,"e":2}],"c":3},"a":{"h":{},"g":[]}},{"a":0},{"z":1,"y":2}]"#;
    let sorted = r#"[{"a":{"g":[],"h":{}},"b":{"c":3,"d":[{"e":2,"f":1}]}},{"a":0},{"y":2,"z":1}]"#;
    assert_eq!(canonical(source).unwrap(), sorted);
    let outer_in_order = r#"{"a":{"y":1,"x":[{"q":1,"p":2}]},"b":{"z":1}}"#;
    let sorted = r#"{"a":{"x":[{"p":2,"q":1}],"y":1},"b":{"z":1}}"#;
    assert_eq!(canonical(outer_in_order).unwrap(), sorted);
}

#[test]
fn members_are_sorted_by_the_bytes_of_their_unescaped_names() {
    let names = [
        "b", "", "\\u000a", "\\\"", "~", "a", "ab", "a!", "\\u007f", "\\\\", "é", "😀", "\\uffff",
        "[", "]",
    ];
    let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":0")).collect();
    let text = canonical(&format!("{{{}}}", members.join(","))).unwrap();
    let order = [
        "", "\\n", "\\\"", "[", "\\\\", "]", "a", "a!", "ab", "b", "~", "\u{7f}", "é", "\u{ffff}",
        "😀",
    ];
    let places: Vec<_> = order
        .iter()
        .map(|name| text.find(&format!("\"{name}\":")))
        .collect();
    assert!(places.iter().all(Option::is_some), "{text}");
    assert!(places.is_sorted(), "{text} {places:?}");
}

#[test]
fn escapes_are_one_spelling_of_their_characters() {
    alike(&[
        r#""/A\"\\é😀""#,
        r#""\/\u0041\u0022\u005C\u00e9\uD83D\uDE00""#,
    ]);
    alike(&[
        r#""\b\f\n\r\t\u0000\u001f""#,
        r#""\u0008\u000C\u000a\u000D\u0009\u0000\u001F""#,
    ]);
    assert_ne!(
        canonical("\"e\u{301}\""),
        canonical("\"é\""),
        "characters are not normalised"
    );
}

#[test]
fn no_member_name_is_special() {
    let text = canonical(r#"{"toString":1,"__proto__":{"x":1},"constructor":3,"":4}"#).unwrap();
    assert_eq!(
        text,
        r#"{"":4,"__proto__":{"x":1},"constructor":3,"toString":1}"#
    );
}

#[test]
fn duplicate_members_are_refused_in_any_order_and_spelling() {
    refused(r#"{"a":1,"a":1}"#, "has a duplicate member name at byte 7");
    refused(
        r#"{"b":1,"a":1,"b":2}"#,
        "has a duplicate member name in the object at byte 0",
    );
    refused(
        r#"[{"amount":1,"\u0061mount":2}]"#,
        "has a duplicate member name at byte 13",
    );
    refused(
        r#"{"x":{"c":1,"b":1,"\u0063":2}}"#,
        "has a duplicate member name in the object at byte 5",
    );
}

#[test]
fn what_is_no_strict_json_is_refused_with_its_place() {
    refused("", "has no value at byte 0");
    refused("  ", "has no value at byte 2");
    refused("{\"a\":", "has no value at byte 5");
    refused("[1,]", "has something that starts no value at byte 3");
    refused("[,]", "has something that starts no value at byte 1");
    refused("{\"a\":1,}", "has no member name at byte 7");
    refused("{a:1}", "has no member name at byte 1");
    refused("{\"a\" 1}", "has no \":\" at byte 5");
    refused("[1 2]", "has no \",\" or \"]\" at byte 3");
    refused("{\"a\":1]", "has no \",\" or \"}\" at byte 6");
    refused("[1", "has no \",\" or \"]\" at byte 2");
    refused("1 2", "has more after its value at byte 2");
    refused("nul", "has something that starts no value at byte 0");
    refused("NaN", "has something that starts no value at byte 0");
    refused("01", "has more after its value at byte 1");
    refused("[1.]", "has a number that is none at byte 3");
    refused("'a'", "has something that starts no value at byte 0");
    refused("\"a", "has a string without its end at byte 2");
    refused("\"a\nb\"", "has a control character in a string at byte 2");
    refused("\"\\x\"", "has an escape that is none at byte 1");
    refused("\"\\u12g4\"", "has an escape that is none at byte 1");
    refused("\"\\ud800\"", "has a lone surrogate at byte 1");
    refused("\"\\ud800\\u0041\"", "has a lone surrogate at byte 1");
    refused("\"\\udc00\\ud800\"", "has a lone surrogate at byte 1");
    refused(b"\"a\xff\"", "is not UTF-8 at byte 2");
    refused(b"\"\xed\xa0\x80\"", "is not UTF-8 at byte 1");
    refused("\u{feff}{}", "starts with a byte-order mark at byte 0");
}

#[test]
fn nesting_and_members_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(canonical(&nested(128)).is_ok());
    refused(nested(129), "has more than 128 levels at byte 129");
    refused("[".repeat(10_000), "has more than 128 levels at byte 129");
    let object = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!("\"{n}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(canonical(&object(131_072)).is_ok());
    assert!(
        canonical(&object(131_073))
            .unwrap_err()
            .contains("more than 131072 members")
    );
}

#[test]
fn rules_reach_every_item_and_leave_the_rest_in_order() {
    let recipe = Recipe {
        ignore: ["/id", "/items/*/note", "/items/1/tag", "/list/0"]
            .iter()
            .map(|text| Pointer::parse(text).unwrap())
            .collect(),
        ..Recipe::default()
    };
    let rules = Rules::of(&recipe).unwrap();
    let source = r#"{"items":[{"tag":1,"note":{"z":1,"a":2}},{"tag":2,"note":3,"b":{"y":1,"x":2}}],
        "id":[{"c":1,"b":2}],"list":[{"b":1,"a":2},{"d":1,"c":2},3]}"#;
    let text = read(source.as_bytes(), Some(&rules)).unwrap().to_vec();
    let expected = r#"{"items":[{"tag":1},{"b":{"x":2,"y":1}}],"list":[{"c":2,"d":1},3]}"#;
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    let twice = read(br#"{"id":1,"id":1}"#, Some(&rules)).map(|document| document.to_vec());
    assert!(
        twice.is_err(),
        "what does not count is checked all the same"
    );
}

#[test]
fn an_identity_value_keeps_its_type_and_is_a_scalar() {
    let body = br#"{"a":{"id":"000001","n":1.0,"s":true,"nil":null,"o":{},"l":[7]},"*":2}"#;
    for (pointer, value) in [
        ("/a/id", Some("\"000001\"")),
        ("/a/n", Some("1")),
        ("/a/s", Some("true")),
        ("/a/l/0", Some("7")),
        ("/a/l/*", None),
        ("/*", None),
        ("/a/none", None),
        ("/a/id/0", None),
    ] {
        let found = identity_value(body, &Pointer::parse(pointer).unwrap()).unwrap();
        assert_eq!(found.as_deref(), value, "{pointer}");
    }
    for pointer in ["/a/nil", "/a/o", "/a/l", ""] {
        let pointer = Pointer::parse(pointer).unwrap();
        assert!(identity_value(body, &pointer).is_err(), "{pointer}");
    }
    assert!(identity_value(b"{", &Pointer::parse("/a").unwrap()).is_err());
}
