//! The command line: checks a policy before it is deployed, and explains what it makes of requests.
//!
//! Owns the commands, their arguments and their words. It decides nothing about a policy or a
//! request: it asks the same core that runs in the Worker, so what it says is what will happen.
//! Built for the host only, behind the feature `cli`. Credentials are never printed.

mod args;
mod config;
mod difference;
mod explain;
mod frames;
mod lock;
mod policy;
mod questions;
mod request;
mod schema;
mod words;

use std::ffi::OsString;
use std::io::{self, Write};

/// All is well.
const FINE: u8 = 0;
/// What was asked about does not hold: a fault, a changed identity, two requests that differ.
const NOT_FINE: u8 = 1;
/// The question could not be answered: wrong arguments, a file that cannot be read.
const TROUBLE: u8 = 2;

/// Why a question could not be answered.
#[derive(Debug)]
struct Failure(String);

impl Failure {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Runs a command line without its program name and gives the exit status.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let done = args::parse(args).and_then(|command| match command {
        args::Command::Help(text) => {
            write!(out, "{text}")?;
            Ok(FINE)
        }
        args::Command::Explain(options) => explain::run(&options, out),
        args::Command::Schema => schema::run(out),
        args::Command::Policy(options) => policy::run(&options, out),
    });
    match done {
        Ok(status) => status,
        Err(Failure(message)) => {
            // Where even this cannot be written, the status still tells.
            let _ = writeln!(err, "oncegate: {message}");
            TROUBLE
        }
    }
}
