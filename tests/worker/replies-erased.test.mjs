// The end of what is kept: the reply goes when its window ends, long ones with all their chunks,
// and after the tombstone nothing is left. What is cut out earlier leaves no chunk behind either.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gateForTests } from "./support/fixture.mjs";
import { eventually, refusal } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";
import { ask, bytesOf, fits, isFirst, isReplay } from "./support/replies.mjs";
import { MIB, runs, scripted } from "./support/replies.mjs";

const SECRET = { ONCEGATE_RECORD_SECRET: "a secret of this test" };
const WORDS = "words-of-the-reply";
const { answers, handler } = scripted();
const gateWith = (keep, fields = {}) =>
  gateForTests({ policy: payments({ keep, ...fields }), vars: SECRET }, { handler });

const short = gateWith({ for: "600ms", tombstone: "4s" });
const sealed = gateWith({ for: "600ms", tombstone: "4s", encrypt: true });
const reused = gateWith({ for: "2s", tombstone: "1h" }, { after_expiry: "execute" });
const streamed = gateWith({ for: "600ms", tombstone: "4s" }, { stream: true });

/** The pairs of the object of a reference. */
function rowsOf(gate, reference) {
  const nonce = reference.slice(reference.lastIndexOf(".") + 1);
  const owner = gate.objects().find(({ kv }) => kv.some(({ value }) => value.includes(nonce)));
  return owner?.kv ?? [];
}

const totalRows = (gate) => gate.objects().reduce((sum, { rows }) => sum + rows, 0);

/** Gives out a reply of three chunks and words in its headers. */
async function keepLong({ gate }, key) {
  const headers = [["Content-Type", "text/plain"], ["Location", `/${WORDS}`]];
  const body = Buffer.concat([Buffer.from(WORDS), bytesOf(3 * MIB)]);
  answers[key] = { status: 201, headers, body };
  const first = await ask(gate, key);
  isFirst(first, 201);
  fits(first, body);
  return first.header("Oncegate-Reference");
}

/** The window ends, and then the tombstone. */
async function isErased(at, key) {
  const { gate, origin } = at;
  const reference = await keepLong(at, key);
  const [record] = await eventually(() => {
    const rows = rowsOf(gate, reference);
    return rows.length === 1 && rows;
  });
  assert.equal(record.key, "record/0");
  assert.ok(record.value.length < 4096, `${record.value.length} bytes of tombstone`);
  assert.equal(record.value.includes(WORDS), false);
  const problem = await refusal(gate, await ask(gate, key), 409, "key_expired", "expired");
  assert.equal(problem.location, undefined);
  await eventually(() => totalRows(gate) === 0);
  await eventually(() => gate.objects().every(({ alarm }) => alarm === null));
  assert.equal(runs(origin, key), 1);
}

test("the window ends, the chunks go; the tombstone ends, and nothing is left", async () => {
  const gates = Object.entries({ plain: short, encrypted: sealed, streamed });
  await Promise.all(gates.map(([name, at]) => isErased(at, `erased-${name}`)));
});

test("the window ends while nothing runs: made up for once there is a gate again", async () => {
  const { gate, origin } = short;
  const reference = await keepLong(short, "while-down");
  await gate.kill();
  await eventually(() => rowsOf(gate, reference).length === 1);
  await eventually(() => totalRows(gate) === 0);
  assert.equal(runs(origin, "while-down"), 1);
});

test("a new life under the key has no chunk of the old one", async () => {
  const { gate, origin } = reused;
  const old = await keepLong(reused, "again");
  await eventually(() => rowsOf(gate, old).length === 1);
  answers.again = { status: 201, headers: [], body: bytesOf(MIB + 1) };
  const first = await ask(gate, "again");
  isFirst(first, 201);
  const reference = first.header("Oncegate-Reference");
  assert.notEqual(reference, old);
  const again = await ask(gate, "again");
  isReplay(again, 201);
  fits(again, bytesOf(MIB + 1));
  assert.equal(rowsOf(gate, reference).length, 3);
  assert.equal(runs(origin, "again"), 2);
});
