// Every deliberate fault of tests/mutants/list.mjs must be found by the tests of the host. They run
// in a copy of the tree, one after the other, in one target folder.
//
//   npm run test:mutants             all of them
//   npm run test:mutants -- TEXT     those whose name contains TEXT
//
// A fault counts as found only if a test has failed: neither one that does not compile nor a run
// that came to no end says anything about the tests.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MUTANTS } from "../tests/mutants/list.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { Failure, isEnding, run } from "./lib/proc.mjs";
import { say } from "./lib/progress.mjs";

const COPY = inRoot("target", "mutants");
const COPIED = ["src", "tests", "Cargo.toml", "Cargo.lock", "clippy.toml", "docs", "README.md"];
const named = (...names) => names.flatMap((name) => ["--test", name]);
/** The quick tests of the core, then those that take their time. */
const QUICK = ["--lib", ...named("transitions", "evidence", "variants", "formats")];
const THOROUGH = named("simulation", "exhaustive");
const LONGEST_MS = 1_200_000;

function copy() {
  rmSync(COPY, { recursive: true, force: true });
  mkdirSync(COPY, { recursive: true });
  for (const name of COPIED) cpSync(inRoot(name), join(COPY, name), { recursive: true });
}

/** Which test fails, in words; nothing if all pass. */
async function failing(tests) {
  const env = { ...process.env, CARGO_TARGET_DIR: inRoot("target", "mutants-build") };
  const args = ["test", "--quiet", ...tests];
  const { code, output } = await run("cargo", args, { cwd: COPY, env, timeout: LONGEST_MS });
  if (isEnding()) throw new Failure("stopped");
  if (code === 0) return undefined;
  const group = /test failed, to rerun pass `(?:--test )?([^`]+)`/.exec(output);
  if (!group) throw new Failure(`no test has failed, and yet:\n${output.slice(-4000)}`);
  const test = /^failures:\n {4}(\S+)$/m.exec(output);
  return test ? `${group[1]}: ${test[1]}` : group[1];
}

function mutate({ name, file, from, to }) {
  const path = join(COPY, file);
  const text = readFileSync(path, "utf8");
  if (text.split(from).length !== 2) {
    throw new Failure(`"${name}": its place does not stand in ${file} exactly once`);
  }
  writeFileSync(path, text.replace(from, () => to));
  return () => writeFileSync(path, text);
}

/** The tests pass without any fault: only then does it mean something that they fail with one. */
const passes = new Map();
async function mustPass(tests) {
  if (!passes.has(tests)) passes.set(tests, await failing(tests));
  const test = passes.get(tests);
  if (test) throw new Failure(`it fails without any fault: ${test}`);
}

/** Which test finds a fault; nothing if none does. */
async function find(mutant) {
  for (const tests of [QUICK, THOROUGH]) {
    await mustPass(tests);
    const undo = mutate(mutant);
    try {
      const test = await failing(tests);
      if (test) return test;
    } finally {
      undo();
    }
  }
  return undefined;
}

await main(import.meta.url, async ([text = ""]) => {
  const chosen = MUTANTS.filter(({ name }) => name.includes(text));
  if (chosen.length === 0) throw new Failure(`no fault has a name with "${text}"`);
  copy();
  await mustPass(QUICK);
  const missed = [];
  for (const mutant of chosen) {
    const since = Date.now();
    let test;
    try {
      test = await find(mutant);
    } catch (error) {
      if (isEnding() || !(error instanceof Failure)) throw error;
      say(`${mutant.name}: ${error.message}`);
    }
    const seconds = Math.round((Date.now() - since) / 1000);
    say(`${test ? "found   " : "SURVIVED"}  ${mutant.name} (${test ?? "no test"}, ${seconds} s)`);
    if (!test) missed.push(mutant.name);
  }
  say(`${chosen.length - missed.length} of ${chosen.length} faults found`);
  if (missed.length > 0) throw new Failure(`not found: ${missed.join("; ")}`);
});
