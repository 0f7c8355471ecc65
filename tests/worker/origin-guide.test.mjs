// What the guide for origin authors shows is taken by the gate, and does what the guide says.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { FencedBank } from "../../demo/fence.mjs";
import { startOrigin } from "../../demo/origin.mjs";
import { blocks, document, readToml } from "./support/documents.mjs";
import { eventually, executed, pay, receiptOf, replayed } from "./support/gated.mjs";
import { policyOf, startGate } from "./support/gate.mjs";
import { storedAs } from "./support/records.mjs";
import { PROBE_SECRET } from "./support/recovery.mjs";

const guide = blocks(document("docs/origin.md"));
const shown = (info) => guide.find((block) => block.info === info).text;

let origin;
let gate;
const script = [];
before(async () => {
  const handler = ({ path }) => (path === "/v1/operations" ? script.shift() : undefined);
  origin = await startOrigin({ bank: new FencedBank(), handler });
  // The example as it stands, in a hurry.
  const example = await readToml(shown("toml operation"));
  const recovery = { ...example.recovery, settle_after: "300ms", schedule: ["50ms"] };
  const hurried = { ...example, lease: "4s", origin_timeout: "300ms", recovery };
  gate = await startGate({ origin, policy: policyOf([hurried]), vars: PROBE_SECRET });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

const effects = (key) => origin.ledger.entries.filter((it) => it.idempotency_key === key);

async function lost(key, switches) {
  const response = await pay(gate, key, switches);
  assert.equal(response.headers.get("Oncegate-State"), "unknown");
  return response.headers.get("Oncegate-Reference");
}

test("the example is a policy without faults", async () => {
  const policy = policyOf([await readToml(shown("toml operation"))]);
  const shownGate = await startGate({ origin, policy });
  try {
    await executed(await pay(shownGate, "as-shown"));
    assert.deepEqual(shownGate.logs, []);
  } finally {
    await shownGate.dispose();
  }
});

test("a look-up as recommended gives the receipt of the command back", async () => {
  const reference = await lost("receipt", { "Demo-Fail": "after:500" });
  await storedAs(gate, reference, "completed");
  const receipt = await receiptOf(await pay(gate, "receipt"));
  assert.equal(receipt.status, 201);
  const payment = JSON.parse(receipt.body);
  assert.equal(payment.id, effects("receipt")[0].subject);
  assert.equal(payment.status, "created");
  await replayed(await pay(gate, "receipt"), receipt);
});

for (const [state, settled] of [["done", "completed"], ["refused", "failed_replayable"]]) {
  test(`the answer of the guide, ${state}, is read as it says`, async () => {
    const answer = (reference, state) => ({
      status: 200,
      body: shown("json").replace("og_...", reference).replace('"done"', `"${state}"`),
    });
    const hold = origin.hold("GET /v1/operations", { when: "before" });
    const reference = await lost(`guide-${state}`, { "Demo-Fail": "before:500" });
    script.push(answer(reference, "working"), answer(reference, state));
    await hold.reached;
    hold.release();
    await storedAs(gate, reference, settled);
    assert.equal(script.length, 0, "working decides nothing");
  });
}

test("what comes after its look-up has denied it has no effect", async () => {
  const { refused } = origin.bank;
  // The proxy in front of the origin gives up; the command itself takes its time.
  const reference = await lost("too-late", { "Demo-Late": "1500ms" });
  await storedAs(gate, reference, "failed_retryable");
  const receipt = await executed(await pay(gate, "too-late"));
  await eventually(() => origin.bank.refused > refused);
  assert.deepEqual(effects("too-late").map((it) => it.attempt), [2]);
  await replayed(await pay(gate, "too-late"), receipt);
});

test("a command that is refused as too late may run again at once", async () => {
  // The command waits; the look-up closes its attempt; then it arrives.
  const hold = origin.hold((it) => it.header("Idempotency-Key") === "closed", { when: "before" });
  const first = await pay(gate, "closed");
  assert.equal(first.status, 504);
  const reference = first.headers.get("Oncegate-Reference");
  const asked = (it) => it.method === "GET" && it.query.get("reference") === reference;
  await (await origin.nextRequest(asked)).ended;
  hold.release();
  await storedAs(gate, reference, "failed_retryable");
  await executed(await pay(gate, "closed"));
  assert.deepEqual(effects("closed").map((it) => it.attempt), [2]);
});
