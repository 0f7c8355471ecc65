// An outcome that nobody knows is settled by what the origin says when it is asked: without any
// client, once, and never by the passing of time.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { effectsIn, problemOf } from "./support/demo.mjs";
import { executed, pay, pending, receiptOf, replayed, stateOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { recordOf, storedAs } from "./support/records.mjs";
import { found, NOT_FOUND, NOTHING, PROBE_SECRET } from "./support/recovery.mjs";
import { reconcile, reconciling, settledAnswer, startLookup } from "./support/recovery.mjs";

let origin;
let gate;
before(async () => {
  origin = await startLookup();
  gate = await startGate({ origin, policy: reconciling(), vars: PROBE_SECRET });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

/** A payment whose outcome nobody knows: applied, or not, and then answered with a 500. */
async function lost(where, key, applied = true) {
  const response = await pay(where, key, { "Demo-Fail": `${applied ? "after" : "before"}:500` });
  assert.equal(response.status, 500);
  assert.equal(response.headers.get("Oncegate-State"), "unknown");
  return response.headers.get("Oncegate-Reference");
}

/** A script of look-ups that needs the reference, which the probe tells. */
const ours = (payment) => (response, request) => {
  const { status, body } = found(request.query.get("reference"), payment);
  response.writeHead(status, { "Content-Type": "application/json" }).end(body);
  return true;
};

test("what was applied is settled by the alarm alone, and repeats get the receipt", async () => {
  const { result: reference, effects } = await effectsIn(origin, async () => {
    const reference = await lost(gate, "applied");
    await storedAs(gate, reference, "completed");
    return reference;
  });
  assert.equal(effects.length, 1);
  const before = origin.requests.length;
  const repeat = await pay(gate, "applied");
  const receipt = await receiptOf(repeat.clone());
  await replayed(repeat, { ...receipt, status: 201, "Oncegate-Reference": reference });
  assert.equal(receipt["Content-Type"], "application/json");
  const payment = JSON.parse(receipt.body);
  assert.equal(payment.id, effects[0].subject);
  assert.equal(payment.reference, reference);
  await replayed(await pay(gate, "applied"), receipt);
  assert.equal(origin.requests.length, before, "a replay asks nobody");
  assert.equal((await stateOf(gate, "applied")).attempt, 1);
});

test("the receipt has the bytes of the origin and the status of the policy", async () => {
  const spelled = '{"id":"pay_7",  "status":"created","amount":1.50,"reference":"REF" }';
  origin.script("spelled", (response, request) => {
    const one = spelled.replace("REF", request.query.get("reference"));
    response.writeHead(200).end(`{"data": [ ${one} ]}`);
    return true;
  });
  const reference = await lost(gate, "spelled", false);
  await storedAs(gate, reference, "completed");
  const receipt = await receiptOf(await pay(gate, "spelled"));
  assert.equal(receipt.status, 201);
  assert.equal(receipt.body, spelled.replace("REF", reference));
});

test("what the origin has refused for good fails with the policy's status", async () => {
  origin.script("refused", ours({ status: "refused", id: undefined, reason: "no funds" }));
  const policy = reconciling({ failed_status: 402 });
  const other = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    for (const [where, status] of [[gate, 422], [other, 402]]) {
      origin.script("refused", ours({ status: "refused", id: undefined, reason: "no funds" }));
      const reference = await lost(where, "refused", false);
      await storedAs(where, reference, "failed_replayable");
      const receipt = await receiptOf(await pay(where, "refused"));
      assert.equal(receipt.status, status);
      assert.equal(JSON.parse(receipt.body).reason, "no funds");
      await replayed(await pay(where, "refused"), receipt);
      assert.equal((await stateOf(where, "refused")).outcome, "failed");
    }
  } finally {
    await other.dispose();
  }
});

test("what is still being worked on stays unknown until it is not", async () => {
  origin.script("working", ours({ status: "working" }), ours({ status: "working" }));
  const reference = await lost(gate, "working");
  await storedAs(gate, reference, "completed");
  assert.equal(origin.probes("working").length, 3);
});

test("what is not there runs again, as the next attempt, when the client comes back", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const reference = await lost(gate, "absent", false);
    const { record } = await storedAs(gate, reference, "failed_retryable");
    assert.equal(record.attempt, 1);
    await executed(await pay(gate, "absent"));
    assert.equal((await stateOf(gate, "absent")).attempt, 2);
  });
  assert.equal(effects.length, 1);
  assert.equal(effects[0].attempt, 2);
  const references = commandsOf("absent").map((it) => it.header("Oncegate-Reference"));
  assert.equal(references.length, 2);
  assert.equal(references[0], references[1]);
});

test("after a verdict that it is not there, another command is still refused", async () => {
  const reference = await lost(gate, "bound", false);
  await storedAs(gate, reference, "failed_retryable");
  await problemOf(await pay(gate, "bound", {}, { amount: 2, currency: "EUR" }), 409, "key_reused");
  await executed(await pay(gate, "bound"));
});

const commandsOf = (key) =>
  origin.requests.filter((it) => it.method === "POST" && it.header("Idempotency-Key") === key);

test("that it is not there counts only from a probe sent after the settle time", async () => {
  const policy = reconciling({ settle_after: "1s", schedule: ["100ms"] });
  const settling = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    const reference = await lost(settling, "settle", false);
    const { record } = await storedAs(settling, reference, "failed_retryable");
    const at = (what) => record.journal.find((entry) => entry.what === what).at;
    const settled = at("unknown") + 1000;
    assert.ok(at("probe_not_applied") >= settled);
    const sent = origin.probes("settle").map((it) => it.at);
    assert.ok(sent.length > 1 && sent[0] < settled, "an earlier one was asked and did not count");
    // One that was sent before may arrive after it.
    const later = sent.filter((it) => it >= settled).length;
    assert.ok(later === 1 || later === 2, `the first later one counted: ${later}`);
  } finally {
    await settling.dispose();
  }
});

test("a look-up that lags never leads to a second effect", async () => {
  const policy = reconciling({ settle_after: "30s", schedule: ["30ms"] });
  const settling = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    origin.script("lag", NOT_FOUND, NOTHING, NOT_FOUND, NOTHING, NOTHING);
    const { effects } = await effectsIn(origin, async () => {
      const reference = await lost(settling, "lag");
      const last = await settledAnswer(settling, "lag");
      const receipt = await receiptOf(last);
      assert.equal(receipt.status, 201);
      assert.equal(receipt["Oncegate-Reference"], reference);
    });
    assert.equal(effects.length, 1);
    assert.equal(commandsOf("lag").length, 1);
    assert.equal(origin.probes("lag").length, 6);
  } finally {
    await settling.dispose();
  }
});

test("not there does not count while the call of that attempt is still open here", async () => {
  const hold = origin.hold((it) => it.header("Idempotency-Key") === "open", { when: "before" });
  const policy = reconciling({}, { lease: "20s", origin_timeout: "200ms" });
  const patient = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    const { effects } = await effectsIn(origin, async () => {
      const first = await pay(patient, "open");
      await problemOf(first, 504, "origin_timeout");
      const reference = first.headers.get("Oncegate-Reference");
      for (let n = 0; n < 3; n += 1) await origin.nextProbe("open");
      await pending(patient, await pay(patient, "open"), "unknown");
      hold.release();
      await storedAs(patient, reference, "completed");
    });
    assert.equal(effects.length, 1);
    assert.equal(commandsOf("open").length, 1);
  } finally {
    await patient.dispose();
  }
});

test("callers are told after origin_timeout, and the late answer still settles", async () => {
  const times = { lease: "20s", origin_timeout: "300ms" };
  const held = await startGate({
    origin,
    policy: policyOf([operation("create_payment", times)]),
  });
  try {
    const hold = origin.hold((it) => it.header("Idempotency-Key") === "late");
    const first = pay(held, "late");
    await hold.reached;
    const second = pay(held, "late");
    const told = await first;
    await problemOf(told, 504, "origin_timeout");
    assert.equal(told.headers.get("Oncegate-State"), "unknown");
    await pending(held, await second, "unknown");
    const reference = told.headers.get("Oncegate-Reference");
    assert.ok(recordOf(held, reference).record.state.unknown);
    hold.release();
    await storedAs(held, reference, "completed");
    const receipt = await receiptOf(await pay(held, "late"));
    assert.equal(receipt.status, 201);
    assert.equal(receipt.Location, `/v1/payments/${JSON.parse(receipt.body).id}`);
    assert.equal(origin.ledger.entries.filter((it) => it.reference === reference).length, 1);
  } finally {
    await held.dispose();
  }
});

test("a 504 before the origin commits: the look-up finds what came later", async () => {
  const policy = reconciling({ settle_after: "30s", schedule: ["50ms"] });
  const settling = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    const { effects } = await effectsIn(origin, async () => {
      const first = await pay(settling, "commit", { "Demo-Late": "400ms" });
      assert.equal(first.status, 504);
      assert.equal(first.headers.get("Oncegate-State"), "unknown");
      await storedAs(settling, first.headers.get("Oncegate-Reference"), "completed");
    });
    assert.equal(effects.length, 1);
    assert.ok(origin.probes("commit").length > 1, "at first it was not there");
  } finally {
    await settling.dispose();
  }
});

test("under hold nobody asks, and no time makes an unknown outcome known", async () => {
  const lifetimes = { keep: { for: "100ms", tombstone: "200ms" }, lease: "1200ms" };
  const fields = { ...lifetimes, origin_timeout: "1s" };
  const held = await startGate({ origin, policy: policyOf([operation("create_payment", fields)]) });
  try {
    const reference = await lost(held, "held");
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.ok(recordOf(held, reference).record.state.unknown, "longer than all of its lifetimes");
    await pending(held, await pay(held, "held"), "unknown");
    assert.equal(commandsOf("held").length, 1);
  } finally {
    await held.dispose();
  }
});

test("a verdict about an attempt is void for the next one", async () => {
  const times = { lease: "20s", origin_timeout: "1500ms" };
  const slow = await startGate({ origin, policy: reconciling({}, times), vars: PROBE_SECRET });
  try {
    origin.script("stale", ours({ status: "refused", id: undefined }));
    const hold = origin.hold((it) => it.header("Idempotency-Key") === "stale", { when: "before" });
    const probes = origin.holdProbes("stale", { when: "before" });
    const { effects } = await effectsIn(origin, async () => {
      const first = await pay(slow, "stale");
      await problemOf(first, 504, "origin_timeout");
      const reference = first.headers.get("Oncegate-Reference");
      await probes.reached;
      hold.release({ status: 503, headers: { "Oncegate-Outcome": "retry" } });
      await storedAs(slow, reference, "failed_retryable");
      await lost(slow, "stale");
      probes.release();
      const { record } = await storedAs(slow, reference, "completed");
      assert.equal(record.attempt, 2);
      assert.equal((await pay(slow, "stale")).status, 201);
    });
    assert.equal(effects.length, 1);
    assert.equal(origin.probes("stale").length, 2, "the verdict of the first was void");
  } finally {
    await slow.dispose();
  }
});
