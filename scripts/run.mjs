// The way in for every npm command: `node scripts/run.mjs NAME [arguments]` runs
// scripts/NAME.mjs on the Node that package.json pins, after installing the npm packages if they
// are not there. Works on the Node that is at hand, with nothing installed.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ensureModules, modulesAreFresh } from "./lib/npm.mjs";
import { withLock } from "./lib/lock.mjs";
import { inModules, NODE_BIN, outerPath } from "./lib/paths.mjs";
import { node } from "./lib/pins.mjs";
import { end, Failure, start } from "./lib/proc.mjs";

const PARENT_LOOK_MS = 1000;

/** Ends with npm: killed outright, it can pass no signal on, and its children would live on. */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  setInterval(() => {
    if (process.ppid !== npm) process.kill(process.pid, "SIGTERM");
  }, PARENT_LOOK_MS).unref();
}

/** Runs a script on the pinned Node, and passes its exit code on. */
function onPinnedNode(script, args) {
  return new Promise((resolve) => {
    const child = start(NODE_BIN, [script, ...args], { stdio: "inherit", grace: 10_000 });
    child.on("close", async (code, signal) => {
      await end(child);
      resolve(code ?? (signal ? 1 : 0));
    });
  });
}

async function main([name, ...args]) {
  const script = join(dirname(fileURLToPath(import.meta.url)), `${name}.mjs`);
  if (!name || name.includes("/") || name === "run" || !existsSync(script)) {
    throw new Failure(`no such command: ${name ?? "(none)"}`);
  }
  endWithNpm();
  if (!modulesAreFresh()) await withLock("set-up", ensureModules);
  process.env.PATH = [inModules(".bin"), outerPath()].join(":");
  if (process.version === `v${node()}`) {
    process.argv.splice(1, 2, script);
    await import(pathToFileURL(script));
  } else {
    process.exitCode = await onPinnedNode(script, args);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`oncegate: ${error instanceof Failure ? error.message : error.stack}\n`);
  process.exitCode = error.code > 0 ? error.code : 1;
}
