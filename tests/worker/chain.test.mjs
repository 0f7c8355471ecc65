// A payment in four steps under one business key: four operations, each done once, though the gate
// dies at every one of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { killing, POLICY, runChain, STEPS, VARS } from "../../demo/chain.mjs";
import { startOrigin } from "../../demo/origin.mjs";
import { AUTHORISED, postTo, problemOf } from "./support/demo.mjs";
import { startGate } from "./support/gate.mjs";
import { recordsOf, stateName } from "./support/records.mjs";

const IMPATIENT = 100;

/** Runs a chain that something disturbs; the ledger must have each step once, in order. */
async function chain(key, disturbing) {
  const origin = await startOrigin();
  const gate = await startGate({ origin, policy: POLICY, vars: VARS });
  try {
    const disturb = disturbing({ gate, origin });
    const answers = await runChain({ gate, key, disturb, hurry: IMPATIENT });
    const { entries } = origin.ledger;
    assert.deepEqual(entries.map((it) => it.operation), STEPS.map((it) => it.operation));
    assert.equal(new Set(entries.map((it) => it.subject)).size, 1);
    assert.deepEqual([...new Set(entries.map((it) => it.idempotency_key))], [key]);
    const references = entries.map((it) => it.reference);
    assert.deepEqual(references, STEPS.map(({ name }) => answers[name].reference));
    assert.equal(new Set(references).size, 4, "one key, four records");
    const states = recordsOf(gate).map(({ record }) => [record.operation, stateName(record)]);
    const done = STEPS.map(({ operation }) => [operation, "completed"]);
    assert.deepEqual(states.sort(), done.sort());
    await repeats(gate, key, answers);
    assert.equal(origin.ledger.count(), 4, "repeats add nothing");
    return { entries, answers };
  } finally {
    await gate.dispose();
    await origin.close();
  }
}

/** Every step can be repeated under the key, and gets its own receipt. */
async function repeats(gate, key, answers) {
  const { id } = answers.create.body;
  for (const step of STEPS) {
    const send = (body) => postTo(gate, step.path(id), body, { "Idempotency-Key": key });
    const receipt = await send(step.body);
    assert.equal(receipt.headers.get("Oncegate-State"), "replayed");
    assert.deepEqual(await receipt.json(), answers[step.name].body);
    await problemOf(await send({ amount: 1, currency: "USD" }), 409, "key_reused");
  }
  const ours = { ...AUTHORISED, "Idempotency-Key": key };
  for (const { operation } of STEPS) {
    const status = await gate.fetch(`/.well-known/idempotency/status/${operation}`, {
      headers: ours,
    });
    assert.equal((await status.json()).state, "completed");
  }
}

test("undisturbed: four first attempts", async () => {
  const { entries, answers } = await chain("calm", () => (_, send) => send());
  assert.deepEqual(entries.map((it) => it.attempt), [1, 1, 1, 1]);
  assert.ok(STEPS.every(({ name }) => answers[name].state === "executed"));
});

test("killed when the origin has done each step: the look-up gives each receipt", async () => {
  const { entries, answers } = await chain("done", ({ gate, origin }) =>
    killing({ gate, origin, when: "after" }),
  );
  assert.deepEqual(entries.map((it) => it.attempt), [1, 1, 1, 1]);
  const statuses = STEPS.map(({ name }) => answers[name].body.status);
  assert.deepEqual(statuses, ["created", "authorised", "captured", "settled"]);
});

test("killed before the origin has done each step: the second attempt does it", async () => {
  const { entries } = await chain("not-done", ({ gate, origin }) =>
    killing({ gate, origin, when: "before" }),
  );
  assert.deepEqual(entries.map((it) => it.attempt), [2, 2, 2, 2]);
});

test("killed at each step, and again while the origin is asked", async () => {
  await chain("twice", ({ gate, origin }) => async (step, send) => {
    const first = await killing({ gate, origin })(step, send);
    const probes = origin.hold("GET /v1/operations", { when: "before" });
    await probes.reached;
    await gate.kill();
    probes.drop();
    return first;
  });
});

test("an answer that is lost at each step, with the gate alive", async () => {
  await chain("lost", ({ origin }) => (step, send) => {
    origin.arm({ "Demo-Reset": "after" }, { filter: (it) => it.method === "POST" });
    return send();
  });
});
