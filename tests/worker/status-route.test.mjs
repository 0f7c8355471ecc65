// The status of an operation: by key and by reference, for its own principal, and nothing of the
// reply.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTHORISED, postTo } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { eventually, executed, pay, pending, refusal } from "./support/gated.mjs";
import { STATUS, stateOf, statusOf, withoutTrace } from "./support/gated.mjs";
import { operation, payments, policyOf } from "./support/gate.mjs";

const LIFE = { for: "300ms", tombstone: "30s" };
const TIMES = { lease: "1500ms", origin_timeout: "1s", while_running: "pending" };
const policy = {
  ...payments(TIMES),
  ...policyOf([operation("create_refund", { ...TIMES, keep: LIFE })]),
  ...policyOf([operation("open", { match: "POST /open/{id}", principal: "none" })]),
  ...policyOf([operation("shared", { match: "POST /shared", key: ["query:id"] })]),
};
const it = gateForTests({ policy }, { handler });

function handler({ path }) {
  const own = path.startsWith("/open/") || path === "/shared" || path === "/v1/refunds";
  return own ? { status: 200, headers: {}, body: "done" } : undefined;
}

test("by key and by reference it tells the same, and no body", async () => {
  const { gate } = it;
  const receipt = await executed(await pay(gate, "k"));
  const reference = receipt["Oncegate-Reference"];
  const byKey = await statusOf(gate, "k");
  assert.equal(byKey.headers.get("Cache-Control"), "no-store");
  assert.match(byKey.headers.get("Content-Type"), /^application\/json/);
  const told = await byKey.json();
  const { since, ...rest } = told;
  assert.deepEqual(rest, {
    operation: "create_payment",
    reference,
    state: "completed",
    outcome: "completed",
    attempt: 1,
  });
  assert.ok(Math.abs(Date.now() - new Date(since)) < 60_000, since);
  assert.deepEqual(await stateOf(gate, { reference }), told);
});

test("the quoted spelling of the key finds the same record", async () => {
  const { gate } = it;
  await pay(gate, "quoted");
  assert.deepEqual(await stateOf(gate, '"quoted"'), await stateOf(gate, "quoted"));
});

test("every state has its name here", async () => {
  const { gate, origin } = it;
  const hold = origin.hold((request) => request.header("Idempotency-Key") === "running");
  const running = pay(gate, "running");
  await hold.reached;
  assert.equal((await stateOf(gate, "running")).state, "in_progress");
  assert.equal((await stateOf(gate, "running")).outcome, null);
  hold.release();
  await running;
  for (const [key, fail, state, outcome] of [
    ["final", "before:422", "failed_replayable", "failed"],
    ["busy", "before:429", "failed_retryable", "failed"],
    ["who-knows", "after:500", "unknown", "unknown"],
  ]) {
    await pay(gate, key, { "Demo-Fail": fail });
    const told = await stateOf(gate, key);
    assert.deepEqual([told.state, told.outcome], [state, outcome]);
  }
});

test("the Location of a 202 is the way there", async () => {
  const { gate } = it;
  await pay(gate, "202", { "Demo-Fail": "after:500" });
  const { status_url, reference } = await pending(gate, await pay(gate, "202"), "unknown");
  const answer = await fetch(status_url, { headers: AUTHORISED });
  assert.equal(answer.status, 200);
  const told = await answer.json();
  assert.deepEqual([told.reference, told.state], [reference, "unknown"]);
});

test("it still tells after the reply window has passed", async () => {
  const { gate } = it;
  const headers = { "Idempotency-Key": "old" };
  const answer = await postTo(gate, "/v1/refunds", { payment: "p", amount: 1 }, headers);
  const reference = answer.headers.get("Oncegate-Reference");
  const by = { operation: "create_refund" };
  await eventually(async () => (await stateOf(gate, "old", by)).state === "expired");
  assert.equal((await stateOf(gate, { reference }, by)).outcome, "completed");
});

test("another principal, an unknown key, a made-up reference: 404, all alike", async () => {
  const { gate, origin } = it;
  const receipt = await executed(await pay(gate, "mine"));
  const reference = receipt["Oncegate-Reference"];
  const other = { headers: { authorization: "Bearer other" } };
  const lastDigit = reference.at(-1) === "0" ? "1" : "0";
  const nonce = `${reference.slice(0, -1)}${lastDigit}`;
  const count = origin.requests.length;
  const answers = [
    await statusOf(gate, "mine", other),
    await statusOf(gate, { reference }, other),
    await statusOf(gate, "nobody-used-this"),
    await statusOf(gate, { reference: nonce }),
    await statusOf(gate, { reference: "og_x" }),
    await statusOf(gate, { reference: "" }),
    await statusOf(gate, { reference }, { operation: "create_refund" }),
    await statusOf(gate, "mine", { operation: "no_such_operation" }),
  ];
  for (const answer of answers) {
    const problem = await refusal(gate, answer, 404, "record_not_found");
    assert.equal(problem.reference, undefined);
  }
  assert.equal(origin.requests.length, count, "the status route never asks the origin");
});

test("it needs what the operation needs: credentials and a well-formed key", async () => {
  const { gate, origin } = it;
  await withoutTrace(gate, origin, async () => {
    const path = `${STATUS}/create_payment`;
    const ask = (headers, query = "") => gate.fetch(path + query, { headers });
    const key = { "idempotency-key": "k" };
    await refusal(gate, await ask(key), 401, "principal_missing");
    await refusal(gate, await ask({}, "?reference=og_x"), 401, "principal_missing");
    await refusal(gate, await ask(AUTHORISED), 400, "key_missing");
    const half = { ...AUTHORISED, "idempotency-key": '"k' };
    await refusal(gate, await ask(half), 400, "key_malformed");
  });
});

test("without a principal it answers everybody; a query key is read from the query", async () => {
  const { gate } = it;
  const send = (path, headers = {}) => gate.fetch(path, { method: "POST", headers, body: "x" });
  await (await send("/open/1", { "idempotency-key": "k" })).text();
  const open = await gate.fetch(`${STATUS}/open`, { headers: { "idempotency-key": "k" } });
  assert.equal((await open.json()).state, "completed");
  await (await send("/shared?id=7", AUTHORISED)).text();
  const shared = await gate.fetch(`${STATUS}/shared?id=7`, { headers: AUTHORISED });
  assert.equal((await shared.json()).state, "completed");
});

test("only GET and HEAD, and never the origin: the gate's own paths end at the gate", async () => {
  const { gate, origin } = it;
  await withoutTrace(gate, origin, async () => {
    const post = await gate.fetch(`${STATUS}/create_payment`, { method: "POST" });
    assert.equal(post.status, 405);
    assert.equal(post.headers.get("Allow"), "GET, HEAD");
    for (const path of ["/.oncegate", "/.oncegate/", "/.oncegate/records", "/.%6fncegate/x"]) {
      assert.equal((await gate.fetch(path)).status, 404, path);
    }
  });
});
