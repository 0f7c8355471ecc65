// All tests: those of the crate on the host, then those of the Worker on a real workerd.
//
//   npm test                       everything
//   npm test -- host [FILTER]      the crate's tests whose name contains FILTER
//   npm test -- worker [NAME]      the files below tests/worker whose path contains NAME

import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "./build.mjs";
import { cargo } from "./lib/host.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { Failure, show } from "./lib/proc.mjs";
import { say } from "./lib/progress.mjs";
import { setup } from "./setup.mjs";

// Each file starts runtimes of its own: more at once than a small machine bears only makes the
// slowest ones run into their time limits.
const FILES_AT_ONCE = 2;
const TEST_TIMEOUT_MS = 180_000;

/** The test files below a folder, sorted. */
function testFiles(folder, ending) {
  if (!existsSync(inRoot(folder))) return [];
  return readdirSync(inRoot(folder), { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();
}

async function hostTests(filter) {
  if (testFiles("tests", ".rs").length === 0) throw new Failure("there are no tests in tests/*.rs");
  say("tests on the host");
  await cargo("test", "--locked", "--features", "cli", ...(filter ? [filter] : []));
}

async function workerTests(filter = "") {
  const files = testFiles("tests/worker", ".test.mjs").filter((name) =>
    relative("tests/worker", name).includes(filter),
  );
  if (files.length === 0) throw new Failure(`no test file below tests/worker matches "${filter}"`);
  await build("release");
  await build("test");
  say(`tests of the Worker on workerd: ${files.length} files`);
  await show(process.execPath, [
    "--test",
    "--test-reporter=spec",
    `--test-concurrency=${FILES_AT_ONCE}`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    ...files,
  ]);
}

/** Runs the named group, or all of them; fails if any test fails. */
export async function test(group, filter) {
  const groups = { host: hostTests, worker: workerTests };
  if (group !== undefined && !Object.hasOwn(groups, group)) {
    throw new Failure(`unknown group ${group}: host or worker`);
  }
  await setup();
  for (const [name, run] of Object.entries(groups)) {
    if (group === undefined || group === name) await run(filter);
  }
}

await main(import.meta.url, async ([group, filter]) => test(group, filter));
