// The ends of a key: the reply window, then the tombstone, then nothing. Both count from
// completion; neither ends an operation that is running or whose outcome is unknown.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { startOrigin } from "../../demo/origin.mjs";
import { PAYMENT } from "./support/demo.mjs";
import { eventually, executed, pay, pending, refusal, replayed } from "./support/gated.mjs";
import { stateOf, statusOf } from "./support/gated.mjs";
import { payments, startGate } from "./support/gate.mjs";

const KEEP = { for: "1s", tombstone: "2s" };
const TIMES = { lease: "6s", origin_timeout: "5s" };

let origin;
let gate;
let reusing;
before(async () => {
  origin = await startOrigin();
  gate = await startGate({ origin, policy: payments({ ...TIMES, keep: KEEP }) });
  const policy = payments({ ...TIMES, keep: KEEP, after_expiry: "execute" });
  reusing = await startGate({ origin, policy });
});
after(async () => {
  await gate?.dispose();
  await reusing?.dispose();
  await origin?.close();
});

/** The object that keeps the record of an answer, to be looked at again and again. */
function objectOf(at, reference) {
  const [, nonce] = reference.split(".");
  const holds = (object) => rawBytes(object).includes(nonce);
  const { id } = at.objects().find(holds);
  return () => at.objects().find((object) => object.id === id);
}

/** The object of a payment that is made now. */
async function paidInto(at, key, headers) {
  const answer = await pay(at, key, headers);
  return objectOf(at, answer.headers.get("Oncegate-Reference"));
}

/** Waits until nothing is left of an object: no row and no alarm, or not even its file. */
function emptied(object) {
  return eventually(() => {
    const { rows, alarm } = object() ?? { rows: 0, alarm: null };
    return rows === 0 && alarm === null;
  });
}

/** Waits until an object's alarm has come: that time is what is tested. */
async function until(alarm) {
  await delay(Math.max(0, alarm - Date.now()));
}

test("replay, then key_expired, then a new operation; the object is empty in between", async () => {
  const receipt = await executed(await pay(gate, "k"));
  await replayed(await pay(gate, "k"), receipt);
  const object = objectOf(gate, receipt["Oncegate-Reference"]);
  const window = object().alarm;
  const told = await stateOf(gate, "k");
  assert.equal(window - new Date(told.since), 1000, "from completion");

  await until(window);
  const expired = await pay(gate, "k");
  const problem = await refusal(gate, expired, 409, "key_expired", "expired");
  assert.equal(problem.retry, "never");
  assert.equal(problem.reference, receipt["Oncegate-Reference"]);
  const changed = await pay(gate, "k", {}, { ...PAYMENT, amount: 1 });
  await refusal(gate, changed, 409, "key_expired", "expired");
  const { state, outcome } = await stateOf(gate, "k");
  assert.deepEqual([state, outcome], ["expired", "completed"]);
  assert.ok(!rawBytes(object()).includes("pay_"), "the reply is gone from the storage");

  await emptied(object);
  assert.equal((await statusOf(gate, "k")).status, 404);
  const fresh = await executed(await pay(gate, "k"));
  assert.notEqual(fresh["Oncegate-Reference"], receipt["Oncegate-Reference"]);
  assert.equal(origin.ledger.count(), 2);
});

function rawBytes(object) {
  return Buffer.concat(object.kv.map(({ value }) => value)).toString("latin1");
}

test("with nobody asking, two alarms empty the object", async () => {
  const object = await paidInto(gate, "unasked");
  const first = object().alarm;
  await eventually(() => object().alarm > first);
  assert.equal(object().rows, 1, "the tombstone");
  assert.equal(object().alarm - first, 1000);
  await emptied(object);
});

test("a final failure ends like a success", async () => {
  const object = await paidInto(gate, "failed", { "Demo-Fail": "before:422" });
  await until(object().alarm);
  await refusal(gate, await pay(gate, "failed"), 409, "key_expired", "expired");
  assert.equal((await stateOf(gate, "failed")).outcome, "failed");
  await emptied(object);
});

test("a retryable failure is forgotten when a tombstone would be", async () => {
  const object = await paidInto(gate, "busy", { "Demo-Fail": "before:429" });
  const since = new Date((await stateOf(gate, "busy")).since);
  assert.equal(object().alarm - since, 2000);
  await emptied(object);
});

test("an unknown outcome never expires, while settled keys around it do", async () => {
  await pay(gate, "unknown", { "Demo-Fail": "after:500" });
  const other = await paidInto(gate, "settled");
  await emptied(other);
  await pending(gate, await pay(gate, "unknown"), "unknown");
  assert.equal((await stateOf(gate, "unknown")).state, "unknown");
});

test("what runs outlives the lifetimes of its key: they start when it ends", async () => {
  const count = origin.ledger.count();
  const hold = origin.hold((request) => request.header("Idempotency-Key") === "slow");
  const first = pay(gate, "slow");
  await hold.reached;
  const other = await paidInto(gate, "meanwhile");
  await emptied(other);
  const second = pay(gate, "slow");
  hold.release();
  const receipt = await executed(await first);
  await replayed(await second, receipt);
  await replayed(await pay(gate, "slow"), receipt);
  assert.equal(origin.ledger.count(), count + 2);
});

test("after_expiry execute: the key starts a new life, with a new reference", async () => {
  const count = origin.ledger.count();
  const receipt = await executed(await pay(reusing, "k"));
  await until(objectOf(reusing, receipt["Oncegate-Reference"])().alarm);
  const other = { ...PAYMENT, amount: 7 };
  const again = await executed(await pay(reusing, "k", {}, other));
  assert.notEqual(again["Oncegate-Reference"], receipt["Oncegate-Reference"]);
  await replayed(await pay(reusing, "k", {}, other), again);
  await refusal(reusing, await pay(reusing, "k"), 409, "key_reused");
  const old = { reference: receipt["Oncegate-Reference"] };
  assert.equal((await statusOf(reusing, old)).status, 404, "the reference died with its life");
  assert.equal(origin.requests.at(-1).header("Oncegate-Attempt"), "1");
  assert.equal(origin.ledger.count(), count + 2);
});
