// The same key with another command: refused before anything else is looked at, while the first
// runs and after, under each preset with the status of that preset.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { AUTHORISED, effectsIn, PAYMENT, postTo } from "./support/demo.mjs";
import { executed, pay, PAYMENTS, refusal, replayed } from "./support/gated.mjs";
import { payments, startGate } from "./support/gate.mjs";

const OTHER = { ...PAYMENT, amount: 10 * PAYMENT.amount };
const STATUSES = { default: 409, ietf: 422, stripe: 400 };

let origin;
const gates = {};
before(async () => {
  origin = await startOrigin();
  for (const preset of Object.keys(STATUSES)) {
    gates[preset] = await startGate({ origin, policy: payments({}, { preset }) });
  }
});
after(async () => {
  for (const gate of Object.values(gates)) await gate.dispose();
  await origin?.close();
});

for (const [preset, status] of Object.entries(STATUSES)) {
  test(`preset ${preset}: another amount is refused with ${status}, during and after`, async () => {
    const gate = gates[preset];
    const { effects } = await effectsIn(origin, async () => {
      const hold = origin.hold("POST /v1/payments");
      const first = pay(gate, "k-1");
      await hold.reached;
      const count = origin.requests.length;
      const during = await pay(gate, "k-1", {}, OTHER);
      await refusedAsReused(gate, preset, during);
      assert.equal(origin.requests.length, count);
      hold.release();
      const receipt = await executed(await first);
      await refusedAsReused(gate, preset, await pay(gate, "k-1", {}, OTHER));
      await replayed(await pay(gate, "k-1"), receipt);
    });
    assert.deepEqual(
      effects.map(({ amount }) => amount),
      [PAYMENT.amount],
    );
  });
}

async function refusedAsReused(gate, preset, response) {
  const { headers } = response;
  const problem = await refusal(gate, response, STATUSES[preset], "key_reused");
  assert.equal(problem.retry, "new-key");
  assert.match(problem.reference, /^og_/);
  const text = JSON.stringify(problem);
  assert.ok(!text.includes(String(PAYMENT.amount)), "nothing of the stored command or reply");
  assert.ok(!text.includes("pay_"), "nothing of the stored reply");
  if (preset === "stripe") {
    assert.equal(problem.error.type, "idempotency_error");
    assert.equal(headers.get("Stripe-Should-Retry"), "false");
  } else {
    assert.equal(problem.error, undefined);
  }
}

test("another query, or a body of another type, is another command", async () => {
  const gate = gates.default;
  const send = (query, type = "application/json") => {
    const headers = { "Idempotency-Key": "parts", "content-type": type };
    return postTo(gate, PAYMENTS + query, PAYMENT, headers);
  };
  const { effects } = await effectsIn(origin, async () => {
    const receipt = await executed(await send("?mode=a"));
    await refusal(gate, await send("?mode=b"), 409, "key_reused");
    await refusal(gate, await send(""), 409, "key_reused");
    await refusal(gate, await send("?mode=a", "text/plain"), 409, "key_reused");
    await replayed(await send("?mode=a"), receipt);
  });
  assert.equal(effects.length, 1);
});

test("another body on the key of a failure is refused too", async () => {
  const gate = gates.default;
  const count = origin.requests.length;
  await executed(await pay(gate, "failed", { "Demo-Fail": "before:422" }), 422);
  await refusal(gate, await pay(gate, "failed", {}, OTHER), 409, "key_reused");
  await executed(await pay(gate, "busy", { "Demo-Fail": "before:429" }), 429);
  await refusal(gate, await pay(gate, "busy", {}, OTHER), 409, "key_reused");
  assert.equal(origin.requests.length, count + 2);
});

test("a malformed body on a known key changes nothing", async () => {
  const gate = gates.default;
  const receipt = await executed(await pay(gate, "known"));
  const headers = { ...AUTHORISED, "content-type": "application/json", "idempotency-key": "known" };
  const body = '{"amount": 1000';
  const broken = await gate.fetch(PAYMENTS, { method: "POST", headers, body });
  await refusal(gate, broken, 400, "command_malformed");
  await replayed(await pay(gate, "known"), receipt);
});
