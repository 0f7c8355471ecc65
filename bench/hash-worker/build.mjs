// Builds the crate beside this file exactly as the Worker is built: the same compiler and flags,
// the same profile, the same versions of all dependencies, the same passes over the wasm.

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { buildEnv } from "../../scripts/build.mjs";
import { withLock } from "../../scripts/lib/lock.mjs";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { Failure, run } from "../../scripts/lib/proc.mjs";
import { say, step } from "../../scripts/lib/progress.mjs";
import { hashOf, readStamp, writeStamp } from "../../scripts/lib/stamp.mjs";
import { toolPath } from "../../scripts/lib/tools.mjs";
import { setup } from "../../scripts/setup.mjs";

const CRATE = "bench/hash-worker";
const STAMP = "bench-hash";
const INPUTS = ["src", "Cargo.toml", "Cargo.lock", ".cargo", "package-lock.json", "scripts"];

/** Where the build goes: `index.js` and `index_bg.wasm`. */
export const HASH_BUILD = inRoot("target", "bench", "hash");

/** The tables of a manifest whose name starts with `name`, as they are written. */
export function tablesOf(manifest, name) {
  const tables = manifest.split(/^(?=\[)/m);
  return tables.filter((table) => table.startsWith(`[${name}`)).join("");
}

/** Writes the gate's own profile where cargo reads it as configuration. */
function writeProfile(manifest) {
  const file = join(HASH_BUILD, "..", "profile.toml");
  mkdirSync(HASH_BUILD, { recursive: true });
  writeFileSync(file, tablesOf(manifest, "profile."));
  return file;
}

async function compile(toolchain) {
  const manifest = readFileSync(inRoot("Cargo.toml"), "utf8");
  if (tablesOf(manifest, "package.metadata") !== "") {
    throw new Failure("Cargo.toml tells wasm-opt what to do: bench/hash-worker must say the same");
  }
  const profile = writeProfile(manifest);
  copyFileSync(inRoot("Cargo.lock"), inRoot(CRATE, "Cargo.lock"));
  const flags = ["--release", "--panic-unwind", "--out-dir", HASH_BUILD];
  await step("the command hash for measuring (first time about 1 min)", async (onLine) => {
    const args = [CRATE, ...flags, "--", "--config", profile];
    const { code, output } = await run(toolPath("worker-build"), args, {
      env: buildEnv(toolchain),
      log: STAMP,
      onLine,
    });
    if (code !== 0) throw new Failure(`the command hash does not build:\n${output.trim()}`);
  });
}

/** Builds where needed. */
export async function buildHash() {
  const toolchain = await setup();
  const inputs = hashOf([toolchain.release, toolchain.sysroot], [...INPUTS, `${CRATE}/src`]);
  const fresh = () =>
    existsSync(join(HASH_BUILD, "index.js")) && readStamp(STAMP)?.inputs === inputs;
  if (fresh()) {
    say("the command hash for measuring is up to date");
    return;
  }
  await withLock("build", async () => {
    if (fresh()) return;
    await compile(toolchain);
    writeStamp(STAMP, { inputs });
  });
}
