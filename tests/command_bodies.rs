//! Same and different bodies: empty, coded, forms with files, opaque bytes; and damaged ones.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod command_request;

use command_request::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use oncegate::core::command::{Recipe, WhenMalformed, echo};
use std::io::Write as _;

fn coded(coder: &str, level: u32, body: &[u8]) -> Vec<u8> {
    let level = Compression::new(level);
    match coder {
        "gzip" => {
            let mut coder = GzEncoder::new(Vec::new(), level);
            coder.write_all(body).unwrap();
            coder.finish().unwrap()
        }
        "zlib" => {
            let mut coder = ZlibEncoder::new(Vec::new(), level);
            coder.write_all(body).unwrap();
            coder.finish().unwrap()
        }
        _ => {
            let mut coder = DeflateEncoder::new(Vec::new(), level);
            coder.write_all(body).unwrap();
            coder.finish().unwrap()
        }
    }
}

#[test]
fn an_empty_body_is_the_empty_command_of_every_media_type() {
    let recipe = Recipe::default();
    let empty = Request::new("", "").without("content-type");
    for media in [JSON, FORM, "multipart/form-data", "text/plain", "junk"] {
        same(&recipe, &empty, &Request::new(media, ""));
        same(
            &recipe,
            &empty,
            &Request::new(media, "").with("content-encoding", "gzip"),
        );
        let nothing = coded("gzip", 6, b"");
        same(
            &recipe,
            &empty,
            &Request::new(media, nothing).with("content-encoding", "gzip"),
        );
    }
    different(&recipe, &empty, &Request::json("{}"));
}

#[test]
fn a_body_is_compared_decoded_whatever_its_coding() {
    let recipe = Recipe::default();
    let pay = Request::json(PAY);
    let other = Request::json(PAY.replace("10.00", "11.00"));
    for (name, coder) in [
        ("gzip", "gzip"),
        ("X-GZip", "gzip"),
        ("deflate", "zlib"),
        ("deflate", "raw"),
    ] {
        for level in [0, 1, 9] {
            let body = coded(coder, level, PAY.as_bytes());
            let retry = Request::json(&body).with("content-encoding", name);
            same(&recipe, &pay, &retry);
            different(&recipe, &other, &retry);
        }
    }
    let mut members = coded("gzip", 9, &PAY.as_bytes()[..7]);
    members.extend(coded("gzip", 1, &PAY.as_bytes()[7..]));
    same(
        &recipe,
        &pay,
        &Request::json(members).with("content-encoding", "gzip"),
    );
    let twice = coded("gzip", 9, &coded("zlib", 9, PAY.as_bytes()));
    same(
        &recipe,
        &pay,
        &Request::json(twice).with("content-encoding", "deflate, identity, gzip"),
    );
    let brotli = Request::json(PAY).with("content-encoding", "br");
    different(&recipe, &pay, &brotli);
    different(
        &recipe,
        &brotli,
        &Request::json(PAY).with("content-encoding", "zstd"),
    );
    same(
        &recipe,
        &brotli,
        &Request::json(PAY).with("content-encoding", " BR "),
    );
}

#[test]
fn a_damaged_coding_is_malformed_with_its_place() {
    let recipe = Recipe::default();
    let gzip = |body: &[u8]| Request::json(body).with("content-encoding", "gzip");
    let good = coded("gzip", 9, PAY.as_bytes());
    for length in 1..good.len() {
        gzip(&good[..length]).fault(&recipe);
    }
    let mut more = good.clone();
    more.push(0);
    let place = good.len();
    assert_eq!(
        gzip(&more).fault(&recipe),
        format!("the gzip body goes on after its end at byte {place}")
    );
    assert_eq!(
        gzip(PAY.as_bytes()).fault(&recipe),
        "the gzip body has no gzip header at byte 0"
    );
    for damaged in [good.len() - 1, good.len() - 5, 3] {
        let mut bad = good.clone();
        bad[damaged] ^= 0x80;
        gzip(&bad).fault(&recipe);
    }
    let zlib = coded("zlib", 9, PAY.as_bytes());
    let deflate = |body: &[u8]| Request::json(body).with("content-encoding", "deflate");
    for length in 1..zlib.len() {
        deflate(&zlib[..length]).fault(&recipe);
    }
    let mut more = zlib.clone();
    more.push(b'x');
    assert!(
        deflate(&more)
            .fault(&recipe)
            .contains("goes on after its end")
    );
    let deep = Request::json("x").with("content-encoding", "gzip,gzip,gzip,gzip,gzip");
    assert_eq!(
        deep.fault(&recipe),
        "the body has more than 4 content codings"
    );
}

#[test]
fn a_bomb_is_malformed_at_the_bound_and_a_body_that_just_fits_is_not() {
    let recipe = Recipe::default();
    let bomb = coded("gzip", 9, &vec![b' '; (8 << 20) + 1]);
    assert!(bomb.len() < 10_000);
    let bomb = Request::json(bomb).with("content-encoding", "gzip");
    assert_eq!(
        bomb.fault(&recipe),
        "the gzip body decodes to more than 8388608 bytes"
    );
    let bytes = Recipe {
        when_malformed: WhenMalformed::Bytes,
        ..Recipe::default()
    };
    bomb.fingerprint(&bytes);
    let fits = vec![b'a'; 8 << 20];
    let retry =
        Request::new("text/plain", coded("gzip", 9, &fits)).with("content-encoding", "gzip");
    same(&recipe, &Request::new("text/plain", fits), &retry);
}

const REASON: &str = "Content-Disposition: form-data; name=\"reason\"";
const FILE: &str =
    "Content-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png";

#[test]
fn a_form_with_files_is_its_parts_in_order() {
    let recipe = Recipe::default();
    let file: &[u8] = b"\x89PNG\r\n--BBB\r\n\r\n--AAAB\r\n\xff\x00";
    let first = form(&[(REASON, b"fraud"), (FILE, file)], "AAA");
    same(
        &recipe,
        &first,
        &form(
            &[(REASON, b"fraud"), (FILE, file)],
            "other-Boundary'()+_,-./:=?",
        ),
    );
    let spelled = [
        ("content-disposition:FORM-DATA;NAME=reason", &b"fraud"[..]),
        (
            concat!(
                "CONTENT-TYPE: Image/PNG\r\nX-Other: 1\r\n",
                "Content-Disposition: form-data; filename=\"a.png\"; name=\"f\"",
            ),
            file,
        ),
    ];
    same(&recipe, &first, &form(&spelled, "x"));
    let mut changed = file.to_vec();
    changed[20] ^= 1;
    different(
        &recipe,
        &first,
        &form(&[(REASON, b"fraud"), (FILE, &changed)], "AAA"),
    );
    different(
        &recipe,
        &first,
        &form(&[(FILE, file), (REASON, b"fraud")], "AAA"),
    );
    for (from, to) in [
        ("a.png", "b.png"),
        ("image/png", "image/gif"),
        ("name=\"f\"", "name=\"g\""),
        ("filename=", "other="),
        ("a.png\"", "a.png\"; filename*=UTF-8''a.png"),
        (
            "image/png",
            "image/png\r\nContent-Transfer-Encoding: base64",
        ),
    ] {
        let head = FILE.replace(from, to);
        different(
            &recipe,
            &first,
            &form(&[(REASON, b"fraud"), (&head, file)], "AAA"),
        );
    }
}

#[test]
fn a_damaged_form_with_files_is_malformed_with_its_place() {
    let recipe = Recipe::default();
    let good = form(&[(REASON, b"fraud")], "AAA");
    let cut = Request {
        body: good.body[..good.body.len() - 4].to_vec(),
        ..good.clone()
    };
    assert_eq!(
        cut.fault(&recipe),
        "the multipart body has no closing boundary at byte 68"
    );
    let never = good
        .clone()
        .with("content-type", "multipart/form-data; boundary=AAAA");
    assert_eq!(
        never.fault(&recipe),
        "the boundary never occurs in the multipart body"
    );
    let none = good.clone().with("content-type", "multipart/form-data");
    assert_eq!(
        none.fault(&recipe),
        "the multipart media type has not one usable boundary"
    );
    let bare = Request {
        body: b"--AAA\r\n\r\nx\r\n--AAA--".to_vec(),
        ..good.clone()
    };
    assert_eq!(
        bare.fault(&recipe),
        "the multipart body has a part without a name at byte 7"
    );
    let blank = Request {
        body: b"--AAA\r\nX: 1\r\n--AAA--".to_vec(),
        ..good.clone()
    };
    assert!(
        blank
            .fault(&recipe)
            .contains("a part without its blank line")
    );
    let adjacent = Request {
        body: b"--AAA\r\n--AAA--".to_vec(),
        ..good
    };
    assert!(adjacent.fault(&recipe).contains("a part without a name"));
    let bytes = Recipe {
        when_malformed: WhenMalformed::Bytes,
        ..Recipe::default()
    };
    same(&bytes, &cut, &cut.clone());
    different(
        &bytes,
        &cut,
        &Request {
            body: [&cut.body[..], b"x"].concat(),
            ..cut.clone()
        },
    );
}

#[test]
fn a_part_whose_head_says_no_name_is_malformed_with_its_place() {
    let recipe = Recipe::default();
    for (head, fault) in [
        ("Content-Disposition: form-data", "a part without a name"),
        (
            "Content-Disposition: form-data; filename=\"x\"",
            "a part without a name",
        ),
        (
            "Content-Disposition: form-data; name=\"a\"; name=\"b\"",
            "a part without a name",
        ),
        (
            "Content-Disposition: attachment; name=\"a\"",
            "a part without a name",
        ),
        (
            "Content-Disposition: form-data; name=\"a",
            "a part without a name",
        ),
        ("Content-Type: text/plain", "a part without a name"),
        ("no header", "a part with a line that is no header"),
        (
            "X : 1\r\nContent-Disposition: form-data; name=a",
            "a part with a line that is no header",
        ),
        (
            "Content-Disposition: form-data; name=a\r\n folded",
            "a part with a line that is no header",
        ),
        (
            "Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a",
            "a part with one header twice",
        ),
    ] {
        let request = form(&[(REASON, b"x"), (head, b"secret")], "AAA");
        let fault = format!("the multipart body has {fault} at byte 66");
        assert_eq!(request.fault(&recipe), fault, "{head}");
    }
}

#[test]
fn opaque_bodies_are_compared_as_bytes() {
    let recipe = Recipe::default();
    let bytes = |body: &[u8]| Request::new("application/octet-stream", body);
    different(&recipe, &bytes(b"a\xff"), &bytes(b"a\xfe"));
    same(&recipe, &bytes(b"a\xff"), &bytes(b"a\xff"));
}

#[test]
fn an_echoed_value_is_found_in_a_coded_body() {
    let recipe = Recipe {
        echo: pointers(&["/id"]),
        ..Recipe::default()
    };
    let body = coded("gzip", 9, br#"{"id":8,"x":1}"#);
    let request = Request::json(body).with("content-encoding", "gzip");
    let echoes = echo::values(&recipe, &request.command());
    assert_eq!(echo::patch(br#"{"id":7}"#, &echoes), br#"{"id":8}"#);
    let damaged = Request::json("{\"id\":8}").with("content-encoding", "gzip");
    assert!(echo::values(&recipe, &damaged.command()).is_empty());
}
