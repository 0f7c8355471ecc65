//! Arguments and files that cannot be read, and the help.

use crate::Folder;

#[test]
fn what_cannot_be_read_is_told_and_answers_nothing() {
    let folder = Folder::with("unreadable", "[vars\n");
    folder.run("policy").fails("wrangler.toml is not TOML");
    folder.write("wrangler.toml", b"\xff");
    folder
        .run("policy")
        .fails("cannot read wrangler.toml: it is not UTF-8");
    folder
        .run("policy --config none.toml")
        .fails("cannot read none.toml: ");
    folder.run("policy --env").fails("missing argument");
    folder.run("policy extra").fails("\"extra\"");
    folder.run("policy --stric").fails("--stric");
    folder.run("policy --strict=yes").fails("--strict");
    folder
        .run("policy --locked --write")
        .fails("--locked writes nothing");
    folder.run("polcy").fails("no such command: polcy");
    folder.run("--polcy").fails("--polcy");
}

#[test]
fn help_tells_every_option() {
    let folder = Folder::new("help");
    for args in ["", "--help", "help"] {
        folder
            .run(args)
            .is(0)
            .says("usage: oncegate policy [options]");
    }
    let told = folder.run("policy --help");
    for option in [
        "--config FILE",
        "--env NAME",
        "--strict",
        "--json",
        "--lock FILE",
    ]
    .into_iter()
    .chain(["--write", "--new-identity NAME", "--locked"])
    {
        told.is(0).says(option);
    }
}
