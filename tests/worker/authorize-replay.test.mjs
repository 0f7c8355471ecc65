// Asking the origin before anything stored is given out: withdrawn credentials get its refusal.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn, PAYMENT } from "./support/demo.mjs";
import { executed, pay, refusal, replayed, statusOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

const ALLOWED = { status: 200, body: "{}" };

let origin;
let gate;
let acknowledging;
/** What the origin says about a caller, and what it was asked. */
let verdict = ALLOWED;
let asked = [];
const handler = (request, response) => {
  if (!request.target.startsWith("/v1/me")) return undefined;
  asked.push(request);
  return typeof verdict === "function" ? verdict(response) : verdict;
};
before(async () => {
  origin = await startOrigin({ handler });
  const fields = { authorize_replay: "GET /v1/me?full=1", origin_timeout: "1s" };
  const policy = (more) => policyOf([operation("create_payment", { ...fields, ...more })]);
  gate = await startGate({ origin, policy: policy() });
  acknowledging = await startGate({ origin, policy: policy({ on_repeat: "acknowledge" }) });
});
beforeEach(() => {
  verdict = ALLOWED;
  asked = [];
});
after(async () => {
  await gate?.dispose();
  await acknowledging?.dispose();
  await origin?.close();
});

test("the first answer needs no asking; a replay is asked about with the caller's headers", async () => {
  const headers = { "X-Tenant": "t-1", cookie: "sid=1", "If-None-Match": '"x"' };
  const receipt = await executed(await pay(gate, "asked", headers));
  assert.equal(asked.length, 0);
  await replayed(await pay(gate, "asked", headers), receipt);
  assert.equal(asked.length, 1);
  const [question] = asked;
  assert.equal(question.method, "GET");
  assert.equal(question.target, "/v1/me?full=1");
  assert.equal(question.header("Authorization"), "Bearer demo");
  assert.equal(question.header("Cookie"), "sid=1");
  assert.equal(question.header("X-Tenant"), "t-1");
  for (const name of ["Idempotency-Key", "Content-Type", "If-None-Match", "Oncegate-Reference"]) {
    assert.ok(!question.header(name), `${name} speaks of another request`);
  }
});

test("a refusal of the origin is passed on, with no receipt and no second effect", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const receipt = await executed(await pay(gate, "revoked"));
    for (const status of [401, 403]) {
      const headers = { "Content-Type": "text/plain", "WWW-Authenticate": 'Bearer realm="o"' };
      verdict = { status, body: "token revoked", headers };
      const answer = await pay(gate, "revoked");
      assert.equal(answer.status, status);
      assert.equal(await answer.text(), "token revoked");
      assert.equal(answer.headers.get("WWW-Authenticate"), 'Bearer realm="o"');
      assert.equal(answer.headers.get("Oncegate-State"), "refused");
      assert.equal(answer.headers.get("Cache-Control"), "no-store");
      assert.equal(answer.headers.get("Location"), null);
      const byStatus = await statusOf(gate, "revoked");
      assert.equal(byStatus.status, status, "the status page is for the same callers");
    }
    verdict = ALLOWED;
    await replayed(await pay(gate, "revoked"), receipt);
  });
  assert.equal(effects.length, 1);
});

test("what is no answer of the origin about the caller gives nothing out", async () => {
  await executed(await pay(gate, "unsure"));
  for (const [given, status, code] of [
    [{ status: 302, body: "", headers: { Location: "/login" } }, 403, "principal_invalid"],
    [{ status: 500, body: "" }, 503, "gate_unavailable"],
    [{ status: 404, body: "" }, 503, "gate_unavailable"],
    [{ status: 429, body: "" }, 503, "gate_unavailable"],
    [(response) => (response.destroy(), true), 503, "gate_unavailable"],
    [() => true, 503, "gate_unavailable"],
  ]) {
    verdict = given;
    const problem = await refusal(gate, await pay(gate, "unsure"), status, code);
    assert.equal("location" in problem, false);
  }
});

test("a waiting request is asked about like any other replay", async () => {
  verdict = { status: 403, body: "no" };
  const held = origin.hold((request) => request.header("Idempotency-Key") === "waiting");
  const first = pay(gate, "waiting");
  await held.reached;
  const second = pay(gate, "waiting");
  held.release();
  await executed(await first);
  const answer = await second;
  assert.equal(answer.status, 403);
  assert.equal(await answer.text(), "no");
});

test("an acknowledgement is given out only where the origin allows it", async () => {
  const made = await pay(acknowledging, "ack");
  assert.equal(made.status, 201);
  verdict = { status: 403, body: "no" };
  assert.equal((await pay(acknowledging, "ack")).status, 403);
  verdict = ALLOWED;
  const answer = await pay(acknowledging, "ack");
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get("Oncegate-State"), "acknowledged");
});

test("another command is refused without asking: it is told nothing", async () => {
  await executed(await pay(gate, "other"));
  verdict = { status: 403, body: "no" };
  const answer = await pay(gate, "other", {}, { ...PAYMENT, amount: 1 });
  await refusal(gate, answer, 409, "key_reused");
  assert.equal(asked.length, 0);
});
