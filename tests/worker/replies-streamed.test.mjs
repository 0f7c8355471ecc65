// What streaming does not change: failures, statuses without a body, codings, what is kept and how,
// schools without replays, and how much memory a client that does not read may cost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { gateForTests } from "./support/fixture.mjs";
import { eventually, pay, refusal, stateOf } from "./support/gated.mjs";
import { operation, policyOf } from "./support/gate.mjs";
import { recordsOf, stateName } from "./support/records.mjs";
import { ask, bytesOf, fits, isFirst, isReplay } from "./support/replies.mjs";
import { MIB, runs, scripted } from "./support/replies.mjs";

const { answers, handler } = scripted();
const TYPE = "text/event-stream";

function gateWith(fields, options = {}) {
  const policy = policyOf([operation("create_payment", { stream: true, ...fields })]);
  return gateForTests({ policy, ...options }, { handler });
}

const it = gateWith({ retryable: [503] });
const guard = gateWith({ on_repeat: "refuse" });
const late = gateWith({ lease: "20s", origin_timeout: "200ms", while_running: "pending" });
const byReference = gateWith({ keep: { reply: "reference", fields: ["/id"] } });
const sealed = gateWith(
  { keep: { encrypt: true } },
  { vars: { ONCEGATE_RECORD_SECRET: "a secret of this test" } },
);

/** A final answer, as soon as the record has one. */
function storedOf({ gate }, key) {
  return eventually(async () => {
    const answer = await ask(gate, key);
    return answer.status !== 202 && answer;
  });
}

test("a failure is not passed on before it is stored whole, and is replayed", async () => {
  for (const status of [402, 422, 501]) {
    const key = `failed-${status}`;
    const body = Buffer.from(`{"failed":${status}}`);
    answers[key] = { status, headers: [["Content-Type", "application/json"]], body };
    const first = await ask(it.gate, key);
    isFirst(first, status);
    fits(first, body);
    const again = await ask(it.gate, key);
    isReplay(again, status);
    fits(again, body);
    assert.equal(runs(it.origin, key), 1);
  }
});

test("a failure that is cut is a failure whose reply is lost", async () => {
  answers.cut = (response) => {
    response.writeHead(422, { "Content-Type": "application/json" });
    response.write('{"fai', () => response.socket.destroy());
  };
  await refusal(it.gate, await ask(it.gate, "cut"), 502, "reply_unavailable", "executed");
  const problem = await refusal(it.gate, await ask(it.gate, "cut"), 409, "reply_unavailable");
  assert.equal(problem.original_status, 422);
  assert.equal(runs(it.origin, "cut"), 1);
});

test("an answer that may run again runs again, and then streams", async () => {
  answers.busy = { status: 503, headers: [["Content-Type", TYPE]], body: "data: busy\n\n" };
  const first = await ask(it.gate, "busy");
  assert.deepEqual([first.status, first.text()], [503, "data: busy\n\n"]);
  answers.busy = { status: 200, headers: [["Content-Type", TYPE]], body: "data: done\n\n" };
  isFirst(await ask(it.gate, "busy"), 200);
  const again = await storedOf(it, "busy");
  isReplay(again, 200);
  assert.equal(again.text(), "data: done\n\n");
  assert.equal(runs(it.origin, "busy"), 2);
});

test("a 500 with a stream is passed on whole and leaves the outcome unknown", async () => {
  answers.broken = { status: 500, headers: [["Content-Type", TYPE]], body: "data: oops\n\n" };
  const first = await ask(it.gate, "broken");
  assert.deepEqual([first.status, first.text()], [500, "data: oops\n\n"]);
  assert.equal(first.header("Oncegate-State"), "unknown");
  assert.equal((await ask(it.gate, "broken")).status, 202);
  assert.equal(runs(it.origin, "broken"), 1);
});

test("the origin's own word decides before anything is passed on", async () => {
  const headers = [["Content-Type", TYPE], ["Oncegate-Outcome", "unknown"]];
  answers.word = { status: 200, headers, body: "data: who knows\n\n" };
  const first = await ask(it.gate, "word");
  assert.deepEqual([first.status, first.text()], [200, "data: who knows\n\n"]);
  assert.equal(first.header("Oncegate-State"), "unknown");
  assert.equal(first.header("Oncegate-Outcome"), null);
  assert.equal((await ask(it.gate, "word")).status, 202);
  assert.equal(runs(it.origin, "word"), 1);
});

for (const status of [200, 204, 205]) {
  test(`${status} without a byte is stored as it is`, async () => {
    const key = `empty-${status}`;
    answers[key] = { status, headers: [["ETag", '"e"']], body: "" };
    const first = await ask(it.gate, key);
    isFirst(first, status);
    const again = await storedOf(it, key);
    isReplay(again, status);
    for (const answer of [first, again]) {
      assert.deepEqual([answer.body.length, answer.header("ETag")], [0, '"e"']);
    }
    assert.equal(runs(it.origin, key), 1);
  });
}

test("a stream that is coded arrives decodable, first and again", async () => {
  const plain = bytesOf(50_000);
  const headers = [["Content-Type", TYPE], ["Content-Encoding", "gzip"], ["ETag", '"g"']];
  answers.coded = { status: 200, headers, body: gzipSync(plain) };
  const first = await ask(it.gate, "coded", { "Accept-Encoding": "gzip" });
  isFirst(first, 200);
  fits(first, plain, answers.coded.body);
  const again = await storedOf(it, "coded");
  isReplay(again, 200);
  fits(again, plain, answers.coded.body);
});

test("where nothing is replayed the stream is passed on and its duplicate refused", async () => {
  answers.guard = { status: 200, headers: [["Content-Type", TYPE]], body: "data: 1\n\n" };
  const first = await ask(guard.gate, "guard");
  isFirst(first, 200);
  assert.equal(first.text(), "data: 1\n\n");
  await refusal(guard.gate, await storedOf(guard, "guard"), 409, "duplicate");
  assert.equal(runs(guard.origin, "guard"), 1);
});

test("by reference, a streamed document leaves its chosen members", async () => {
  const headers = [["Content-Type", "application/json"], ["Location", "/v1/payments/1"]];
  answers.fields = { status: 201, headers, body: '{"name":"Ada","id":"pay_1"}' };
  assert.equal((await ask(byReference.gate, "fields")).text(), '{"name":"Ada","id":"pay_1"}');
  const again = await storedOf(byReference, "fields");
  isReplay(again, 201);
  assert.deepEqual([again.text(), again.header("Location")], ['{"id":"pay_1"}', "/v1/payments/1"]);
});

test("encrypted: nothing of it is on disk in the clear, neither on the way nor after", async () => {
  const { gate, origin } = sealed;
  const { promise: started, resolve } = Promise.withResolvers();
  answers.sealed = (response) => {
    response.writeHead(200, { "Content-Type": TYPE, Link: "</secret-link>; rel=self" });
    response.write("data: secret-event\n\n");
    resolve(response);
  };
  const asked = pay(gate, "sealed");
  const response = await started;
  const first = await asked;
  const states = () => recordsOf(gate).map(({ record }) => stateName(record));
  assert.deepEqual(states(), ["in_progress"]);
  const onDisk = () => gate.objects().flatMap(({ kv }) => kv.map(({ value }) => `${value}`));
  assert.equal(JSON.stringify(onDisk()).includes("secret"), false);
  response.end("data: end\n\n");
  assert.equal(await first.text(), "data: secret-event\n\ndata: end\n\n");
  const again = await storedOf(sealed, "sealed");
  isReplay(again, 200);
  assert.equal(again.text(), "data: secret-event\n\ndata: end\n\n");
  assert.equal(again.header("Link"), "</secret-link>; rel=self");
  assert.equal(JSON.stringify(onDisk()).includes("secret"), false);
  assert.equal(runs(origin, "sealed"), 1);
});

test("a head that comes after the time-out is evidence: not streamed, but replayed", async () => {
  const { gate, origin } = late;
  const { promise: asked, resolve } = Promise.withResolvers();
  answers.late = (response) => resolve(response);
  const first = await pay(gate, "late");
  await refusal(gate, first, 504, "origin_timeout", "unknown");
  const response = await asked;
  response.writeHead(200, { "Content-Type": TYPE });
  response.write("data: 1\n\n");
  assert.equal((await pay(gate, "late")).status, 202);
  response.end("data: 2\n\n");
  const again = await storedOf(late, "late");
  isReplay(again, 200);
  assert.equal(again.text(), "data: 1\n\ndata: 2\n\n");
  assert.equal(runs(origin, "late"), 1);
});

test("a client that does not read costs the gate a few MiB, however much there is", async () => {
  const { gate, origin } = it;
  const piece = bytesOf(MIB);
  let sent = 0;
  const { promise: stuck, resolve } = Promise.withResolvers();
  answers.endless = async (response) => {
    response.writeHead(200, { "Content-Type": TYPE });
    while (!response.destroyed) {
      const drained = new Promise((next) => response.write(piece, next));
      const idle = new Promise((next) => setTimeout(next, 1500, "idle"));
      if ((await Promise.race([drained, idle])) === "idle") break;
      sent += 1;
    }
    resolve();
    return true;
  };
  const leave = new AbortController();
  const headers = { authorization: "Bearer demo", "idempotency-key": "endless" };
  const init = { method: "POST", headers, body: "{}", signal: leave.signal };
  const first = await gate.fetch("/v1/payments", init);
  assert.equal(first.status, 200);
  await stuck;
  assert.ok(sent < 48, `the gate took ${sent} MiB that nobody reads`);
  leave.abort();
  await assert.rejects(first.arrayBuffer());
  const { state } = await eventually(async () => {
    const status = await stateOf(gate, "endless");
    return status.state !== "in_progress" && status;
  });
  assert.equal(state, "completed");
  assert.equal(runs(origin, "endless"), 1);
});
