// One key, many requests at once or one after another: one effect, and one answer for all.

import assert from "node:assert/strict";
import { test } from "node:test";

import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, isMarked, pay, receiptOf, replayed } from "./support/gated.mjs";

const it = gateForTests();

test("fifty identical requests at once are one effect and fifty equal answers", async () => {
  const { gate, origin } = it;
  const { result, effects } = await effectsIn(origin, () => {
    const one = () => pay(gate, "fifty", { "Demo-Delay": "300ms" });
    return Promise.all(Array.from({ length: 50 }, one));
  });
  assert.equal(effects.length, 1);
  assert.equal(result.filter(isMarked).length, 49);
  const receipts = await Promise.all(result.map(receiptOf));
  assert.equal(receipts[0].status, 201);
  for (const receipt of receipts) assert.deepEqual(receipt, receipts[0]);
  assert.equal(JSON.parse(receipts[0].body).id, effects[0].subject);
});

test("a second request while the first runs shares its answer", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const hold = origin.hold("POST /v1/payments");
    const first = pay(gate, "double-tap");
    await hold.reached;
    const second = pay(gate, "double-tap");
    // A third, refused at once, gives the second the time to get there.
    await pay(gate, "double-tap", {}, { amount: 1, currency: "EUR" });
    hold.release();
    const receipt = await executed(await first);
    await replayed(await second, receipt);
  });
  assert.equal(effects.length, 1);
});

test("ten requests one after another are one effect, and nine of them are marked", async () => {
  const { gate, origin } = it;
  const { result, effects } = await effectsIn(origin, async () => {
    const receipt = await executed(await pay(gate, "ten"));
    for (let n = 0; n < 9; n += 1) await replayed(await pay(gate, "ten"), receipt);
    return receipt;
  });
  assert.equal(effects.length, 1);
  assert.equal(effects[0].reference, result["Oncegate-Reference"]);
  assert.equal(effects[0].attempt, 1);
  assert.equal(effects[0].idempotency_key, "ten");
});

test("fifty keys at once are fifty effects, each with its own answer", async () => {
  const { gate, origin } = it;
  const keys = Array.from({ length: 50 }, (_, n) => `own-${n}`);
  const { result, effects } = await effectsIn(origin, () =>
    Promise.all(keys.map((key) => pay(gate, key).then(executed))),
  );
  assert.equal(effects.length, 50);
  const ids = (found) => [...new Set(found)].sort();
  assert.deepEqual(
    ids(result.map(({ body }) => JSON.parse(body).id)),
    ids(effects.map(({ subject }) => subject)),
  );
  assert.equal(ids(result.map((receipt) => receipt["Oncegate-Reference"])).length, 50);
});
