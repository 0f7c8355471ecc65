// The origin said yes and its body broke off: the operation is done, only its reply is lost.

import assert from "node:assert/strict";
import { test } from "node:test";

import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { isMarked, pay, refusal, stateOf } from "./support/gated.mjs";

const CHUNKED = "chunked";
const GZIPPED = "gzipped";
const it = gateForTests({}, { handler: breakOff });

/** Applies, then breaks off a body that has no Content-Length. */
function breakOff(request, response, _body, origin) {
  const key = request.header("Idempotency-Key");
  if (key !== CHUNKED && key !== GZIPPED) return undefined;
  origin.ledger.record({ operation: "create_payment", subject: "pay_x", amount: 1 }, {});
  const coding = key === GZIPPED ? { "Content-Encoding": "gzip" } : {};
  response.writeHead(201, { Location: "/v1/payments/pay_x", ...coding });
  const part = key === GZIPPED ? Buffer.from("1f8b0800000000000003", "hex") : '{"id":';
  response.write(part, () => response.socket.destroy());
  return true;
}

async function isLost(key, headers) {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const first = await pay(gate, key, headers);
    const problem = await refusal(gate, first, 502, "reply_unavailable", "executed");
    assert.equal(problem.retry, "never");
    for (let n = 0; n < 2; n += 1) await isUnavailable(await pay(gate, key), origin);
    const { state, outcome } = await stateOf(gate, key);
    assert.deepEqual([state, outcome], ["completed", "completed"]);
  });
  assert.equal(effects.length, 1);
}

async function isUnavailable(response, origin) {
  const { headers } = response;
  const problem = await refusal(it.gate, response, 409, "reply_unavailable");
  const location = `/v1/payments/${origin.ledger.entries.at(-1).subject}`;
  assert.equal(problem.original_status, 201);
  assert.equal(problem.location, location);
  assert.equal(headers.get("Location"), location);
  assert.equal(problem.retry, "never");
}

test("a body cut short of its Content-Length", () => isLost("cut", { "Demo-Cut": "8" }));

test("a body cut before its first byte", () => isLost("cut-0", { "Demo-Cut": "0" }));

test("a chunked body without its end", () => isLost(CHUNKED, {}));

test("a gzip body that breaks off", () => isLost(GZIPPED, {}));

test("a body that breaks off under a failure leaves the failure known, not its reply", async () => {
  const { gate, origin } = it;
  const headers = { "Demo-Fail": "before:422", "Demo-Cut": "4" };
  const count = origin.requests.length;
  const first = await pay(gate, "failed", headers);
  await refusal(gate, first, 502, "reply_unavailable", "executed");
  const repeat = await pay(gate, "failed");
  const problem = await refusal(gate, repeat, 409, "reply_unavailable");
  assert.equal(problem.original_status, 422);
  assert.equal(origin.requests.length, count + 1);
});

test("those who wait are told the same", async () => {
  const { gate, origin } = it;
  const hold = origin.hold("POST /v1/payments");
  const first = pay(gate, "waiters", { "Demo-Cut": "8" });
  await hold.reached;
  const waiting = Array.from({ length: 5 }, () => pay(gate, "waiters"));
  hold.release();
  assert.equal((await first).status, 502);
  for (const waited of await Promise.all(waiting)) {
    assert.equal(isMarked(waited), false);
    await isUnavailable(waited, origin);
  }
});
