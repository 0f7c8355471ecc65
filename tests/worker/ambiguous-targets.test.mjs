// Spellings of a target: what is the same path is protected, what a server behind the gate might
// take for a protected path is refused, and nothing slips past.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTHORISED, effectsIn, PAYMENT } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { refusal, withoutTrace } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";
import { rawRequest } from "./support/http.mjs";

const it = gateForTests({ policy: payments() });

function post(target, key) {
  const headers = [
    ...Object.entries(AUTHORISED),
    ["Content-Type", "application/json"],
    ["Idempotency-Key", key],
  ];
  const body = JSON.stringify(PAYMENT);
  return rawRequest(it.gate.url, { method: "POST", target, headers, body });
}

for (const target of [
  "//v1/payments",
  "/v1//payments",
  "/v1/payments/",
  "/v1/payments//",
  "/v1/payments;x",
  "/v1/payments;x=1",
  "/v1;a=b/payments",
  "/v1%2Fpayments",
  "/v1%2fpayments",
  "/%2Fv1/payments",
  "/v1/payments%2F",
  "/v1/payments%3Bx",
  "/v1\\payments",
  "/v1%5Cpayments",
  "/v1/%2570ayments",
  "/v1/payments%20",
  "/v1/payments%00",
  "/v1/x%2F..%2Fpayments",
  "/v1/payments/pay_1//authorise",
  "/v1/payments/pay_1%2Fauthorise",
  "/v1/payments/pay_1/authorise/",
  "/v1/payments/pay_1/x/..%2Fauthorise",
]) {
  test(`${target} is ambiguous`, async () => {
    const { gate, origin } = it;
    const answer = await withoutTrace(gate, origin, () => post(target, "spelling"));
    const problem = await refusal(gate, answer, 400, "target_ambiguous");
    assert.equal(problem.retry, "after-fixing");
  });
}

test("dot segments in any spelling reach the operation or nothing", async () => {
  const { gate, origin } = it;
  for (const target of [
    "/v1/./payments",
    "/v1/x/../payments",
    "/v1/%2e/payments",
    "/v1/x/%2E%2e/payments",
    "/../v1/payments",
  ]) {
    const count = origin.ledger.count();
    const key = `dots-${target}`.replaceAll(/[^a-z0-9]/gi, "-");
    const answers = [await post(target, key), await post(target, key)];
    // The runtime resolves them before a Worker sees the target: it is the plain path then.
    if (answers[0].status === 201) {
      assert.equal(answers[1].header("Idempotency-Replayed"), "true", target);
      assert.equal(origin.ledger.count(), count + 1);
    } else {
      await refusal(gate, answers[0], 400, "target_ambiguous");
      assert.equal(origin.ledger.count(), count);
    }
  }
});

test("escapes of plain letters are the same path: one key, one effect", async () => {
  const { origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const spellings = ["/v1/payments", "/v1/%70ayments", "/%761/payment%73", "/v1/%70%61yments"];
    const answers = [];
    for (const target of spellings) answers.push(await post(target, "escapes"));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201, 201],
    );
    assert.equal(new Set(answers.map((answer) => answer.json().id)).size, 1);
    const marks = answers.map((answer) => answer.header("Idempotency-Replayed"));
    assert.deepEqual(marks, [null, "true", "true", "true"]);
  });
  assert.equal(effects.length, 1);
});

test("a target in absolute form is the path that it names", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const first = await post(`${gate.url}/v1/payments`, "absolute");
    const second = await post("/v1/payments", "absolute");
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.equal(second.header("Idempotency-Replayed"), "true");
  });
  assert.equal(effects.length, 1);
});

test("other letters, other paths and other methods are not the operation", async () => {
  const { origin } = it;
  for (const target of ["/V1/payments", "/v1/payments2", "/v1/payment", "/v2/v1/payments"]) {
    const answer = await post(target, "other");
    assert.equal(answer.header("Oncegate-State"), null, target);
    assert.equal(origin.requests.at(-1).target, target);
  }
});

test("a query or a fragment does not change the operation", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const answer = await post("/v1/payments?x=/v1//payments;a", "query");
    assert.equal(answer.status, 201);
    assert.equal(answer.header("Oncegate-State"), "executed");
  });
  assert.equal(effects.length, 1);
  assert.ok(gate.objects().length > 0);
});
