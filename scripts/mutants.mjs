// `npm run test:mutants`: every deliberate fault of tests/mutants/list.mjs must be found by the
// tests of the host. They run in a copy of the tree, one after the other, in one target folder.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MUTANTS } from "../tests/mutants/list.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { Failure, run } from "./lib/proc.mjs";
import { say } from "./lib/progress.mjs";

const COPY = inRoot("target", "mutants");
const COPIED = ["src", "tests", "Cargo.toml", "Cargo.lock", "clippy.toml", "docs", "README.md"];
/** The quick tests of the core; the long ones are not needed to find any of these. */
const TESTS = ["lib", "transitions", "evidence", "variants", "formats"].flatMap((name) =>
  name === "lib" ? ["--lib"] : ["--test", name],
);
const THOROUGH = ["--test", "simulation", "--test", "exhaustive"];
const LONGEST_MS = 600_000;

function copy() {
  rmSync(COPY, { recursive: true, force: true });
  mkdirSync(COPY, { recursive: true });
  for (const name of COPIED) cpSync(inRoot(name), join(COPY, name), { recursive: true });
}

async function passes(tests) {
  const env = { ...process.env, CARGO_TARGET_DIR: inRoot("target", "mutants-build") };
  const args = ["test", "--quiet", ...tests];
  const { code, output } = await run("cargo", args, { cwd: COPY, env, timeout: LONGEST_MS });
  if (/could not compile|error: no test target/.test(output)) {
    throw new Failure(`a mutant does not compile:\n${output}`);
  }
  return code === 0;
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

await main(import.meta.url, async () => {
  copy();
  if (!(await passes(TESTS))) throw new Failure("the tests fail without any mutant");
  const survivors = [];
  for (const mutant of MUTANTS) {
    const undo = mutate(mutant);
    const killed = !(await passes(TESTS)) || !(await passes(THOROUGH));
    undo();
    say(`${killed ? "found    " : "SURVIVED "} ${mutant.name}`);
    if (!killed) survivors.push(mutant.name);
  }
  say(`${MUTANTS.length - survivors.length} of ${MUTANTS.length} faults found`);
  if (survivors.length > 0) throw new Failure(`not found: ${survivors.join("; ")}`);
});
