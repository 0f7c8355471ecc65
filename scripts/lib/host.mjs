// Cargo for the host: the crate's tests, clippy and rustfmt run on the user's own toolchain, or on
// the pinned one where rustup has it and the default one is too old for the crate.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inRoot, outerPath } from "./paths.mjs";
import { RUST } from "./pins.mjs";
import { Failure, read, run, show } from "./proc.mjs";

const oldest = () =>
  readFileSync(inRoot("Cargo.toml"), "utf8").match(/^rust-version = "1\.(\d+)/m)?.[1] ?? "0";

const minorOf = (version) => Number(version?.match(/ 1\.(\d+)\./)?.[1] ?? -1);

async function hostEnv() {
  const env = { ...process.env, PATH: outerPath() };
  if (minorOf(await read("rustc", ["--version"], { env })) >= Number(oldest())) return env;
  const pinned = { ...env, RUSTUP_TOOLCHAIN: RUST, RUSTUP_AUTO_INSTALL: "0" };
  if (minorOf(await read("rustc", ["--version"], { env: pinned })) >= 0) return pinned;
  throw new Failure(
    `the crate needs Rust 1.${oldest()} or later on this machine: rustup toolchain install ${RUST}`,
  );
}

/** Runs cargo in sight of the user; fails if it fails. */
export async function cargo(...args) {
  await show("cargo", args, { env: await hostEnv() });
}

/** Runs the crate's own command line in sight of the user, and gives its exit code. */
export async function oncegate(...args) {
  const env = await hostEnv();
  const flags = ["--quiet", "--locked", "--features", "cli"];
  // Quiet, because its output may be read by a program; the first time that is a long silence.
  const target = process.env.CARGO_TARGET_DIR ?? inRoot("target");
  if (!existsSync(join(target, "debug", "oncegate"))) {
    process.stderr.write("oncegate: compiling the command line (about a minute) ...\n");
  }
  const { code } = await run("cargo", ["run", ...flags, "--", ...args], { env, inherit: true });
  return code;
}
