// The same command while the first is still running: wait, pending or conflict, and when to come
// back.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { startOrigin } from "../../demo/origin.mjs";
import { executed, pay, pending, refusal, replayed, retryAfter } from "./support/gated.mjs";
import { payments, startGate } from "./support/gate.mjs";

const TIMES = { lease: "4s", origin_timeout: "3s" };
const WAIT = { answer: "wait", for: "200ms" };
const RULES = {
  pending: { while_running: "pending" },
  conflict: { while_running: { answer: "conflict" } },
  waitThenPending: { while_running: { ...WAIT, then: "pending" } },
  waitThenConflict: { while_running: { ...WAIT, then: "conflict" } },
  ietf: { while_running: "pending", preset: "ietf" },
  stripe: { while_running: "pending", preset: "stripe" },
};

let origin;
const gates = {};
before(async () => {
  origin = await startOrigin();
  for (const [name, { while_running, preset = "default" }] of Object.entries(RULES)) {
    const policy = payments({ ...TIMES, while_running }, { preset });
    gates[name] = await startGate({ origin, policy });
  }
});
after(async () => {
  for (const gate of Object.values(gates)) await gate.dispose();
  await origin?.close();
});

/** What a second request gets while the first is at the origin; the first gets its answer. */
async function meanwhile(name, ask = pay) {
  const gate = gates[name];
  const hold = origin.hold("POST /v1/payments");
  const first = pay(gate, name);
  await hold.reached;
  const count = origin.requests.length;
  const second = await ask(gate, name);
  assert.equal(origin.requests.length, count, "the second request stays away from the origin");
  hold.release();
  const receipt = await executed(await first);
  await replayed(await pay(gate, name), receipt);
  return second;
}

test("pending answers 202 at once, with where to look and when to come back", async () => {
  const second = await meanwhile("pending");
  await pending(gates.pending, second, "in-progress");
  assert.ok(retryAfter(second) <= 3);
});

test("conflict answers 409 at once", async () => {
  const second = await meanwhile("conflict");
  const problem = await refusal(gates.conflict, second, 409, "in_progress", "in-progress");
  assert.equal(problem.retry, "same-key");
  assert.ok(retryAfter(second) <= 3);
});

test("a wait that gets too long ends pending", async () => {
  const began = Date.now();
  const second = await meanwhile("waitThenPending");
  assert.ok(Date.now() - began >= 200);
  await pending(gates.waitThenPending, second, "in-progress");
});

test("a wait that gets too long ends as a conflict where the policy says so", async () => {
  const second = await meanwhile("waitThenConflict");
  await refusal(gates.waitThenConflict, second, 409, "in_progress", "in-progress");
  retryAfter(second);
});

test("under the presets a pending answer is a 409, and an error", async () => {
  for (const name of ["ietf", "stripe"]) {
    const second = await meanwhile(name);
    const problem = await refusal(gates[name], second, 409, "in_progress", "in-progress");
    assert.equal(problem.error?.code, name === "stripe" ? "idempotency_key_in_use" : undefined);
    const again = second.headers.get("Stripe-Should-Retry");
    assert.equal(again, name === "stripe" ? "true" : null);
    retryAfter(second);
  }
});

test("a client that comes back when told gets the answer, by hints that shrink", async () => {
  const gate = gates.pending;
  const count = origin.ledger.count();
  const first = pay(gate, "obedient", { "Demo-Delay": "2500ms" });
  await origin.nextRequest((it) => it.header("Idempotency-Key") === "obedient");
  const hints = [];
  let answer = await pay(gate, "obedient");
  while (answer.status === 202) {
    hints.push(retryAfter(answer));
    assert.ok(hints.length < 6, `too many returns: ${hints}`);
    await delay(hints.at(-1) * 1000);
    answer = await pay(gate, "obedient");
  }
  await replayed(answer, await executed(await first));
  assert.ok(hints.length > 0 && hints[0] <= 3, String(hints));
  assert.deepEqual(hints, hints.toSorted((a, b) => b - a));
  assert.equal(origin.ledger.count(), count + 1);
});
