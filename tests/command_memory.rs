//! Hashing a command of one MiB takes at most eight times its body, whatever its shape.

#![allow(clippy::expect_used, reason = "a test may panic")]

use cap::Cap;
use oncegate::core::command::{Command, Recipe};
use std::alloc::System;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

const MIB: usize = 1 << 20;

/// As many pieces as fit into one MiB, between two ends.
fn fill(start: &str, end: &str, piece: impl Fn(usize) -> String) -> Vec<u8> {
    let mut body = start.as_bytes().to_vec();
    for n in 0.. {
        let piece = piece(n);
        if body.len() + piece.len() + end.len() > MIB {
            break;
        }
        body.extend(piece.bytes());
    }
    if body.last() == Some(&b',') {
        body.pop();
    }
    body.extend(end.bytes());
    body
}

fn shapes() -> Vec<(&'static str, Vec<u8>)> {
    const JSON: &str = "application/json";
    let list = |item: &'static str| fill("[", "]", move |_| format!("{item},"));
    vec![
        (JSON, list("0")),
        (JSON, list("10")),
        (JSON, list("1.1")),
        (JSON, list("[]")),
        (JSON, list("{}")),
        (JSON, list("\"\\u00e9\\n\"")),
        (JSON, list("{\"b\":1,\"a\":2}")),
        (JSON, list("{\"c\":{\"b\":1,\"a\":2},\"b\":0}")),
        (
            JSON,
            fill("{", "}", |n| {
                format!("\"{:05x}\":1,", (n * 7919) & 0xf_ffff)
            }),
        ),
        (JSON, fill("{", "}", |n| format!("\"{n}\":{{}},"))),
        (
            "application/x-www-form-urlencoded",
            fill("", "", |n| format!("{:x}&", n & 0xfff)),
        ),
        (
            "application/x-www-form-urlencoded",
            fill("", "", |n| format!("a=%{:02x}&", n & 0xff)),
        ),
        (
            "multipart/form-data; boundary=b",
            fill("", "--b--", |_| {
                "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n".to_owned()
            }),
        ),
        ("text/plain", vec![b'x'; MIB]),
    ]
}

#[test]
fn a_command_of_one_mib_takes_at_most_eight_times_its_body() {
    let recipe = Recipe::default();
    for (media, body) in shapes() {
        let headers = [("content-type".to_owned(), media.to_owned())];
        let command = Command {
            operation: "pay",
            method: "POST",
            path: "/v1/payments",
            query: None,
            headers: &headers,
            body: &body,
            max_decoded: 8 * MIB,
        };
        // The allocator aborts past its limit, which counts the body too.
        let limit = MEMORY.allocated() + 7 * body.len();
        MEMORY
            .set_limit(limit)
            .expect("a limit above what is taken");
        let fingerprint = recipe.fingerprint(&command);
        MEMORY.set_limit(usize::MAX).expect("no limit");
        if let Err(fault) = fingerprint {
            let shape = String::from_utf8_lossy(body.get(..40).unwrap_or_default());
            assert!(fault.detail.contains("more than"), "{shape}: {fault}");
        }
    }
}
