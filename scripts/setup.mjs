// Set-up: everything that the other commands need, once. The second run only looks at a stamp.
// Never changes anything outside the project but what the user's own package managers hold
// (a rustup target, or Debian packages where rustup cannot download).

import { existsSync } from "node:fs";
import { main } from "./lib/main.mjs";
import { ensureModules } from "./lib/npm.mjs";
import { withLock } from "./lib/lock.mjs";
import * as pins from "./lib/pins.mjs";
import { say } from "./lib/progress.mjs";
import { hashOf, readStamp, writeStamp } from "./lib/stamp.mjs";
import { writeShims } from "./lib/shims.mjs";
import { ensureToolchain } from "./lib/toolchain.mjs";
import { commands, ensureTools, toolPath } from "./lib/tools.mjs";

const fingerprint = () =>
  hashOf([pins.RUST, pins.TARGET, pins.DEBIAN_PACKAGES, commands(), process.arch], ["scripts/lib"]);

/** The stamped toolchain if set-up is done and all of it is still there. */
function done() {
  const stamp = readStamp("setup");
  const whole =
    stamp?.fingerprint === fingerprint() &&
    [stamp.toolchain.cargo, stamp.toolchain.rustc, stamp.toolchain.shims].every(existsSync) &&
    commands().every(({ command }) => existsSync(toolPath(command)));
  return whole ? stamp.toolchain : undefined;
}

/** Does what is missing and returns the Worker's toolchain. */
export async function setup() {
  const ready = done();
  if (ready) return ready;
  return withLock("set-up", async () => {
    const meanwhile = done();
    if (meanwhile) return meanwhile;
    await ensureModules();
    const toolchain = await ensureToolchain();
    await ensureTools();
    toolchain.shims = writeShims(toolchain);
    writeStamp("setup", { fingerprint: fingerprint(), toolchain });
    say("set-up is complete");
    return toolchain;
  });
}

await main(import.meta.url, async () => {
  const { way, release } = await setup();
  say(`ready (compiler of the Worker: Rust ${release}, ${way})`);
});
