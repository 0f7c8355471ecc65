// What the gate tells everybody about itself at `/.well-known/idempotency`: enough to use the
// protected operations rightly, and nothing that is not for everybody.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { rawRequest } from "./support/http.mjs";
import { pay, refusal, statusOf, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

const ROOT = "/.well-known/idempotency";
const SECRETS = { ONCEGATE_PROBE_AUTHORIZATION: "Bearer probe-secret", ONCEGATE_ADMIN_TOKEN: "t0k" };
const RECOVERY = {
  then: "reconcile",
  probe: "GET /v1/payments?hidden={reference}",
  verdicts: [{ status: 200, pointer: "/hidden", equals: 1, verdict: "applied" }],
};
const policy = policyOf([
  operation("create_payment", { recovery: RECOVERY, statuses: { key_reused: 422 } }),
  operation("create_refund", { key: ["query:batch"], when_absent: "pass" }),
]);

let origin;
let gate;
let broken;
before(async () => {
  origin = await startOrigin();
  gate = await startGate({ origin, policy, vars: SECRETS });
  broken = await startGate({ origin, policy: policyOf([operation("create_payment", { a: 1 })]) });
});
after(async () => {
  await gate?.dispose();
  await broken?.dispose();
  await origin?.close();
});

test("it tells what each operation does, without credentials, to any cache, for a little while", async () => {
  const answer = await withoutTrace(gate, origin, () => gate.fetch(ROOT));
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("Content-Type"), "application/json");
  assert.equal(answer.headers.get("Cache-Control"), "public, max-age=300");
  const text = await answer.text();
  for (const word of [origin.url, "hidden", "probe-secret", "t0k", "reconcile"]) {
    assert.equal(text.includes(word), false, word);
  }
  const { operations, problems, retry, problem_url } = JSON.parse(text);
  const [payment, refund] = operations;
  assert.deepEqual([payment.name, refund.name], ["create_payment", "create_refund"]);
  assert.deepEqual(payment.match, ["POST /v1/payments"]);
  assert.deepEqual([payment.key[0].in, payment.key[0].name], ["header", "idempotency-key"]);
  assert.deepEqual([refund.key[0].in, refund.key[0].name], ["query", "batch"]);
  assert.deepEqual([payment.when_absent, refund.when_absent], ["refuse", "pass"]);
  assert.equal(payment.windows_ms["keep.for"], 24 * 3_600_000);
  assert.equal(problem_url, `${gate.url}${ROOT}/problems/{code}`);
  assert.equal(payment.status_url, `${gate.url}${ROOT}/status/create_payment{?reference}`);
  assert.match(retry[problems.in_progress.retry], /same key/);
});

test("what it tells is what happens", async () => {
  const { operations, problems, problem_url } = await (await gate.fetch(ROOT)).json();
  const statuses = operations[0].statuses;
  await pay(gate, "told");
  const other = await pay(gate, "told", {}, { amount: 2, currency: "EUR" });
  const problem = await refusal(gate, other, statuses.key_reused, "key_reused");
  assert.equal(statuses.key_reused, 422);
  assert.equal(problem.retry, problems.key_reused.retry);
  assert.equal(problem.type, problem_url.replace("{code}", "key_reused"));
  const reference = other.headers.get("Oncegate-Reference");
  const url = operations[0].status_url.replace("{?reference}", `?reference=${reference}`);
  const status = await fetch(url, { headers: { authorization: "Bearer demo" } });
  assert.equal((await status.json()).reference, reference);
});

test("every problem says where it is described", async () => {
  const answer = await gate.fetch("/v1/payments", { method: "POST" });
  const link = /^<([^>]+)>; rel="describedby"$/.exec(answer.headers.get("Link"));
  assert.equal(link?.[1], `${gate.url}${ROOT}`);
  assert.equal((await fetch(link[1])).status, 200);
});

test("HEAD is GET without the body, here and for a status; other methods get 405", async () => {
  await pay(gate, "head");
  const key = { authorization: "Bearer demo", "idempotency-key": "head" };
  for (const [path, headers] of [
    [ROOT, {}],
    [`${ROOT}/problems`, {}],
    [`${ROOT}/problems/duplicate`, {}],
    [`${ROOT}/status/create_payment`, key],
  ]) {
    const get = await gate.fetch(path, { headers });
    const head = await gate.fetch(path, { method: "HEAD", headers });
    assert.deepEqual([get.status, head.status], [200, 200], path);
    assert.ok((await get.text()).length > 0);
    assert.equal(await head.text(), "");
    for (const name of ["Content-Type", "Cache-Control"]) {
      assert.equal(head.headers.get(name), get.headers.get(name));
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PURGE"]) {
      const refused = await withoutTrace(gate, origin, () =>
        rawRequest(gate.url, { method, target: path, headers: Object.entries(headers) }),
      );
      assert.deepEqual([refused.status, refused.header("Allow")], [405, "GET, HEAD"], method);
    }
  }
});

test("there is nothing else below it, and what only starts alike is the origin's", async () => {
  await withoutTrace(gate, origin, async () => {
    for (const path of ["/", "/problem", "/problems/", "/statuses", "/status"]) {
      const answer = await gate.fetch(ROOT + path);
      await refusal(gate, answer, 404, "record_not_found");
    }
  });
  const seen = origin.requests.length;
  await gate.fetch(`${ROOT}-keys`);
  assert.equal(origin.requests.length, seen + 1);
});

test("an invalid policy is not published; its problem is explained all the same", async () => {
  for (const answer of [await broken.fetch(ROOT), await statusOf(broken, "k")]) {
    const problem = await refusal(broken, answer, 503, "gate_unavailable");
    const page = await fetch(problem.type);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /Status: 503/);
  }
});
