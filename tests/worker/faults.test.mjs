// A short fault run, and that its checks see a fault where there is one. The long form is
// `npm run test:faults`.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Ledger } from "../../demo/ledger.mjs";
import { runCampaign } from "../faults/campaign.mjs";
import { checkEffects, checkReceipts } from "../faults/check.mjs";

const FAULTS_MS = 15_000;

test("killed again and again before a bad origin: nothing is done twice", async (t) => {
  const seed = process.env.ONCEGATE_FAULT_SEED ?? String(Date.now() % 1_000_000);
  const report = await runCampaign({ seed, forMs: FAULTS_MS });
  t.diagnostic(JSON.stringify(report));
  assert.deepEqual(report.findings, [], `seed ${seed}`);
  assert.ok(report.kills.total >= 3, `${report.kills.total} kills`);
  assert.ok(report.keys >= 20, `${report.keys} keys`);
  assert.ok(report.receipts_repeated_after_the_last_kill > 0);
});

describe("the checks of a fault run", () => {
  const receipt = (id) => ({ status: 201, reference: "og_a.1", body: JSON.stringify({ id }) });

  function found(effects, story) {
    const ledger = new Ledger();
    for (const [key, reference, subject] of effects) {
      ledger.record({ operation: "o", subject, amount: 1 }, { idempotencyKey: key, reference });
    }
    const told = new Map([["k", { key: "k", receipts: [], ...story }]]);
    const findings = [];
    checkEffects(ledger, told, findings);
    checkReceipts(ledger, told, findings);
    return findings;
  }

  const done = { end: "done", receipts: [receipt("p1"), receipt("p1")] };
  const FAULTS = {
    "two effects under one reference": [[["k", "r", "p1"], ["k", "r", "p2"]], done, /2 effects/],
    "two effects under one key": [[["k", "r", "p1"], ["k", "s", "p2"]], done, /idempotency_key/],
    "an acknowledgement without an effect": [[], done, /told done, with 0 effects/],
    "two receipts": [
      [["k", "r", "p1"]],
      { end: "done", receipts: [receipt("p1"), receipt("p2")] },
      /two receipts/,
    ],
    "the receipt of another effect": [
      [["k", "r", "p9"]],
      { end: "done", receipts: [receipt("p1")] },
      /receipt of p1/,
    ],
    "a client that never got an answer": [[], { end: "stuck" }, /never got/],
    "a client that was refused": [[], { end: "refused: key_reused" }, /was refused/],
  };

  for (const [what, [effects, story, finding]] of Object.entries(FAULTS)) {
    test(`see ${what}`, () => {
      assert.match(found(effects, story).join("\n"), finding);
    });
  }

  test("find nothing where all is well", () => {
    assert.deepEqual(found([["k", "r", "p1"]], done), []);
  });
});
