// The runtime dies or forgets: what was claimed stays claimed, what was recorded is replayed, and
// nothing runs a second time.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { executed, pay, pending, replayed, stateOf } from "./support/gated.mjs";
import { payments, startGate } from "./support/gate.mjs";

const TIMES = { lease: "4s", origin_timeout: "3s", while_running: "pending" };

let origin;
let gate;
beforeEach(async () => {
  origin = await startOrigin();
  gate = await startGate({ origin, policy: payments(TIMES) });
});
afterEach(async () => {
  await gate?.dispose();
  await origin?.close();
});

for (const [moment, when, effects] of [
  ["after the effect", "after", 1],
  ["before it did anything", "before", 0],
]) {
  test(`kill -9 while the origin works, ${moment}: the retry is pending, never run`, async () => {
    const hold = origin.hold("POST /v1/payments", { when });
    const first = pay(gate, "k").then(
      ({ status }) => status,
      () => "broken off",
    );
    await hold.reached;
    await gate.kill();
    assert.equal(await first, "broken off");
    hold.drop();
    await pending(gate, await pay(gate, "k"), "in-progress");
    // Nobody asks while the lease ends: the alarm that was set before the crash does it.
    await gate.log(/an attempt ended without a result/);
    await pending(gate, await pay(gate, "k"), "unknown");
    const told = await stateOf(gate, "k");
    assert.deepEqual([told.state, told.outcome, told.attempt], ["unknown", "unknown", 1]);
    assert.equal(origin.requests.length, 1);
    assert.equal(origin.ledger.count(), effects);
  });
}

test("kill -9 after the answer: the retry replays from storage", async () => {
  const receipt = await executed(await pay(gate, "k"));
  await gate.kill();
  await replayed(await pay(gate, "k"), receipt);
  assert.equal(origin.ledger.count(), 1);
});

test("an object evicted between request and replay still replays", async () => {
  const receipt = await executed(await pay(gate, "k"));
  assert.equal(await gate.evict(), 1);
  await replayed(await pay(gate, "k"), receipt);
  assert.equal(origin.ledger.count(), 1);
});

test("an object evicted while the outcome is unknown still refuses to run", async () => {
  await pay(gate, "k", { "Demo-Fail": "after:500" });
  assert.equal(await gate.evict(), 1);
  await pending(gate, await pay(gate, "k"), "unknown");
  assert.equal(origin.requests.length, 1);
});

test("the whole runtime is replaced: settled and unknown keys are as they were", async () => {
  const receipt = await executed(await pay(gate, "settled"));
  await pay(gate, "unknown", { "Demo-Reset": "after" });
  gate = await gate.restart();
  await replayed(await pay(gate, "settled"), receipt);
  await pending(gate, await pay(gate, "unknown"), "unknown");
  assert.equal(origin.requests.length, 2);
});
