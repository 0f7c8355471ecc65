//! The identity lock: made once, and no identity changes without somebody saying so.

use std::path::Path;

use crate::{Folder, config, operation, pay, run_in};

const LOCK: &str = "oncegate.lock";

fn ship(lines: &str) -> String {
    operation("ship", "POST /v1/ship", lines)
}

/// A folder whose policy has been locked.
fn locked(test: &str, operations: &[String]) -> (Folder, String) {
    let folder = Folder::with(test, &config("", operations));
    folder
        .run("policy")
        .is(0)
        .says("oncegate.lock: created; commit it");
    let lock = folder.read(LOCK).expect("it was written");
    (folder, lock)
}

fn rewrite(folder: &Folder, operations: &[String]) {
    folder.write("wrangler.toml", config("", operations));
}

#[test]
fn the_first_run_writes_the_lock_and_the_next_agrees() {
    let (folder, lock) = locked(
        "first",
        &[ship(""), pay("key = [\"header:K\", \"path:tenant\"]")],
    );
    let pay = "[top.pay]\nprincipal = \"authorization\"\nscope = [\"principal\"]\n\
               key = [\"header:k\", \"path:tenant\"]\n";
    assert!(
        lock.starts_with("# The identity of every operation"),
        "{lock}"
    );
    assert!(
        lock.contains(&format!("version = 1\n\n{pay}\n[top.ship]\n")),
        "{lock}"
    );
    folder
        .run("policy --locked")
        .is(0)
        .says("oncegate.lock: agrees");
    folder
        .run("policy --write")
        .is(0)
        .says("oncegate.lock: agrees");
    assert_eq!(folder.read(LOCK), Some(lock));
    assert_eq!(folder.read("oncegate.lock.new"), None);
}

#[test]
fn what_is_no_identity_may_change() {
    let (folder, lock) = locked("free", &[pay("")]);
    for lines in [
        "match = \"POST /v2/pay\"",
        "scope = [\"principal\"]\nkey = [\"header:IDEMPOTENCY-KEY\"]",
        "on_repeat = \"refuse\"\nlease = \"2m\"\nkeep = { tombstone = \"60d\" }",
        "command = { version = 2, ignore = [\"/at\"] }",
    ] {
        rewrite(&folder, &[pay(lines)]);
        folder.run("policy --locked").is(0).says("agrees");
    }
    assert_eq!(folder.read(LOCK), Some(lock));
}

/// The lines of `pay` after they were none, and what is said.
const CHANGES: &[(&str, &str)] = &[
    (
        "principal = \"authorization:any\"",
        "principal was \"authorization\" and is \"authorization:any\": every retry",
    ),
    (
        "principal = \"none\"",
        "principal was \"authorization\" and is \"none\", scope was [\"principal\"] and is []: ",
    ),
    (
        "scope = [\"principal\", \"header:X-Account\"]",
        "scope was [\"principal\"] and is [\"principal\", \"header:x-account\"]: ",
    ),
    (
        "key = [\"query:key\"]",
        "key was [\"header:idempotency-key\"] and is [\"query:key\"]: ",
    ),
];

#[test]
fn a_changed_identity_is_refused_until_it_is_accepted_by_name() {
    for (n, (lines, says)) in CHANGES.iter().enumerate() {
        let (folder, lock) = locked(&format!("change-{n}"), &[pay(""), ship("")]);
        rewrite(&folder, &[pay(lines), ship("")]);
        for args in [
            "policy",
            "policy --write",
            "policy --locked",
            "policy --new-identity ship",
        ] {
            let told = folder.run(args);
            told.is(1)
                .says("oncegate.lock: refused; nothing was written.");
            told.says(&format!("error pay: {says}"))
                .says("--new-identity pay accepts that");
            told.says("every retry across this deploy would be a second operation");
            assert_eq!(folder.read(LOCK).as_ref(), Some(&lock), "{args}");
        }
        let told = folder.run("policy --new-identity pay");
        told.is(0)
            .says("oncegate.lock: updated")
            .says(&format!("accepted pay: {says}"));
        told.says("every retry across this deploy would be a second operation");
        folder.run("policy --locked").is(0).says("agrees");
        folder
            .run("policy --new-identity pay")
            .is(1)
            .says("nothing to accept");
    }
}

#[test]
fn the_order_of_the_parts_is_part_of_the_identity() {
    let (folder, _) = locked("order", &[pay("key = [\"header:a\", \"header:b\"]")]);
    rewrite(&folder, &[pay("key = [\"header:b\", \"header:a\"]")]);
    folder
        .run("policy")
        .is(1)
        .says("key was [\"header:a\", \"header:b\"] and is");
}

#[test]
fn all_problems_are_told_at_once() {
    let refund = operation("refund", "POST /v1/refund", "");
    let (folder, lock) = locked("all", &[pay(""), ship(""), refund]);
    let fresh = operation("cancel", "POST /v1/cancel", "");
    rewrite(&folder, &[pay("principal = \"none\""), fresh]);
    let told = folder.run("policy");
    told.is(1)
        .says("error pay: principal was")
        .says("error refund: is gone: every retry");
    told.says("error ship: is gone: every retry")
        .says("error cancel: not in oncegate.lock yet");
    let document = folder.run("policy --json");
    let document = document.is(1).json();
    assert_eq!(document["lock"]["state"], "refused");
    let problems = document["lock"]["problems"].as_array().expect("a list");
    let names: Vec<_> = problems.iter().map(|it| it["operation"].clone()).collect();
    assert_eq!(names, ["pay", "refund", "ship", "cancel"]);
    assert_eq!(folder.read(LOCK), Some(lock));
    let all = "policy --new-identity pay --new-identity refund --new-identity ship";
    folder.run(all).is(0).says("updated");
    let lock = folder.read(LOCK).expect("a lock");
    assert!(
        lock.contains("[top.cancel]") && !lock.contains("refund"),
        "{lock}"
    );
}

#[test]
fn a_new_name_for_an_operation_is_recognised_and_still_refused() {
    let (folder, _) = locked("rename", &[ship("key = [\"query:k\"]")]);
    rewrite(
        &folder,
        &[operation("send", "POST /v1/ship", "key = [\"query:k\"]")],
    );
    folder
        .run("policy")
        .is(1)
        .says("ship: is gone (renamed to send?): every retry");
    folder.run("policy --write").is(1).says("ship: is gone");
}

#[test]
fn a_new_operation_is_written_down_on_request_only() {
    let (folder, lock) = locked("new", &[pay("")]);
    rewrite(&folder, &[pay(""), ship("")]);
    for args in ["policy", "policy --locked"] {
        let told = folder.run(args);
        told.is(1)
            .says("ship: not in oncegate.lock yet: run `npm run policy -- --write`");
        assert_eq!(folder.read(LOCK).as_ref(), Some(&lock));
    }
    folder.run("policy --write").is(0).says("updated");
    assert!(
        folder
            .read(LOCK)
            .is_some_and(|lock| lock.contains("[top.ship]"))
    );
    folder.run("policy --locked").is(0);
}

#[test]
fn new_operations_are_told_together() {
    let folder = Folder::with("together", &config("", &[pay(""), ship("")]));
    let told = folder.run("policy --locked");
    told.is(1)
        .says("error pay and ship: not in oncegate.lock yet: run");
    let document = folder.run("policy --locked --json").json();
    assert_eq!(
        document["lock"]["problems"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn with_locked_even_the_first_run_writes_nothing() {
    let folder = Folder::with("locked", &config("", &[pay("")]));
    folder
        .run("policy --locked")
        .is(1)
        .says("pay: not in oncegate.lock yet");
    assert_eq!(folder.read(LOCK), None);
}

#[test]
fn every_environment_has_identities_of_its_own() {
    let (folder, lock) = locked("environments", &[pay("")]);
    let top = config("", &[pay("")]);
    let staging = top
        .replace("[vars.", "[env.staging.vars.")
        .replace("name = \"gate\"\n", "");
    let other = staging.replace("principal = \"authorization\"", "principal = \"none\"");
    folder.write("wrangler.toml", format!("{top}\n{staging}"));
    folder.run("policy --locked").is(0);
    let told = folder.run("policy --env staging --locked");
    told.is(1)
        .says("run `npm run policy -- --env staging --write` and commit the file");
    folder.run("policy --env staging").is(0).says("created");
    let both = folder.read(LOCK).expect("a lock");
    assert!(
        both.starts_with(&lock) && both.contains("\n[env.staging.pay]\n"),
        "{both}"
    );
    folder.write("wrangler.toml", format!("{top}\n{other}"));
    folder
        .run("policy --env staging")
        .is(1)
        .says("pay: principal was");
    folder.run("policy").is(0).says("agrees");
    folder.run("policy --env staging --new-identity pay").is(0);
    let changed = folder.read(LOCK).expect("a lock");
    assert!(
        changed.starts_with(&lock) && changed.contains("principal = \"none\""),
        "{changed}"
    );
}

#[test]
fn the_lock_may_be_elsewhere() {
    let folder = Folder::with("elsewhere", &config("", &[pay("")]));
    folder
        .run("policy --lock other.lock")
        .is(0)
        .says("other.lock: created");
    assert!(folder.read("other.lock").is_some());
    assert_eq!(folder.read(LOCK), None);
}

#[test]
fn a_damaged_lock_is_never_taken_for_an_absent_one() {
    let (folder, lock) = locked("damaged", &[pay("")]);
    for (text, says) in [
        ("", "is no identity lock: "),
        ("version = ", "is no identity lock: "),
        (
            "version = 2\n",
            "has version 2; this oncegate knows version 1",
        ),
        (&lock.replace("key =", "keys ="), "is no identity lock: "),
        (
            &format!("{lock}region = \"eu\"\n"),
            "unknown field `region`",
        ),
        (
            &lock.replace("[top.pay]", "[tip.pay]"),
            "unknown field `tip`",
        ),
    ] {
        folder.write(LOCK, text);
        folder.run("policy --write").fails(says);
        assert_eq!(folder.read(LOCK).as_deref(), Some(text));
    }
}

#[test]
fn the_policy_of_this_repository_is_valid_and_locked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    run_in(root, "policy --locked")
        .is(0)
        .says("oncegate.lock: agrees");
}
