// Where records are: an operation with a jurisdiction finds its own records and no others.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn } from "./support/demo.mjs";
import { executed, pay, replayed, statusOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

let origin;
before(async () => {
  origin = await startOrigin();
});
after(() => origin?.close());

const placed = (placement) => policyOf([operation("create_payment", { placement })]);

test("a hint changes nothing of who a record belongs to", async () => {
  const { effects } = await effectsIn(origin, async () => {
    let gate = await startGate({ origin, policy: placed({ hint: "weur" }) });
    try {
      const receipt = await executed(await pay(gate, "hint"));
      gate = await gate.restart({ policy: placed({}) });
      await replayed(await pay(gate, "hint"), receipt);
    } finally {
      await gate.dispose();
    }
  });
  assert.equal(effects.length, 1);
});

test("a jurisdiction keeps its records, and is part of the identity of every key", async () => {
  const { effects } = await effectsIn(origin, async () => {
    let gate = await startGate({ origin, policy: placed({ jurisdiction: "eu" }) });
    try {
      const receipt = await executed(await pay(gate, "placed"));
      await replayed(await pay(gate, "placed"), receipt);
      const byReference = await statusOf(gate, { reference: receipt["Oncegate-Reference"] });
      assert.equal(byReference.status, 200);
      gate = await gate.restart({ policy: placed({}) });
      const elsewhere = await executed(await pay(gate, "placed"));
      assert.notEqual(elsewhere["Oncegate-Reference"], receipt["Oncegate-Reference"]);
    } finally {
      await gate.dispose();
    }
  });
  assert.equal(effects.length, 2);
});
