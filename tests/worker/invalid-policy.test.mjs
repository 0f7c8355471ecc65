// A policy that is not valid, or that names what this version does not build: its operations
// answer 503 and nothing of them is forwarded, ignored or guessed; the rest passes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { getFrom } from "./support/demo.mjs";
import { pay, refusal, retryAfter, statusOf, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

/** Fields of an operation that are known and not built: where the fault is, and what is written. */
const PLANNED = [
  ["principal", { principal: "jwt:sub" }],
  ["principal", { principal: "cookie:sid" }],
  ["principal", { principal: "header:X-User" }],
  ["key[0]", { key: ["body:/id"] }],
  ["scope[1]", { scope: ["principal", "body:/shop"] }],
  ["placement", { placement: { jurisdiction: "eu" } }],
  ["authorize_replay", { authorize_replay: "GET /v1/me" }],
  ["principal_trusted", { principal_trusted: true }],
  ["acknowledge", { acknowledge: { status: 200 } }],
  ["limit", { limit: { new_keys: 10 } }],
];
const PLANNED_GLOBALS = [
  ["jwt", { jwks: "https://a.example/jwks", issuer: "a", audience: "b" }],
];
/** Plain faults. */
const FAULTY = [
  ["lease", "10s"],
  ["lease", "soon"],
  ["keep", { for: "60d" }],
  ["nmae", "x"],
  ["when_absent", "guess"],
  ["final", [200]],
];

let origin;
before(async () => {
  origin = await startOrigin();
});
after(() => origin?.close());

/** Runs with a gate of its own. */
async function withGate(policy, work, vars) {
  const gate = await startGate({ origin, policy, vars });
  try {
    await work(gate);
  } finally {
    await gate.dispose();
  }
}

/** The protected operation is closed and its fault is in the log; what is unprotected passes. */
async function closed(gate, path) {
  await withoutTrace(gate, origin, async () => {
    const answer = await pay(gate, "k");
    const problem = await refusal(gate, answer, 503, "gate_unavailable");
    assert.equal(problem.retry, "same-key");
    retryAfter(answer);
  });
  const ledger = await getFrom(gate, "/ledger.json");
  assert.equal(ledger.status, 200, "the unprotected rest passes");
  const said = gate.logs.filter(({ message }) => message.includes("invalid policy"));
  assert.ok(
    said.some(({ message }) => message.includes(path)),
    `${path} is not named in ${JSON.stringify(said)}`,
  );
}

test("a field that is not built closes its operation, and is never ignored", async () => {
  const operations = PLANNED.map(([, fields], n) =>
    operation(`field_${n}`, { match: `POST /fields/${n}`, ...fields }),
  );
  await withGate(policyOf(operations), async (gate) => {
    for (const n of PLANNED.keys()) {
      const init = { method: "POST", headers: { authorization: "Bearer a" } };
      const answer = await withoutTrace(gate, origin, () => gate.fetch(`/fields/${n}`, init));
      await refusal(gate, answer, 503, "gate_unavailable");
    }
    // One fault each, so that each alone would have closed the gate.
    const faults = gate.logs.map(({ message }) => /^invalid policy: (\S+): (.*)$/.exec(message));
    const found = faults.filter((fault) => fault !== null);
    const paths = PLANNED.map(([path], n) => `ONCEGATE_OP_FIELD_${n}.${path}`);
    assert.deepEqual(found.map(([, path]) => path).sort(), paths.sort());
    for (const [, path, why] of found) assert.match(why, /not (yet )?(built|available)/i, path);
  });
});

test("a global that is not built closes all operations, and is never ignored", async () => {
  for (const [name, value] of PLANNED_GLOBALS) {
    const policy = policyOf([operation("create_payment")], { [name]: value });
    await withGate(policy, (gate) => closed(gate, name));
  }
});

test("faults of some operations close all operations, and only them", async () => {
  const faulty = FAULTY.map(([field, value], n) =>
    operation(`faulty_${n}`, { match: `POST /faulty/${n}`, [field]: value }),
  );
  await withGate(policyOf([operation("create_payment"), ...faulty]), async (gate) => {
    for (const n of FAULTY.keys()) await closed(gate, `ONCEGATE_OP_FAULTY_${n}`);
  });
});

test("one fault is enough", async () => {
  const policy = policyOf([operation("create_payment"), operation("create_refund", { nmae: "x" })]);
  await withGate(policy, (gate) => closed(gate, "ONCEGATE_OP_CREATE_REFUND.nmae"));
});

test("all faults are in the log at once", async () => {
  const fields = { lease: "1s", on_repeat: "maybe", keep: { fro: "1h" }, principal: "me" };
  const policy = policyOf([operation("create_payment", fields)], { preset: "odd" });
  await withGate(policy, async (gate) => {
    await pay(gate, "k");
    for (const path of ["preset", ".lease", ".on_repeat", ".keep.fro", ".principal"]) {
      await gate.log(new RegExp(`invalid policy: \\S*${path.replaceAll(".", "\\.")}\\b`));
    }
  });
});

test("another spelling of a closed operation is no way in", async () => {
  const policy = policyOf([operation("create_payment", { lease: "soon" })]);
  await withGate(policy, async (gate) => {
    await withoutTrace(gate, origin, async () => {
      const init = { method: "POST", headers: { authorization: "Bearer a" }, body: "{}" };
      const slash = await gate.fetch("/v1/payments/", init);
      await refusal(gate, slash, 400, "target_ambiguous");
      const escaped = await gate.fetch("/v1/%70ayments", init);
      await refusal(gate, escaped, 503, "gate_unavailable");
    });
  });
});

test("where origin or routes cannot be read, every request is closed", async () => {
  const good = operation("create_payment");
  for (const policy of [
    policyOf([good], { origin: "ftp://a.example" }),
    policyOf([{ ...good, match: "POST" }]),
    policyOf([good], { unmatched: "perhaps" }),
    { ONCEGATE: "{", ONCEGATE_OP_CREATE_PAYMENT: good },
    { ONCEGATE_OP_CREATE_PAYMENT: good },
    { ...policyOf([]), ONCEGATE_OPS_PAY: good },
  ]) {
    await withGate(policy, async (gate) => {
      await withoutTrace(gate, origin, async () => {
        await refusal(gate, await pay(gate, "k"), 503, "gate_unavailable");
        await refusal(gate, await gate.fetch("/ledger.json"), 503, "gate_unavailable");
        await refusal(gate, await statusOf(gate, "k"), 503, "gate_unavailable");
      });
    });
  }
});

test("a policy in variables of JSON text is a policy", async () => {
  const policy = policyOf([operation("create_payment")], { origin: origin.url });
  const text = Object.fromEntries(
    Object.entries(policy).map(([name, value]) => [name, JSON.stringify(value)]),
  );
  await withGate(text, async (gate) => {
    assert.equal((await pay(gate, "text")).status, 201);
    assert.equal((await pay(gate, "text")).headers.get("Idempotency-Replayed"), "true");
  });
});
