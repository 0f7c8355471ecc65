// A deploy in the middle: records meet another policy, or none that is valid, and none is stuck,
// run again or forgotten for it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { AUTHORISED, problemOf } from "./support/demo.mjs";
import { eventually, pay, pending, receiptOf, statusOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { recordOf, storedAs } from "./support/records.mjs";
import { NOT_FOUND, PROBE_SECRET, reconciling } from "./support/recovery.mjs";
import { settledAnswer, startLookup } from "./support/recovery.mjs";

let origin;
before(async () => {
  origin = await startLookup();
});
after(() => origin?.close());

const TIMES = { lease: "700ms", origin_timeout: "500ms" };
const HOLDING = policyOf([operation("create_payment", TIMES)]);
const RERUNNING = policyOf([
  operation("create_payment", { ...TIMES, effect: "at_least_once" }),
]);
const INVALID = policyOf([operation("create_payment", { ...TIMES, lease: "700 ms" })]);
const GONE = policyOf([operation("create_refund")]);
const ASKING = reconciling({ schedule: ["50ms"] }, TIMES);
const BUSY = { status: 503, body: "" };

/** Runs work on gates that follow each other on one folder. */
async function deployed(policy, work) {
  let gate = await startGate({ origin, policy, vars: PROBE_SECRET });
  const redeploy = async (next) => {
    gate = await gate.restart({ policy: next });
    return gate;
  };
  try {
    return await work(gate, redeploy);
  } finally {
    await gate.dispose();
  }
}

async function lost(gate, key, headers = { "Demo-Fail": "after:500" }) {
  const response = await pay(gate, key, headers);
  assert.equal(response.headers.get("Oncegate-State"), "unknown");
  return response.headers.get("Oncegate-Reference");
}

const effects = (reference) => origin.ledger.entries.filter((it) => it.reference === reference);
const commands = (key) =>
  origin.requests.filter((it) => it.method === "POST" && it.header("Idempotency-Key") === key);

/** The alarm of a record is not in the past for long: nothing rings without pause. */
async function rests(gate, reference) {
  const calm = () => {
    const { alarm } = recordOf(gate, reference);
    return alarm === null || alarm - Date.now() > 1000;
  };
  await eventually(calm);
  for (let n = 0; n < 10; n += 1) {
    await delay(50);
    assert.ok(calm(), "its alarm rings again and again");
  }
}

test("held under one policy, asked about under the next, as soon as somebody comes", () =>
  deployed(HOLDING, async (gate, redeploy) => {
    const reference = await lost(gate, "held-asked");
    const probe = "GET /v1/payments?reference={reference}";
    const next = await redeploy(reconciling({ probe }, TIMES));
    const last = await settledAnswer(next, "held-asked");
    const receipt = await receiptOf(last);
    assert.equal(receipt.status, 201);
    assert.equal(receipt["Oncegate-Reference"], reference);
    assert.equal(effects(reference).length, 1);
  }));

for (const [what, policy] of [["held", HOLDING], ["run again", RERUNNING]]) {
  test(`asked about under one policy, ${what} under the next: nobody asks any more`, () =>
    deployed(ASKING, async (gate, redeploy) => {
      const key = `asked-${what.replace(" ", "-")}`;
      origin.script(key, ...Array(999).fill(BUSY));
      const reference = await lost(gate, key);
      await origin.nextProbe(key);
      const next = await redeploy(policy);
      await rests(next, reference);
      const asked = origin.probes(key).length;
      const response = await pay(next, key);
      if (policy === HOLDING) await pending(next, response, "unknown");
      else assert.equal(response.headers.get("Oncegate-State"), "executed");
      assert.equal(origin.probes(key).length, asked);
    }));
}

test("another look-up is used for a record that is older than it", () =>
  deployed(ASKING, async (gate, redeploy) => {
    origin.script("moved", ...Array(999).fill(BUSY));
    const reference = await lost(gate, "moved");
    await origin.nextProbe("moved");
    const probe = "GET /v1/payments?reference={reference}&now=here";
    const next = await redeploy(reconciling({ probe }, TIMES));
    await storedAs(next, reference, "completed");
    const asked = origin.requests.find((it) => it.query.get("now") === "here");
    assert.equal(asked.query.get("reference"), reference);
  }));

test("killed, and back with an invalid policy: the lease ends all the same", () =>
  deployed(ASKING, async (gate, redeploy) => {
    const hold = origin.hold((it) => it.header("Idempotency-Key") === "invalid");
    const client = pay(gate, "invalid").catch(() => {});
    const reference = (await hold.reached).header("Oncegate-Reference");
    const faulty = await redeploy(INVALID);
    await client;
    hold.drop();
    await storedAs(faulty, reference, "unknown");
    await rests(faulty, reference);
    assert.notEqual(recordOf(faulty, reference).alarm, null, "it will be looked at again");
    await problemOf(await pay(faulty, "invalid"), 503, "gate_unavailable");
    assert.equal(commands("invalid").length, 1);
    const repaired = await redeploy(ASKING);
    const last = await settledAnswer(repaired, "invalid");
    assert.equal(last.status, 201);
    assert.equal(effects(reference).length, 1);
  }));

test("unknown with a plan, and the operation is gone for a while: kept, and then settled", () =>
  deployed(ASKING, async (gate, redeploy) => {
    origin.script("absent", NOT_FOUND, ...Array(999).fill(BUSY));
    const reference = await lost(gate, "absent");
    await origin.nextProbe("absent");
    for (const policy of [GONE, INVALID]) {
      const without = await redeploy(policy);
      await rests(without, reference);
      assert.ok(recordOf(without, reference).record.state.unknown);
      assert.notEqual(recordOf(without, reference).alarm, null);
    }
    origin.script("absent");
    const back = await redeploy(ASKING);
    const repeat = await settledAnswer(back, "absent");
    assert.equal(repeat.status, 201);
    assert.equal(repeat.headers.get("Oncegate-Reference"), reference);
    assert.equal(effects(reference).length, 1);
    assert.equal(commands("absent").length, 1);
  }));

test("lifetimes end without any policy, and the object is emptied", () => {
  const keep = { for: "2s", tombstone: "4s" };
  const policy = policyOf([operation("create_payment", { ...TIMES, keep })]);
  return deployed(policy, async (gate, redeploy) => {
    const response = await pay(gate, "forgotten");
    assert.equal(response.status, 201);
    const faulty = await redeploy(INVALID);
    const reference = response.headers.get("Oncegate-Reference");
    await storedAs(faulty, reference, "expired");
    const empty = ({ rows, alarm }) => rows === 0 && alarm === null;
    await eventually(() => faulty.objects().every(empty));
  });
});

test("a record keeps its own lifetimes and lease over a deploy", () =>
  deployed(ASKING, async (gate, redeploy) => {
    const reference = await lost(gate, "lifetimes");
    const { record } = await storedAs(gate, reference, "completed");
    const keep = { for: "1ms", tombstone: "1ms" };
    const next = await redeploy(policyOf([operation("create_payment", { ...TIMES, keep })]));
    const status = await statusOf(next, { reference }, { headers: AUTHORISED });
    assert.equal((await status.json()).state, "completed");
    const after = recordOf(next, reference).record;
    assert.deepEqual(after.state.completed.forget_at, record.state.completed.forget_at);
  }));
