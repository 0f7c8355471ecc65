//! The arguments of the command line.
//!
//! Owns their names, their help, and which of them exclude each other.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

use super::Failure;

/// A command with its arguments.
#[derive(Debug)]
pub(super) enum Command {
    Explain(Explain),
    Help(&'static str),
    Policy(Policy),
    Schema,
}

/// Where a policy is.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) config: PathBuf,
    /// The environment of wrangler; none is the top level of the file.
    pub(super) env: Option<String>,
}

/// The arguments of `explain`.
#[derive(Debug)]
pub(super) struct Explain {
    pub(super) source: Source,
    pub(super) first: PathBuf,
    pub(super) second: Option<PathBuf>,
}

/// The arguments of `policy`.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) source: Source,
    pub(super) strict: bool,
    pub(super) json: bool,
    pub(super) lock: Lock,
}

/// What may become of the identity lock.
#[derive(Debug)]
pub(super) struct Lock {
    /// Its file, if it is not the one beside the configuration.
    pub(super) file: Option<PathBuf>,
    /// Operations whose change of identity is meant.
    pub(super) new_identity: Vec<String>,
    /// Whether new operations are written down.
    pub(super) write: bool,
    /// Whether nothing at all may be written.
    pub(super) locked: bool,
}

const HELP: &str = "\
oncegate: checks the policy of an idempotency gate, and what it makes of requests

usage: oncegate policy [options]            check a policy and its identity lock
       oncegate explain [options] A [B]     what a request is, and whether another is its retry
       oncegate schema                      the JSON Schema of the policy, for editors
       oncegate COMMAND --help              the options of a command

The policy is read from the variables of wrangler.toml.
";

const POLICY_HELP: &str = "\
usage: oncegate policy [options]

Checks the policy in wrangler.toml, prints how every operation answers the seven design questions,
warns of effects that may surprise, and holds the identities against oncegate.lock.

  --config FILE        the configuration of the Worker (default: wrangler.toml)
  --env NAME           an environment of wrangler; without it the top level of the file, because
                       environments inherit no variables
  --strict             warnings fail too
  --json               one JSON document instead of text
  --lock FILE          the identity lock (default: oncegate.lock beside the configuration)
  --write              write new operations down in the lock; never accepts a change
  --new-identity NAME  accept that the identity of this operation changed or vanished, and write
                       it down; may be given more than once
  --locked             write nothing: a lock that is not complete fails (for deploys and CI)

exit status: 0 all is well, 1 errors, a changed identity, or warnings with --strict, 2 the
question could not be answered
";

const EXPLAIN_HELP: &str = "\
usage: oncegate explain [options] A.http [B.http]

Tells what the gate makes of the raw HTTP request in a file: its operation, its identity (the name
of its object), its canonical form and its fingerprint, under the policy in wrangler.toml. With two
files it tells whether the second is the same command as the first, and where they differ. The
files hold a request line, headers, an empty line and the body. Credentials are never printed.

  --config FILE  the configuration of the Worker (default: wrangler.toml)
  --env NAME     an environment of wrangler; without it the top level of the file

exit status: 0 the request is admitted (two: the second is a retry of the first), 1 it is refused
(two: it is not), 2 the question could not be answered
";

/// Reads the arguments, without the name of the program.
pub(super) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let mut parser = Parser::from_args(args);
    let command = match parser.next().map_err(usage)? {
        None | Some(Arg::Long("help") | Arg::Short('h')) => return Ok(Command::Help(HELP)),
        Some(Arg::Value(name)) => name,
        Some(argument @ (Arg::Long(_) | Arg::Short(_))) => {
            return Err(usage(argument.unexpected()));
        }
    };
    match command.to_str() {
        Some("help") => Ok(Command::Help(HELP)),
        Some("explain") => explain(&mut parser),
        Some("policy") => policy(&mut parser),
        Some("schema") => schema(&mut parser),
        _ => Err(Failure::new(format!(
            "no such command: {}; see oncegate --help",
            command.to_string_lossy()
        ))),
    }
}

fn explain(parser: &mut Parser) -> Result<Command, Failure> {
    let (mut config, mut env, mut files) = (None, None, Vec::new());
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help(EXPLAIN_HELP)),
            Arg::Long("config") | Arg::Short('c') => config = Some(path(parser)?),
            Arg::Long("env") | Arg::Short('e') => env = Some(text(parser)?),
            Arg::Value(file) => files.push(PathBuf::from(file)),
            other @ (Arg::Long(_) | Arg::Short(_)) => return Err(usage(other.unexpected())),
        }
    }
    let mut files = files.into_iter();
    match (files.next(), files.next(), files.next()) {
        (Some(first), second, None) => Ok(Command::Explain(Explain {
            source: source(config, env),
            first,
            second,
        })),
        _ => Err(Failure::new(
            "explain takes one file with a request, or two; see oncegate explain --help",
        )),
    }
}

fn schema(parser: &mut Parser) -> Result<Command, Failure> {
    match parser.next().map_err(usage)? {
        None => Ok(Command::Schema),
        Some(Arg::Long("help") | Arg::Short('h')) => Ok(Command::Help(HELP)),
        Some(other) => Err(usage(other.unexpected())),
    }
}

fn policy(parser: &mut Parser) -> Result<Command, Failure> {
    let (mut config, mut env, mut file) = (None, None, None);
    let (mut strict, mut json, mut write, mut locked) = (false, false, false, false);
    let mut new_identity = Vec::new();
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help(POLICY_HELP)),
            Arg::Long("config") | Arg::Short('c') => config = Some(path(parser)?),
            Arg::Long("env") | Arg::Short('e') => env = Some(text(parser)?),
            Arg::Long("strict") => strict = true,
            Arg::Long("json") => json = true,
            Arg::Long("lock") => file = Some(path(parser)?),
            Arg::Long("write") => write = true,
            Arg::Long("new-identity") => new_identity.push(text(parser)?),
            Arg::Long("locked") => locked = true,
            other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                return Err(usage(other.unexpected()));
            }
        }
    }
    if locked && (write || !new_identity.is_empty()) {
        return Err(Failure::new(
            "--locked writes nothing: it excludes --write and --new-identity",
        ));
    }
    Ok(Command::Policy(Policy {
        source: source(config, env),
        strict,
        json,
        lock: Lock {
            file,
            new_identity,
            write,
            locked,
        },
    }))
}

fn source(config: Option<PathBuf>, env: Option<String>) -> Source {
    Source {
        config: config.unwrap_or_else(|| PathBuf::from("wrangler.toml")),
        // As for wrangler, an empty name is the top level.
        env: env.filter(|name| !name.is_empty()),
    }
}

fn path(parser: &mut Parser) -> Result<PathBuf, Failure> {
    parser.value().map(PathBuf::from).map_err(usage)
}

fn text(parser: &mut Parser) -> Result<String, Failure> {
    parser.value().and_then(|it| it.string()).map_err(usage)
}

fn usage(error: lexopt::Error) -> Failure {
    Failure::new(format!("{error}; see oncegate --help"))
}
