// The list of deliberate faults fits the code as it is: a fault whose place is gone, or stands
// twice, could not be seeded, and what it was there to prove would be proved no longer.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { MUTANTS } from "../mutants/list.mjs";

test("every deliberate fault has one place in the code and changes it", () => {
  assert.ok(MUTANTS.length > 50);
  for (const { name, file, from, to } of MUTANTS) {
    const places = readFileSync(inRoot(file), "utf8").split(from).length - 1;
    assert.equal(places, 1, `"${name}": its place stands in ${file} ${places} times`);
    assert.notEqual(from, to, name);
  }
});

test("every deliberate fault has a name of its own and is another fault", () => {
  const different = (of) => assert.equal(new Set(MUTANTS.map(of)).size, MUTANTS.length);
  different(({ name }) => name);
  different(({ file, from, to }) => JSON.stringify([file, from, to]));
});
