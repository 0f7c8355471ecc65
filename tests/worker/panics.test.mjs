// A panic, which must not happen, costs one request: on a build whose panics are asked for by a
// header. Others in flight finish, and what had started is never run again by itself.

import assert from "node:assert/strict";
import { test } from "node:test";

import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, pay, pending, replayed } from "./support/gated.mjs";
import { eventually, refusal, stateOf } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";

const TIMES = { lease: "3s", origin_timeout: "2500ms", while_running: "pending" };
const it = gateForTests({ build: "build-test", policy: payments(TIMES) });

/** Runs a panic while ten requests of other keys are at the origin, which all must finish. */
async function amongOthers(name, work) {
  const { gate, origin } = it;
  const hold = origin.hold((request) => request.header("Demo-Delay") === "0ms");
  const others = Array.from({ length: 10 }, (_, n) =>
    pay(gate, `${name}-other-${n}`, { "Demo-Delay": "0ms" }),
  );
  await eventually(() => hold.requests.length === 10);
  const { result, effects } = await effectsIn(origin, work);
  hold.release();
  for (const other of others) await executed(await other);
  return { result, effects };
}

test("in the front: one request fails, and has done nothing", async () => {
  const { gate } = it;
  const { result, effects } = await amongOthers("front", async () => {
    const answer = await pay(gate, "front", { "test-panic": "front" });
    assert.ok(answer.status >= 500, String(answer.status));
  });
  assert.deepEqual([result, effects.length], [undefined, 0]);
  await executed(await pay(gate, "front"));
});

test("in the object, before the claim: an answer, no effect, and the key is free", async () => {
  const { gate } = it;
  const { effects } = await amongOthers("gate", async () => {
    const answer = await pay(gate, "gate", { "test-panic": "gate" });
    await refusal(gate, answer, 503, "gate_unavailable");
  });
  assert.equal(effects.length, 0);
  const receipt = await executed(await pay(gate, "gate"));
  await replayed(await pay(gate, "gate"), receipt);
});

test("in the attempt, after the claim: an answer, and never run again by itself", async () => {
  const { gate, origin } = it;
  const count = origin.requests.length;
  const { effects } = await amongOthers("attempt", async () => {
    const answer = await pay(gate, "attempt", { "test-panic": "attempt" });
    const state = answer.headers.get("Oncegate-State");
    assert.ok(["in-progress", "unknown", "refused"].includes(state), `${answer.status} ${state}`);
    assert.notEqual(answer.status, 201);
    await pending(gate, await pay(gate, "attempt"), "in-progress");
  });
  assert.equal(effects.length, 0);
  await gate.log(/an attempt ended without a result/);
  await pending(gate, await pay(gate, "attempt"), "unknown");
  assert.equal((await stateOf(gate, "attempt")).attempt, 1);
  assert.equal(origin.requests.length, count + 10, "only the others were forwarded");
});

test("in the attempt, with others waiting for it: all are answered, none takes over", async () => {
  const { gate, origin } = it;
  const count = origin.requests.length;
  const answers = await Promise.all([
    pay(gate, "crowd", { "test-panic": "attempt" }),
    ...Array.from({ length: 10 }, () => pay(gate, "crowd")),
  ]);
  for (const { status } of answers) assert.notEqual(status, 201);
  const state = async () => (await stateOf(gate, "crowd")).state;
  await eventually(async () => (await state()) === "unknown");
  assert.equal(origin.requests.length, count);
});

test("afterwards the gate works as before", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const keys = Array.from({ length: 20 }, (_, n) => `after-${n}`);
    const receipts = await Promise.all(keys.map((key) => pay(gate, key).then(executed)));
    for (const [n, key] of keys.entries()) await replayed(await pay(gate, key), receipts[n]);
  });
  assert.equal(effects.length, 20);
});
