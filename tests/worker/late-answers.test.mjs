// An answer that comes after its callers were told of a time-out, or whose body takes longer than
// the lease: evidence that settles the record.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { json } from "../../demo/answers.mjs";
import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { eventually, executed, isMarked, pay, pending } from "./support/gated.mjs";
import { receiptOf, refusal, stateOf } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";

const SLOW_BODY = "slow-body";
const policy = payments({ lease: "2s", origin_timeout: "800ms", while_running: "pending" });
const it = gateForTests({ policy }, { handler: slowBody });

/** Answers the head at once and the end of the body when the test says so. */
const rest = Promise.withResolvers();
async function slowBody(request, response, _body, origin) {
  if (request.header("Idempotency-Key") !== SLOW_BODY) return undefined;
  origin.ledger.record({ operation: "create_payment", subject: "slow", amount: 1 }, {});
  response.writeHead(201, { "Content-Type": "application/json", Location: "/v1/payments/slow" });
  response.write('{"id":');
  await rest.promise;
  response.end('"slow"}');
  return true;
}

/** A request that was told 504, with the hold that still has its call. */
async function timedOut(key) {
  const { gate, origin } = it;
  const hold = origin.hold("POST /v1/payments");
  await refusal(gate, await pay(gate, key), 504, "origin_timeout", "unknown");
  assert.equal((await stateOf(gate, key)).state, "unknown");
  return hold;
}

function settled(key, state) {
  return eventually(async () => (await stateOf(it.gate, key)).state === state);
}

test("a success after the time-out completes the record, and repeats get it", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const hold = await timedOut("success");
    await pending(gate, await pay(gate, "success"), "unknown");
    hold.release();
    await settled("success", "completed");
    const retry = await pay(gate, "success");
    assert.equal(isMarked(retry), true);
    assert.equal((await retry.json()).id, origin.ledger.entries.at(-1).subject);
  });
  assert.equal(effects.length, 1);
});

test("a final failure after the time-out is what repeats get", async () => {
  const { gate } = it;
  const hold = await timedOut("failure");
  hold.release(json(422, { no: "funds" }));
  await settled("failure", "failed_replayable");
  const retry = await pay(gate, "failure");
  assert.deepEqual([retry.status, isMarked(retry)], [422, true]);
  assert.deepEqual(await retry.json(), { no: "funds" });
});

test("a 429 after the time-out frees the key for the same command", async () => {
  const { gate, origin } = it;
  const hold = await timedOut("busy");
  hold.release(json(429, {}));
  await settled("busy", "failed_retryable");
  await executed(await pay(gate, "busy"));
  assert.equal(origin.requests.at(-1).header("Oncegate-Attempt"), "2");
});

test("a late answer that says nothing certain leaves the outcome unknown", async () => {
  const { gate, origin } = it;
  const hold = await timedOut("vague");
  const since = (await stateOf(gate, "vague")).since;
  hold.release(json(500, {}));
  assert.equal(await hold.requests[0].ended, "answered");
  const count = origin.requests.length;
  await pending(gate, await pay(gate, "vague"), "unknown");
  assert.equal((await stateOf(gate, "vague")).since, since);
  assert.equal(origin.requests.length, count);
});

test("a late answer of an attempt whose lease has ended finds nobody: still unknown", async () => {
  const { gate } = it;
  const hold = await timedOut("too-late");
  assert.equal(await hold.requests[0].ended, "aborted");
  hold.release();
  await pending(gate, await pay(gate, "too-late"), "unknown");
});

test("a body that takes longer than the lease reaches its caller and the record", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const first = pay(gate, SLOW_BODY);
    await origin.nextRequest((request) => request.header("Idempotency-Key") === SLOW_BODY);
    // Past the lease of 2 s: here the passing of time is what is tested.
    await delay(2300);
    const count = origin.requests.length;
    assert.equal((await pay(gate, SLOW_BODY)).status, 202, "it is never taken over");
    assert.equal(origin.requests.length, count);
    rest.resolve();
    const receipt = await receiptOf(await first);
    assert.deepEqual([receipt.status, receipt.body], [201, '{"id":"slow"}']);
    const retry = await pay(gate, SLOW_BODY);
    assert.equal(isMarked(retry), true);
    assert.deepEqual(await receiptOf(retry), receipt);
  });
  assert.equal(effects.length, 1);
});
