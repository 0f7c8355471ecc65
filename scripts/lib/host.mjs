// Cargo for the host: the crate's tests, clippy and rustfmt run on the user's own toolchain, or on
// the pinned one where rustup has it and the default one is too old for the crate.

import { readFileSync } from "node:fs";
import { inRoot, outerPath } from "./paths.mjs";
import { RUST } from "./pins.mjs";
import { Failure, read, show } from "./proc.mjs";

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
