// Whatever may have had an effect and did not say so: the first caller gets what there is, and
// the command is never run again by itself.

import assert from "node:assert/strict";
import { test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { isMarked, pay, pending, refusal, retryAfter, stateOf } from "./support/gated.mjs";
import { payments, startGate } from "./support/gate.mjs";

const TIMES = { lease: "1500ms", origin_timeout: "1s" };
const it = gateForTests({ policy: payments(TIMES) });

/** Runs the first request, and shows that every later one is pending and the origin sees none. */
async function heldAsUnknown(key, headers, look) {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const count = origin.requests.length;
    const first = await pay(gate, key, headers);
    assert.equal(first.headers.get("Oncegate-State"), "unknown");
    assert.equal(isMarked(first), false);
    await look(first);
    for (let n = 0; n < 3; n += 1) await pending(gate, await pay(gate, key), "unknown");
    const { state, outcome, attempt } = await stateOf(gate, key);
    assert.deepEqual([state, outcome, attempt], ["unknown", "unknown", 1]);
    assert.equal(origin.requests.length, count + 1, "calls at the origin");
  });
  return effects.length;
}

for (const status of [500, 502, 503, 504, 520, 408, 302]) {
  test(`the origin applies and answers ${status}: unknown, and never again`, async () => {
    const headers = { "Demo-Fail": `after:${status}` };
    const effects = await heldAsUnknown(`after-${status}`, headers, async (first) => {
      assert.equal(first.status, status);
      assert.equal((await first.json()).code, "failed_on_demand", "the origin's own words");
      assert.equal(first.headers.get("Oncegate-Retry"), null, "the answer is not the gate's");
    });
    assert.equal(effects, 1);
  });
}

test("the origin answers 500 before it did anything: the gate cannot know, and holds", async () => {
  const headers = { "Demo-Fail": "before:500" };
  assert.equal(await heldAsUnknown("before-500", headers, (first) => first.text()), 0);
});

test("the connection breaks after the effect: 502, unknown, and no second call", async () => {
  const effects = await heldAsUnknown("reset", { "Demo-Reset": "after" }, async (first) => {
    retryAfter(first);
    await refusal(it.gate, first, 502, "origin_unreachable", "unknown");
  });
  assert.equal(effects, 1);
});

test("the origin hangs after the effect: 504 in time, unknown, and the call is ended", async () => {
  const began = Date.now();
  const effects = await heldAsUnknown("hang", { "Demo-Hang": "after" }, async (first) => {
    assert.ok(Date.now() - began >= 1000);
    retryAfter(first);
    await refusal(it.gate, first, 504, "origin_timeout", "unknown");
  });
  assert.equal(effects, 1);
  const seen = it.origin.requests.at(-1);
  assert.equal(await seen.ended, "aborted", "the lease ends the call");
});

test("those who wait as the outcome becomes unknown are pending, and none takes over", async () => {
  const { gate, origin } = it;
  const count = origin.requests.length;
  const hold = origin.hold("POST /v1/payments");
  const first = pay(gate, "waiters");
  await hold.reached;
  const waiting = Array.from({ length: 10 }, () => pay(gate, "waiters"));
  hold.release({ status: 500, body: "" });
  assert.equal((await first).status, 500);
  for (const waited of await Promise.all(waiting)) await pending(gate, waited, "unknown");
  assert.equal(origin.requests.length, count + 1);
});

test("an unknown outcome is never run again, whoever comes and however often", async () => {
  const { gate, origin } = it;
  await pay(gate, "crowd", { "Demo-Fail": "after:500" });
  const count = origin.requests.length;
  const crowd = await Promise.all(Array.from({ length: 20 }, () => pay(gate, "crowd")));
  for (const each of crowd) await pending(gate, each, "unknown");
  const other = await pay(gate, "crowd", {}, { amount: 1, currency: "EUR" });
  await refusal(gate, other, 409, "key_reused");
  assert.equal(origin.requests.length, count);
});

test("the origin refuses the connection: unknown; once it is back, still never run", async () => {
  const gone = await startOrigin();
  await gone.close();
  const gate = await startGate({ origin: gone.url, policy: payments(TIMES) });
  try {
    await refusal(gate, await pay(gate, "k"), 502, "origin_unreachable", "unknown");
    const back = await startOrigin({ port: gone.port, bank: gone.bank });
    try {
      await pending(gate, await pay(gate, "k"), "unknown");
      assert.equal(back.requests.length, 0);
      assert.equal(back.ledger.count(), 0);
      assert.equal((await pay(gate, "another")).status, 201, "other keys are served");
    } finally {
      await back.close();
    }
  } finally {
    await gate.dispose();
  }
});
