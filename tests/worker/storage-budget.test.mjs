// What a key costs in rows, counted where the Worker calls its storage: four written for a new
// key, none for a replay, four more until the object is empty. A look reads two: how many records
// there are (a row that is there only where there are several), and the record.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { callsOf, countedBuild, rowsOf } from "./support/counted.mjs";
import { eventually, executed, pay, refusal, replayed, statusOf } from "./support/gated.mjs";
import { payments, startGate } from "./support/gate.mjs";

const TIMES = { lease: "3s", origin_timeout: "2s", while_running: "pending" };

let origin;
let build;
let gate;
let brief;
before(async () => {
  origin = await startOrigin();
  build = await countedBuild();
  const at = { origin, build: build.folder };
  gate = await startGate({ ...at, policy: payments(TIMES) });
  const keep = { for: "200ms", tombstone: "400ms" };
  brief = await startGate({ ...at, policy: payments({ ...TIMES, keep }) });
});
after(async () => {
  await gate?.dispose();
  await brief?.dispose();
  await build?.remove();
  await origin?.close();
});

/** A key of its own; when its last call shows, all that was told before it has shown too. */
async function barrier() {
  const done = await pay(gate, `barrier-${callsOf(gate).length}`);
  const name = done.headers.get("Oncegate-Reference").slice("og_".length).split(".")[0];
  return eventually(() => {
    const calls = callsOf(gate);
    const alarms = calls.filter((each) => each.name === name && each.call === "setAlarm");
    if (alarms.length < 2) return undefined;
    return { from: calls.findIndex((each) => each.name === name), to: calls.length };
  });
}

/** The calls to storage during some work. */
async function callsDuring(work) {
  const { to } = await barrier();
  await work();
  const { from } = await barrier();
  return callsOf(gate).slice(to, from);
}

test("a new key: four rows written up to the stored reply, in two looks", async () => {
  const calls = await callsDuring(async () => executed(await pay(gate, "new")));
  assert.deepEqual(
    calls.map(({ call }) => call),
    ["kv.get", "kv.get", "kv.put", "setAlarm", "kv.get", "kv.get", "kv.put", "setAlarm"],
    "claim, lease alarm; result, expiry alarm",
  );
  assert.deepEqual(rowsOf(calls), { read: 2 * 2, written: 4, emptied: 0 });
});

test("a replay writes nothing and looks once", async () => {
  const receipt = await executed(await pay(gate, "again"));
  const calls = await callsDuring(async () => replayed(await pay(gate, "again"), receipt));
  assert.deepEqual(rowsOf(calls), { read: 2, written: 0, emptied: 0 });
});

test("a refusal of another command, and a look at the status, write nothing", async () => {
  await pay(gate, "looked");
  const other = { amount: 1, currency: "EUR" };
  const calls = await callsDuring(async () => {
    await refusal(gate, await pay(gate, "looked", {}, other), 409, "key_reused");
    assert.equal((await statusOf(gate, "looked")).status, 200);
  });
  assert.deepEqual(rowsOf(calls), { read: 2 * 2, written: 0, emptied: 0 });
});

test("waiting costs no row but the looks of those who wait", async () => {
  const calls = await callsDuring(async () => {
    const hold = origin.hold((request) => request.header("Idempotency-Key") === "waited");
    const first = pay(gate, "waited");
    await hold.reached;
    for (let n = 0; n < 5; n += 1) assert.equal((await pay(gate, "waited")).status, 202);
    hold.release();
    await executed(await first);
  });
  assert.deepEqual(rowsOf(calls), { read: 2 * (2 + 5), written: 4, emptied: 0 });
});

test("refused keys touch no storage at all", async () => {
  const calls = await callsDuring(async () => {
    await refusal(gate, await pay(gate, '"half'), 400, "key_malformed");
    await refusal(gate, await pay(gate, ""), 400, "key_missing");
    await refusal(gate, await pay(gate, "k", { authorization: "" }), 401, "principal_missing");
  });
  assert.deepEqual(calls, []);
});

test("a kept reply is within its record: one row on disk, in one table", async () => {
  await pay(gate, "disk");
  for (const { tables, rows } of gate.objects()) {
    assert.deepEqual([tables, rows], [{ _cf_KV: 1 }, 1]);
  }
});

test("until the object is empty again at most four more rows are written or removed", async () => {
  await executed(await pay(brief, "life"));
  const calls = await eventually(() => {
    const all = callsOf(brief);
    return all.some(({ call }) => call === "deleteAll") ? all : undefined;
  });
  const { written, emptied } = rowsOf(calls);
  // The tombstone and its alarm; then the record's row and the alarm's go.
  assert.equal(written, 4 + 2);
  assert.equal(emptied, 1);
  const empty = ({ rows, alarm }) => rows === 0 && alarm === null;
  await eventually(() => brief.objects().every(empty));
});

test("an unknown outcome costs no row while nobody asks, and none when somebody does", async () => {
  await pay(gate, "unknown", { "Demo-Fail": "after:500" });
  const calls = await callsDuring(async () => {
    for (let n = 0; n < 3; n += 1) assert.equal((await pay(gate, "unknown")).status, 202);
  });
  assert.deepEqual(rowsOf(calls), { read: 2 * 3, written: 0, emptied: 0 });
});
