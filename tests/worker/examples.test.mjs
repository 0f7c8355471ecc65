// The examples show what they say: every claim in them is checked, and their ledgers at the end.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { examples } from "../../scripts/example.mjs";
import { inRoot } from "../../scripts/lib/paths.mjs";

for (const name of examples()) {
  test(`${name}: the story comes to its end, with its ledger`, async () => {
    const { run } = await import(inRoot("examples", name, "run.mjs"));
    const lines = [];
    await run({ tell: (line) => lines.push(line) });
    assert.match(lines.at(-1), /✓ \d+ entries, none of them twice/);
    assert.ok(lines.filter((line) => line.includes("✓")).length >= 3, "it claims something");
  });
}

test("an example whose claim does not hold fails", async () => {
  const { run } = await import(inRoot("examples", "impressions", "run.mjs"));
  const { openStage } = await import(inRoot("examples", "lib", "stage.mjs"));
  const { startOrigin } = await import(inRoot("examples", "impressions", "origin.mjs"));
  const folder = inRoot("examples", "impressions");
  await using stage = await openStage(folder, await startOrigin(), { tell: () => {} });
  const path = "/pixel?impression_id=1&timestamp=1";
  await stage.send("GET", path, { expect: { state: "executed" } });
  await assert.rejects(stage.send("GET", path, { expect: { state: "executed" } }));
  assert.throws(() => stage.claim("nothing was billed", stage.origin.ledger.length === 0));
  assert.throws(() => stage.ledger([]));
  assert.equal(typeof run, "function");
});

test("every example is listed where people look for it", () => {
  const readme = readFileSync(inRoot("examples", "README.md"), "utf8");
  for (const name of examples()) assert.ok(readme.includes(`[${name}](${name}/)`), name);
});
