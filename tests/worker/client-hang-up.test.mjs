// A client that hangs up: the attempt goes on, is recorded, and answers the next request.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTHORISED, effectsIn, PAYMENT } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, isMarked, pay, PAYMENTS, withoutTrace } from "./support/gated.mjs";
import { rawRequest } from "./support/http.mjs";

const it = gateForTests();

function raw(key, request) {
  const body = JSON.stringify(PAYMENT);
  const headers = [
    ["Content-Type", "application/json"],
    ["Idempotency-Key", key],
    ...Object.entries(AUTHORISED),
    ...(request.headers ?? []),
  ];
  const all = { method: "POST", target: PAYMENTS, body, ...request, headers };
  return rawRequest(it.gate.url, all);
}

test("the client leaves after 100 ms, the origin finishes, the retry replays", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const left = raw("left", { headers: [["Demo-Delay", "500ms"]], hangUp: 100 });
    const isLeft = (request) => request.header("Idempotency-Key") === "left";
    const seen = await origin.nextRequest(isLeft);
    assert.deepEqual(await left, { hungUp: true });
    assert.equal(await seen.ended, "answered", "the origin call outlives the client");
    const retry = await pay(gate, "left");
    assert.equal(retry.status, 201);
    assert.equal(isMarked(retry), true);
    assert.equal((await retry.json()).id, origin.ledger.entries.at(-1).subject);
  });
  assert.equal(effects.length, 1);
});

test("the client leaves before the origin did anything, the effect happens once", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const hold = origin.hold("POST /v1/payments", { when: "before" });
    const gone = Promise.withResolvers();
    const left = raw("gone", { hangUp: gone.promise });
    const seen = await hold.reached;
    gone.resolve();
    assert.deepEqual(await left, { hungUp: true });
    const retry = pay(gate, "gone");
    hold.release();
    assert.equal(await seen.ended, "answered");
    assert.equal((await retry).status, 201);
    assert.equal(isMarked(await retry), true);
  });
  assert.equal(effects.length, 1);
});

test("one who waits and leaves takes nothing from the first or from the others", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const hold = origin.hold("POST /v1/payments");
    const first = pay(gate, "crowd");
    await hold.reached;
    const leaving = Array.from({ length: 5 }, () => raw("crowd", { hangUp: 50 }));
    const staying = Array.from({ length: 5 }, () => pay(gate, "crowd"));
    for (const left of await Promise.all(leaving)) assert.deepEqual(left, { hungUp: true });
    hold.release();
    const receipt = await executed(await first);
    for (const stayed of await Promise.all(staying)) {
      assert.equal(isMarked(stayed), true);
      assert.equal(await stayed.text(), receipt.body);
    }
  });
  assert.equal(effects.length, 1);
});

test("a client that leaves half-way through its body has done nothing", async () => {
  const { gate, origin } = it;
  await withoutTrace(gate, origin, async () => {
    const headers = [["Content-Length", "1000"]];
    assert.deepEqual(await raw("half", { headers, hangUp: 100 }), { hungUp: true });
    // Behind it on the same path: the gate is past the broken one when this is answered.
    await pay(gate, "");
  });
  await executed(await pay(gate, "half"));
});
