//! The command line as its users meet it: exit status, output, and the files that it writes.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test fail it this way"
)]

mod arguments;
mod explain;
mod lock;
mod pairs;
mod policy;
mod schema;
mod validator;
mod warnings;

use std::path::PathBuf;
use std::process::Command;

/// A folder of one test, empty at its start.
pub(crate) struct Folder(PathBuf);

/// What a command came to.
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        if path.exists() {
            std::fs::remove_dir_all(&path).expect("an old folder goes");
        }
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// A folder with a wrangler.toml.
    pub(crate) fn with(test: &str, config: &str) -> Self {
        let folder = Self::new(test);
        folder.write("wrangler.toml", config);
        folder
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), text).expect("a file is written");
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(name)).ok()
    }

    /// Runs `oncegate` in this folder; the arguments are separated by spaces.
    pub(crate) fn run(&self, args: &str) -> Outcome {
        run_in(&self.0, args)
    }
}

pub(crate) fn run_in(folder: &std::path::Path, args: &str) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_oncegate"))
        .args(args.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("oncegate starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Outcome {
        status: output.status.code().expect("it ends by itself"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

impl Outcome {
    #[track_caller]
    pub(crate) fn is(&self, status: i32) -> &Self {
        let Self { out, err, .. } = self;
        assert_eq!(self.status, status, "stdout:\n{out}\nstderr:\n{err}");
        self
    }

    /// Holds on one line what may be broken into several.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(flat(&self.out).contains(text), "{text:?} in:\n{}", self.out);
        self
    }

    #[track_caller]
    pub(crate) fn says_not(&self, text: &str) -> &Self {
        assert!(
            !flat(&self.out).contains(text),
            "{text:?} in:\n{}",
            self.out
        );
        self
    }

    /// The question could not be answered, for this reason.
    #[track_caller]
    pub(crate) fn fails(&self, why: &str) {
        self.is(2);
        assert!(self.err.starts_with("oncegate: "), "{}", self.err);
        assert!(self.err.contains(why), "{why:?} in: {}", self.err);
        assert_eq!(self.out, "");
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).expect("JSON on stdout")
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The table of an operation `pay` with some lines of its own, which come first and so win.
pub(crate) fn pay(lines: &str) -> String {
    operation("pay", "POST /v1/{tenant}/pay", lines)
}

/// An operation in TOML; what `lines` do not write is filled in.
pub(crate) fn operation(name: &str, route: &str, lines: &str) -> String {
    let upper = name.to_uppercase();
    let mut out = format!("[vars.ONCEGATE_OP_{upper}]\nname = {name:?}\n");
    for (field, value) in [("match", route), ("principal", "authorization")] {
        if !lines.lines().any(|line| line.starts_with(field)) {
            out.push_str(&format!("{field} = {value:?}\n"));
        }
    }
    format!("{out}{lines}\n")
}

/// A wrangler.toml with some globals and operations.
pub(crate) fn config(globals: &str, operations: &[String]) -> String {
    let operations = operations.join("\n");
    let origin = "origin = \"https://api.example.com\"";
    let origin = if globals.contains("origin") {
        ""
    } else {
        origin
    };
    format!("name = \"gate\"\n[vars.ONCEGATE]\n{origin}\n{globals}\n\n{operations}")
}
