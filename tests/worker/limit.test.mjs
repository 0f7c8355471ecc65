// The limit on new keys: one principal cannot fill the gate, and no repeat is turned away.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn } from "./support/demo.mjs";
import { executed, pay, refusal, replayed, retryAfter } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

const POLICY = policyOf([operation("create_payment", { limit: true })]);
const LIMITER = { ratelimits: { ONCEGATE_LIMIT: { namespace_id: "1", simple: { limit: 3, period: 60 } } } };

let origin;
before(async () => {
  origin = await startOrigin();
});
after(() => origin?.close());

test("new keys over the limit are refused; repeats and other principals are not", async () => {
  await using gate = await startGate({ origin, policy: POLICY, bound: LIMITER });
  const { effects } = await effectsIn(origin, async () => {
    const receipts = [];
    for (const key of ["a", "b", "c"]) receipts.push(await executed(await pay(gate, key)));
    const objects = gate.objects().length;
    for (const key of ["d", "e"]) {
      const answer = await pay(gate, key);
      retryAfter(answer);
      const problem = await refusal(gate, answer, 429, "too_many_new_keys");
      assert.equal(problem.retry, "same-key");
    }
    const records = gate.objects().filter(({ empty }) => !empty);
    assert.ok(records.length <= objects + 2);
    await replayed(await pay(gate, "a"), receipts[0]);
    await replayed(await pay(gate, "c"), receipts[2]);
    const other = await pay(gate, "a", {}, { amount: 1, currency: "EUR" });
    await refusal(gate, other, 409, "key_reused");
    await executed(await pay(gate, "a", { authorization: "Bearer somebody-else" }));
  });
  assert.equal(effects.length, 4);
});

test("without its binding a limit lets no new key in", async () => {
  await using gate = await startGate({ origin, policy: POLICY });
  const { effects } = await effectsIn(origin, async () => {
    await refusal(gate, await pay(gate, "closed"), 503, "gate_unavailable");
  });
  assert.equal(effects.length, 0);
});
