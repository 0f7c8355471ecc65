// The runtime dies, at every moment of an operation, and comes up again on the same storage: the
// alarm alone finds out what became of the command, and nothing is done twice.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { effectsIn } from "./support/demo.mjs";
import { eventually, executed, pay, receiptOf, replayed, stateOf } from "./support/gated.mjs";
import { startGate } from "./support/gate.mjs";
import { onlyRecord, recordsOf, storedAs } from "./support/records.mjs";
import { PROBE_SECRET, reconciling, settledAnswer } from "./support/recovery.mjs";
import { startLookup } from "./support/recovery.mjs";

let origin;
before(async () => {
  origin = await startLookup();
});
after(() => origin?.close());

const TIMES = { lease: "700ms", origin_timeout: "500ms" };

/** A gate of its own, with one payment on its way that the origin has stopped. */
async function underway(key, { when = "after", recovery = {}, fields = {} } = {}, work) {
  const policy = reconciling(recovery, { ...TIMES, ...fields });
  const gate = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    const hold = origin.hold((it) => it.header("Idempotency-Key") === key, { when });
    const client = pay(gate, key).then(
      () => "answered",
      () => "broken off",
    );
    const command = await hold.reached;
    const reference = command.header("Oncegate-Reference");
    return await work({ gate, hold, client, reference });
  } finally {
    await gate.dispose();
  }
}

test("killed when the origin has done it: the look-up gives the receipt", () =>
  underway("done", {}, async ({ gate, hold, client, reference }) => {
    await gate.kill();
    assert.equal(await client, "broken off");
    hold.drop();
    const { record } = await storedAs(gate, reference, "completed");
    assert.deepEqual(record.journal.map(({ what }) => what), ["claimed", "unknown", "completed"]);
    const receipt = await receiptOf(await pay(gate, "done"));
    const made = origin.ledger.entries.filter((it) => it.reference === reference);
    assert.equal(made.length, 1);
    assert.equal(JSON.parse(receipt.body).id, made[0].subject);
    await replayed(await pay(gate, "done"), receipt);
  }));

test("killed before the origin has done it: the client runs it again, once", async () => {
  const { effects } = await effectsIn(origin, () =>
    underway("not-done", { when: "before" }, async ({ gate, hold, client, reference }) => {
      await gate.kill();
      await client;
      hold.drop();
      await storedAs(gate, reference, "failed_retryable");
      await executed(await pay(gate, "not-done"));
      assert.equal((await stateOf(gate, "not-done")).attempt, 2);
    }),
  );
  assert.equal(effects.length, 1);
  assert.equal(effects[0].attempt, 2);
});

test("killed and done only afterwards: not there at first lets nothing run again", async () => {
  const recovery = { settle_after: "30s" };
  const { effects } = await effectsIn(origin, () =>
    underway("later", { when: "before", recovery }, async ({ gate, hold, client, reference }) => {
      await gate.kill();
      await client;
      await origin.nextProbe("later");
      hold.release();
      await storedAs(gate, reference, "completed");
      assert.equal((await pay(gate, "later")).status, 201);
    }),
  );
  assert.equal(effects.length, 1);
  assert.equal(effects[0].attempt, 1);
});

test("a restart finds the lease over, whoever comes first", () =>
  underway("first-comer", {}, async ({ gate, hold, client, reference }) => {
    await gate.kill();
    await client;
    hold.drop();
    // Requests and the alarm meet at the end of the lease.
    const last = await settledAnswer(gate, "first-comer");
    assert.equal(last.status, 201);
    assert.equal(origin.ledger.entries.filter((it) => it.reference === reference).length, 1);
    const { record } = onlyRecord(gate);
    assert.equal(record.journal.filter(({ what }) => what === "unknown").length, 1);
  }));

test("killed between the answer and the record: settled all the same", async () => {
  const policy = reconciling({}, TIMES);
  const gate = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    for (let n = 0; n < 3; n += 1) {
      const key = `between-${n}`;
      const client = pay(gate, key).then(
        () => "answered",
        () => "broken off",
      );
      const command = await origin.nextRequest((it) => it.header("Idempotency-Key") === key);
      await command.ended;
      await gate.kill();
      await client;
      const reference = command.header("Oncegate-Reference");
      await storedAs(gate, reference, "completed");
      assert.equal(origin.ledger.entries.filter((it) => it.reference === reference).length, 1);
      assert.equal((await pay(gate, key)).status, 201);
    }
  } finally {
    await gate.dispose();
  }
});

test("killed during a probe: it is asked again after the restart", async () => {
  const policy = reconciling({}, TIMES);
  const gate = await startGate({ origin, policy, vars: PROBE_SECRET });
  try {
    const probes = origin.holdProbes("probing");
    const first = await pay(gate, "probing", { "Demo-Fail": "after:500" });
    const reference = first.headers.get("Oncegate-Reference");
    await probes.reached;
    await gate.kill();
    probes.drop();
    const { record } = await storedAs(gate, reference, "completed");
    assert.equal(record.attempt, 1);
    assert.ok(origin.probes("probing").length >= 2);
    assert.equal(origin.ledger.entries.filter((it) => it.reference === reference).length, 1);
  } finally {
    await gate.dispose();
  }
});

test("killed three times in a row: the record survives and is settled", () =>
  underway("thrice", {}, async ({ gate, hold, client, reference }) => {
    await gate.kill();
    await client;
    await gate.kill();
    hold.drop();
    await origin.nextProbe("thrice").then(() => gate.kill());
    await storedAs(gate, reference, "completed");
    assert.equal(origin.ledger.entries.filter((it) => it.reference === reference).length, 1);
  }));

test("killed and left alone: every record has an alarm until it is settled and forgotten", () => {
  const keep = { for: "200ms", tombstone: "400ms" };
  return underway("alone", { fields: { keep } }, async ({ gate, hold, client, reference }) => {
    await gate.kill();
    await client;
    const [{ alarm, record }] = recordsOf(gate);
    assert.ok(record.state.in_progress || record.state.unknown);
    assert.notEqual(alarm, null);
    hold.drop();
    await storedAs(gate, reference, "completed", { every: 5 });
    await storedAs(gate, reference, "expired", { every: 5 });
    const empty = ({ rows, alarm }) => rows === 0 && alarm === null;
    await eventually(() => gate.objects().every(empty));
  });
});
