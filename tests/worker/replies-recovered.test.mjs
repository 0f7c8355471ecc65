// Encryption where an outcome is unknown: the values that the probe needs and the receipt that it
// rebuilds are sealed as well, are found again after a crash, and nothing runs for want of them.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { eventually, pay, pending, stateOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { recordOf } from "./support/records.mjs";
import { found, NOT_FOUND, PROBE_SECRET, reconcile, startLookup } from "./support/recovery.mjs";

const FIRST = "first-secret-of-the-deployment";
const SECOND = "second-secret-of-the-deployment";
const CUSTOMER = "words-of-the-customer";
const KEY = "words-of-the-key";
const PAYER = "words-of-the-payer";
const COMMAND = { amount: 1000, currency: "EUR", customer: CUSTOMER };

const policy = (encrypt) =>
  policyOf([
    operation("create_payment", {
      lease: "2s",
      origin_timeout: "1s",
      keep: { encrypt },
      recovery: reconcile({
        probe: "GET /lookup/{key}?reference={reference}&customer={body:/customer}",
      }),
    }),
  ]);

let origin;
before(async () => {
  origin = await startLookup();
});
after(() => origin.close());

const secrets = (first, second) => ({
  vars: {
    ...PROBE_SECRET,
    ...(first && { ONCEGATE_RECORD_SECRET: first }),
    ...(second && { ONCEGATE_RECORD_SECRET_2: second }),
  },
});

async function withGate(work, encrypt = true) {
  const options = { origin, policy: policy(encrypt), ...secrets(FIRST) };
  const held = { gate: await startGate(options) };
  try {
    await work(held);
  } finally {
    await held.gate.dispose();
  }
}

function wordsOnDisk(gate, words) {
  const files = readdirSync(gate.dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
  return words.filter((word) => files.some((bytes) => bytes.includes(word)));
}

/** A command whose answer says nothing, while its probe is held. */
async function unknown({ gate }, key) {
  const count = origin.ledger.count();
  const hold = origin.holdProbes(key, { when: "before" });
  const answer = await pay(gate, key, { "Demo-Fail": "after:500" }, COMMAND);
  assert.equal(answer.headers.get("Oncegate-State"), "unknown");
  const probe = await hold.reached;
  return { hold, probe, reference: answer.headers.get("Oncegate-Reference"), count };
}

/** Looks until the record is in this state; the looks are events, as a client's would be. */
async function stateIs({ gate }, key, state) {
  await eventually(async () => (await stateOf(gate, key)).state === state);
}

/** The rebuilt receipt, of the only run. */
async function isRebuilt({ gate }, key, count) {
  const again = await pay(gate, key, {}, COMMAND);
  assert.equal(again.status, 201);
  assert.equal(again.headers.get("Idempotency-Replayed"), "true");
  const document = await again.json();
  assert.equal(document.id, "pay_1");
  assert.equal(origin.ledger.count(), count + 1);
  return document;
}

test("the probe is asked with the client's values, which are on disk only sealed", async () => {
  await withGate(async (held) => {
    const { hold, probe, reference, count } = await unknown(held, KEY);
    assert.equal(probe.query.get("customer"), CUSTOMER);
    assert.equal(probe.path, `/lookup/${KEY}`);
    const { record } = recordOf(held.gate, reference);
    assert.deepEqual(record.kept.map(([name]) => name).sort(), ["body:/customer", "key"]);
    assert.deepEqual(wordsOnDisk(held.gate, [KEY, CUSTOMER]), []);
    hold.release(found(reference, { payer: PAYER }));
    await stateIs(held, KEY, "completed");
    const document = await isRebuilt(held, KEY, count);
    assert.equal(document.payer, PAYER);
    assert.deepEqual(wordsOnDisk(held.gate, [KEY, CUSTOMER, PAYER, "pay_1"]), []);
  });
});

test("unencrypted, the same values and the same receipt are in the clear", async () => {
  await withGate(async (held) => {
    const key = `${KEY}-clear`;
    const { hold, reference } = await unknown(held, key);
    assert.deepEqual(wordsOnDisk(held.gate, [key, CUSTOMER]), [key, CUSTOMER]);
    hold.release(found(reference, { payer: PAYER }));
    await stateIs(held, key, "completed");
    assert.deepEqual(wordsOnDisk(held.gate, [PAYER]), [PAYER]);
  }, false);
});

test("under a newer secret the values are opened and the probe goes on", async () => {
  await withGate(async (held) => {
    const { hold, reference, count } = await unknown(held, "crashed");
    hold.drop();
    held.gate = await held.gate.restart(secrets(FIRST, SECOND));
    origin.script("crashed", found(reference), found(reference), found(reference));
    await stateIs(held, "crashed", "completed");
    await isRebuilt(held, "crashed", count);
    const { record } = recordOf(held.gate, reference);
    assert.equal(record.state.completed.reply.seal, 2);
  });
});

test("without the secret nobody is asked with half a question, and nothing runs", async () => {
  await withGate(async (held) => {
    const { hold, reference, count } = await unknown(held, "shut");
    hold.drop();
    held.gate = await held.gate.restart(secrets(undefined, SECOND));
    const probes = origin.probes("shut").length;
    await pending(held.gate, await pay(held.gate, "shut", {}, COMMAND), "unknown");
    await held.gate.log(/a probe failed: a value of its target was not kept/);
    assert.equal(origin.probes("shut").length, probes);
    assert.equal((await stateOf(held.gate, "shut")).state, "unknown");
    origin.script("shut", found(reference), found(reference), found(reference));
    held.gate = await held.gate.restart(secrets(FIRST, SECOND));
    await stateIs(held, "shut", "completed");
    await isRebuilt(held, "shut", count);
  });
});

test("a command that was not applied runs again with its sealed values", async () => {
  await withGate(async (held) => {
    const { hold, reference } = await unknown(held, "absent");
    origin.script("absent", NOT_FOUND);
    hold.release(NOT_FOUND);
    await stateIs(held, "absent", "failed_retryable");
    const second = origin.holdProbes("absent", { when: "before" });
    const again = await pay(held.gate, "absent", { "Demo-Reset": "after" }, COMMAND);
    assert.equal(again.headers.get("Oncegate-State"), "unknown");
    const probe = await second.reached;
    assert.equal(probe.query.get("customer"), CUSTOMER);
    assert.equal(probe.query.get("reference"), reference);
    second.release(found(reference));
    await stateIs(held, "absent", "completed");
  });
});
