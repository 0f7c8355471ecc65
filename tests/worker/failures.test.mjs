// Failures of the origin that are certain: which are final, which free the key, and which leave
// nothing behind. The origin's own word comes first.

import assert from "node:assert/strict";
import { test } from "node:test";

import { json } from "../../demo/answers.mjs";
import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, pay, payRaw, pending, receiptOf, replayed } from "./support/gated.mjs";
import { refusal, stateOf, statusOf } from "./support/gated.mjs";

const it = gateForTests();

/** What a first request gets that the origin answers like this. */
async function answeredBy(key, answer) {
  const { gate, origin } = it;
  const hold = origin.hold("POST /v1/payments", { when: "before" });
  const first = payRaw(gate, key);
  await hold.reached;
  hold.release(answer);
  return first;
}

for (const status of [400, 402, 404, 409, 410, 422, 451, 501, 505]) {
  test(`${status} is final: repeats get it from the record`, async () => {
    const { gate, origin } = it;
    const answer = json(status, { code: "no" }, [["Location", "/why"]]);
    const first = await answeredBy(`final-${status}`, answer);
    const receipt = await executed(first, status);
    const count = origin.requests.length;
    await replayed(await pay(gate, `final-${status}`), receipt);
    const { state, outcome } = await stateOf(gate, `final-${status}`);
    assert.deepEqual([state, outcome], ["failed_replayable", "failed"]);
    assert.equal(origin.requests.length, count);
  });
}

for (const status of [415, 421, 425, 429, 307, 308]) {
  test(`${status} frees the key: the same command runs again as attempt 2`, async () => {
    const { gate, origin } = it;
    const headers = [["Location", `${origin.url}/v1/elsewhere`]];
    const { effects } = await effectsIn(origin, async () => {
      const count = origin.requests.length;
      const first = await answeredBy(`again-${status}`, json(status, {}, headers));
      const receipt = await executed(first, status);
      assert.equal(receipt.Location, `${origin.url}/v1/elsewhere`, "passed on, not followed");
      assert.equal((await stateOf(gate, `again-${status}`)).state, "failed_retryable");
      const second = await executed(await pay(gate, `again-${status}`));
      await replayed(await pay(gate, `again-${status}`), second);
      const calls = origin.requests.slice(count);
      assert.deepEqual(
        calls.map((call) => [call.path, call.header("Oncegate-Attempt")]),
        [
          ["/v1/payments", "1"],
          ["/v1/payments", "2"],
        ],
      );
      const references = calls.map((call) => call.header("Oncegate-Reference"));
      assert.equal(references[0], references[1]);
      assert.equal((await stateOf(gate, `again-${status}`)).attempt, 2);
    });
    assert.deepEqual(
      effects.map(({ attempt }) => attempt),
      [2],
    );
  });
}

for (const status of [401, 403, 407]) {
  test(`${status} leaves nothing behind: the key is as if it had never been used`, async () => {
    const { gate, origin } = it;
    const key = `nobody-${status}`;
    const challenge = [["WWW-Authenticate", 'Bearer realm="origin"']];
    const first = await answeredBy(key, json(status, { code: "who" }, challenge));
    const receipt = await executed(first, status);
    assert.deepEqual(JSON.parse(receipt.body), { code: "who" });
    assert.equal(first.headers.get("WWW-Authenticate"), 'Bearer realm="origin"');
    assert.equal((await statusOf(gate, key)).status, 404);
    const full = gate.objects().filter(({ rows, alarm }) => rows > 0 || alarm !== null);
    const { effects } = await effectsIn(origin, async () => {
      const other = { amount: 5, currency: "EUR" };
      await executed(await pay(gate, key, {}, other));
    });
    assert.deepEqual(
      effects.map(({ amount, attempt }) => [amount, attempt]),
      [[5, 1]],
    );
    const now = gate.objects().filter(({ rows }) => rows > 0);
    assert.equal(now.length, full.length + 1, "before, its object was empty");
  });
}

test("a 303 is a success and is replayed; it is not followed", async () => {
  const { gate, origin } = it;
  const answer = { status: 303, headers: [["Location", "/v1/payments/pay_1"]], body: "" };
  const count = origin.requests.length;
  const receipt = await executed(await answeredBy("303", answer), 303);
  assert.equal(receipt.Location, "/v1/payments/pay_1");
  await replayed(await pay(gate, "303"), receipt);
  assert.equal((await stateOf(gate, "303")).state, "completed");
  assert.equal(origin.requests.length, count + 1);
});

test("those who wait for an attempt that came to nothing come back, and one runs", async () => {
  const { gate, origin } = it;
  const count = origin.requests.length;
  const hold = origin.hold("POST /v1/payments", { when: "before" });
  const first = pay(gate, "waiters");
  await hold.reached;
  const waiting = Array.from({ length: 10 }, () => pay(gate, "waiters"));
  hold.release(json(429, {}));
  assert.equal((await first).status, 429);
  const answers = await Promise.all(waiting);
  // Whoever came after the 429 was recorded may be the second attempt; nobody else is.
  const ran = answers.filter(({ status }) => status === 201);
  assert.ok(origin.requests.length - count <= 2, "at most one further attempt");
  assert.ok(ran.length === 0 || origin.requests.length - count === 2);
  for (const each of answers.filter(({ status }) => status !== 201)) {
    await pending(gate, each, "in-progress");
  }
  assert.equal((await pay(gate, "waiters")).status, 201);
  assert.equal(origin.requests.length, count + 2);
});

test("the origin's own word on the outcome is obeyed, and never reaches the client", async () => {
  const { gate, origin } = it;
  for (const [word, fail, state, repeat] of [
    ["completed", "after:500", "completed", 500],
    ["failed", "before:503", "failed_replayable", 503],
    ["retry", "before:409", "failed_retryable", 201],
    ["unknown", "after:422", "unknown", 202],
  ]) {
    const headers = { "Demo-Outcome": word, "Demo-Fail": fail };
    const { effects } = await effectsIn(origin, async () => {
      const first = await pay(gate, `word-${word}`, headers);
      assert.equal(first.status, Number(fail.split(":")[1]));
      assert.equal(first.headers.get("Oncegate-Outcome"), null);
      const told = state === "unknown" ? "unknown" : "executed";
      assert.equal(first.headers.get("Oncegate-State"), told);
      assert.equal((await stateOf(gate, `word-${word}`)).state, state);
      const second = await pay(gate, `word-${word}`);
      assert.equal(second.status, repeat, word);
      assert.equal(second.headers.get("Oncegate-Outcome"), null);
    });
    assert.equal(effects.length, fail.startsWith("after") || word === "retry" ? 1 : 0, word);
  }
});

test("a word of the origin that is none of the four changes nothing", async () => {
  const { gate } = it;
  const odd = json(201, { id: "x" }, [["Oncegate-Outcome", "done"]]);
  const receipt = await executed(await answeredBy("odd", odd));
  await replayed(await pay(gate, "odd"), receipt);
  await gate.log(/Oncegate-Outcome is none of completed, failed, retry, unknown/);
});

test("a failed second attempt of a key that was free is final too", async () => {
  const { gate } = it;
  await answeredBy("twice", json(429, {}));
  const second = await answeredBy("twice", json(422, { code: "no" }));
  const receipt = await receiptOf(second);
  await replayed(await pay(gate, "twice"), receipt);
  const other = await pay(gate, "twice", {}, { amount: 3, currency: "EUR" });
  await refusal(gate, other, 409, "key_reused");
});
