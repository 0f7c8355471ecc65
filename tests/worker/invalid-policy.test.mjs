// A policy that is not valid, or that names what this version does not build: its operations
// answer 503 and nothing of them is forwarded, ignored or guessed; the rest passes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { getFrom } from "./support/demo.mjs";
import { pay, refusal, statusOf, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

/** Names and values of the policy that are known and not built: where, and what stands there. */
const PLANNED = {
  principal: [
    ["principal", "jwt:sub"],
    ["principal", "cookie:sid"],
    ["principal", "header:X-User"],
  ],
  identity: [
    ["key", ["body:/id"]],
    ["scope", ["principal", "body:/shop"]],
    ["placement", { jurisdiction: "eu" }],
    ["authorize_replay", "GET /v1/me"],
    ["principal_trusted", true],
  ],
  answers: [
    ["on_mismatch", "separate"],
    ["acknowledge", { status: 200 }],
    ["stream", true],
    ["limit", { new_keys: 10 }],
  ],
  keep: [
    ["keep", { reply: "reference" }],
    ["keep", { fields: ["/id"] }],
    ["keep", { headers: ["X-Mine"] }],
    ["keep", { encrypt: true }],
  ],
  command: [["command", { echo: ["/id"] }]],
};
const PLANNED_GLOBALS = [
  ["jwt", { jwks: "https://a.example/jwks", issuer: "a", audience: "b" }],
  ["cors", { origins: ["https://shop.example"] }],
  ["server_timing", true],
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
    const problem = await refusal(gate, await pay(gate, "k"), 503, "gate_unavailable");
    assert.equal(problem.retry, "same-key");
  });
  const ledger = await getFrom(gate, "/ledger.json");
  assert.equal(ledger.status, 200, "the unprotected rest passes");
  const said = gate.logs.filter(({ message }) => message.includes("invalid policy"));
  assert.ok(
    said.some(({ message }) => message.includes(path)),
    `${path} is not named in ${JSON.stringify(said)}`,
  );
}

/** Where a fault is: the path that its message starts with. */
function pathOf(field, value) {
  const nested = typeof value === "object" && !Array.isArray(value);
  const inner = nested ? Object.keys(value)[0] : undefined;
  const known = field === "acknowledge" || field === "limit" || field === "placement";
  return `ONCEGATE_OP_CREATE_PAYMENT.${field}${nested && !known ? `.${inner}` : ""}`;
}

for (const [group, entries] of Object.entries(PLANNED)) {
  test(`not built, ${group}: closed, never ignored`, async () => {
    for (const [field, value] of entries) {
      const policy = policyOf([operation("create_payment", { [field]: value })]);
      await withGate(policy, async (gate) => {
        await closed(gate, pathOf(field, value));
        const text = gate.logs.map(({ message }) => message).join("\n");
        assert.match(text, /not (built|available|supported)|does not build|planned/i);
      });
    }
  });
}

test("not built, globals: closed, never ignored", async () => {
  for (const [name, value] of PLANNED_GLOBALS) {
    const policy = policyOf([operation("create_payment")], { [name]: value });
    await withGate(policy, (gate) => closed(gate, name));
  }
});

test("faults of one operation close all operations, and only them", async () => {
  for (const [field, value] of FAULTY) {
    const other = operation("create_refund", { [field]: value });
    const policy = policyOf([operation("create_payment"), other]);
    await withGate(policy, (gate) => closed(gate, "ONCEGATE_OP_CREATE_REFUND"));
  }
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
