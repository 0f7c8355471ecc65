//! The rules of the code, checked as a test.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};

/// How long a source file may be; its own tests do not count.
const LONGEST: usize = 450;

fn sources(below: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(below);
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 5, "there is something to look at in {below}");
    found
}

/// The code of a file without its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap()
}

#[test]
fn the_core_knows_nothing_of_the_platform() {
    let banned = [
        "worker::",
        "use worker",
        "js_sys",
        "wasm_bindgen",
        "web_sys",
        "getrandom",
        "std::time::Instant",
        "SystemTime",
        "std::fs",
        "std::net::Tcp",
        "std::env",
        "println!",
        "eprintln!",
    ];
    for (path, text) in sources("src/core") {
        for (number, line) in code(&text).lines().enumerate() {
            let line = line.split("//").next().unwrap();
            for word in banned {
                assert!(
                    !line.contains(word),
                    "{}:{}: {word}",
                    path.display(),
                    number + 1
                );
            }
        }
    }
}

#[test]
fn nothing_that_can_panic_is_reachable_from_a_request() {
    let banned = [
        ".unwrap()",
        ".expect(",
        "panic!(",
        "unreachable!(",
        "todo!(",
        "unimplemented!(",
        "assert!(",
        "assert_eq!(",
    ];
    for (path, text) in sources("src/core").into_iter().chain(sources("src/shell")) {
        // The one place that panics on purpose is not in a build that is deployed.
        if path.ends_with("shell/faults.rs") || path.ends_with("tests.rs") {
            continue;
        }
        for (number, line) in code(&text).lines().enumerate() {
            let line = line.split("//").next().unwrap();
            let checked = line.contains("debug_assert") || line.contains("const _: () = assert!");
            for word in banned.iter().filter(|_| !checked) {
                assert!(
                    !line.contains(word),
                    "{}:{}: {word}",
                    path.display(),
                    number + 1
                );
            }
        }
    }
}

#[test]
fn every_file_says_what_it_owns_and_none_is_long() {
    for (path, text) in sources("src") {
        assert!(
            text.starts_with("//! "),
            "{} says what it is for",
            path.display()
        );
        let lines = code(&text).lines().count();
        assert!(lines <= LONGEST, "{} has {lines} lines", path.display());
    }
}

#[test]
fn only_the_records_of_an_object_write_to_its_storage() {
    for (path, text) in sources("src/shell") {
        let writes = [".store.save(", ".store.erase(", ".store.set_slots("];
        let owner = path.ends_with("records.rs");
        assert!(
            owner || !writes.iter().any(|write| text.contains(write)),
            "{} writes a record",
            path.display()
        );
    }
}

#[test]
fn nothing_is_left_unfinished() {
    let marks = ["TODO", "FIXME", "XXX"];
    for (path, text) in sources("src") {
        for mark in marks {
            assert!(!text.contains(mark), "{}: {mark}", path.display());
        }
    }
}
