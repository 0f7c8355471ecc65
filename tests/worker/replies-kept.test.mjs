// What is kept of a reply, by policy: all, chosen members, or nothing but the outcome; chosen
// headers; and when it was recorded. What is not kept is nowhere in the storage.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { gateForTests } from "./support/fixture.mjs";
import { pay, refusal, stateOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { settledAnswer, startLookup } from "./support/recovery.mjs";
import { found, PROBE_SECRET, reconcile } from "./support/recovery.mjs";
import { ask, bytesOf, fits, isFirst, isReplay } from "./support/replies.mjs";
import { lines, MIB, runs, scripted } from "./support/replies.mjs";

const { answers, handler } = scripted();

function gateWith(keep, fields = {}) {
  const policy = policyOf([operation("create_payment", { keep, ...fields })]);
  return gateForTests({ policy }, { handler });
}

const CHOSEN = ["/id", "/card/last4", "/card/brand", "/lines", "/amount"];
const reference = gateWith({ reply: "reference", fields: CHOSEN, headers: ["Request-Id"] });
const bare = gateWith({ reply: "reference" });
const nothing = gateWith({ reply: "none" });
const cookies = gateWith({ headers: ["Set-Cookie", "X-Trace", "Vary"] });

const DOCUMENT = `{ "name": "Ada Lovelace", "amount": 10.00, "id": "pay_1",
  "card": { "pan": "4111111111111111", "last4": "1111", "brand": "visa" },
  "lines": [ {"sku": "A", "note": "for Ada"} ], "email": "ada@example.com" }`;
const KEPT =
  `{"id":"pay_1","card":{"last4":"1111","brand":"visa"},` +
  `"lines":[ {"sku": "A", "note": "for Ada"} ],"amount":10.00}`;
const HEADERS = [
  ["Content-Type", "application/vnd.acme+json"],
  ["Location", "/v1/payments/pay_1"],
  ["ETag", '"secret-tag"'],
  ["Link", "</people/ada-lovelace>; rel=owner"],
  ["Request-Id", "req_1"],
  ["Set-Cookie", "sid=secret-cookie"],
];

/** Nothing of these words is in the pairs or the files of any object. */
function areNowhere({ gate }, words) {
  for (const { kv } of gate.objects()) {
    for (const { key, value } of kv) {
      for (const word of words) assert.equal(value.includes(word), false, `${word} in ${key}`);
    }
  }
}

async function first(at, key, answer) {
  answers[key] = answer;
  const response = await ask(at.gate, key);
  isFirst(response, answer.status);
  return response;
}

/** Repeats get the outcome, with the original status and place, and no reply. */
async function isUnavailable(at, key, status, location) {
  const problem = await refusal(at.gate, await ask(at.gate, key), 409, "reply_unavailable");
  assert.deepEqual([problem.original_status, problem.location], [status, location]);
  assert.equal(runs(at.origin, key), 1);
}

test("by reference: the first answer is whole, a replay has the chosen members", async () => {
  for (const [key, coding] of [["plain", []], ["coded", [["Content-Encoding", "gzip"]]]]) {
    const body = key === "coded" ? gzipSync(DOCUMENT) : DOCUMENT;
    const answer = { status: 201, headers: [...HEADERS, ...coding], body };
    const given = await first(reference, key, answer);
    fits(given, Buffer.from(DOCUMENT), Buffer.from(body));
    const again = await ask(reference.gate, key);
    isReplay(again, 201);
    assert.equal(again.text(), KEPT);
    assert.equal(again.header("Content-Type"), "application/json");
    assert.equal(again.header("Location"), "/v1/payments/pay_1");
    assert.equal(again.header("Request-Id"), "req_1");
    for (const name of ["ETag", "Link", "Set-Cookie"]) assert.equal(again.header(name), null);
    assert.equal(runs(reference.origin, key), 1);
  }
  const words = ["Lovelace", "lovelace", "4111111111111111", "example.com", "secret"];
  areNowhere(reference, words);
});

test("by reference: a failure keeps the chosen members too", async () => {
  const body = '{"id":"pay_1","reason":"Ada has no money"}';
  const headers = [["Content-Type", "application/json"]];
  await first(reference, "failure", { status: 402, headers, body });
  const again = await ask(reference.gate, "failure");
  isReplay(again, 402);
  assert.equal(again.text(), '{"id":"pay_1"}');
  areNowhere(reference, ["Ada has no money"]);
});

test("by reference: a body that is no JSON object keeps nothing, nor one too long", async () => {
  const bodies = {
    text: "Ada Lovelace paid",
    array: '[{"id":"Ada"}]',
    string: '"Ada"',
    torn: '{"id":"Ada","na',
    twice: '{"id":"Ada"}{"id":"Ada"}',
    latin: Buffer.from('{"id":"Ad\xe4a"}', "latin1"),
    empty: "",
    long: `{"id":"Ada","note":"${"x".repeat(4 * MIB)}"}`,
  };
  for (const [key, body] of Object.entries(bodies)) {
    const given = await first(reference, key, { status: 201, headers: HEADERS, body });
    fits(given, Buffer.from(body));
    await isUnavailable(reference, key, 201, "/v1/payments/pay_1");
  }
  areNowhere(reference, ["Ada Lovelace", '"Ada"', "Ad\u00e4a", "xxxx"]);
});

test("by reference without fields: status, place and reference", async () => {
  await first(bare, "bare", { status: 201, headers: HEADERS, body: DOCUMENT });
  await isUnavailable(bare, "bare", 201, "/v1/payments/pay_1");
  areNowhere(bare, ["Lovelace", "4111", "secret", "req_1"]);
});

test("none: the first answer is whole whatever its size, and nothing of it stays", async () => {
  const long = bytesOf(3 * MIB);
  for (const [key, body] of [["none", Buffer.from(DOCUMENT)], ["none-long", long]]) {
    const given = await first(nothing, key, { status: 201, headers: HEADERS, body });
    fits(given, body);
    assert.deepEqual(lines(given, "Set-Cookie"), ["sid=secret-cookie"]);
    await isUnavailable(nothing, key, 201, "/v1/payments/pay_1");
    assert.equal((await stateOf(nothing.gate, key)).state, "completed");
  }
  for (const { kv } of nothing.gate.objects()) assert.equal(kv.length, 1);
  areNowhere(nothing, ["Lovelace", "4111", "secret-cookie", "req_1"]);
});

test("headers that are named are kept: both cookies, each by itself, and no other", async () => {
  const set = ["sid=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT; Path=/", "csrf=a,b; HttpOnly"];
  const headers = [
    ...set.map((cookie) => ["Set-Cookie", cookie]),
    ["X-Trace", "a"],
    ["X-Trace", "b"],
    ["Vary", "Origin"],
    ["X-Other", "1"],
  ];
  await first(cookies, "cookies", { status: 200, headers, body: "{}" });
  await cookies.gate.kill();
  const again = await ask(cookies.gate, "cookies");
  isReplay(again, 200);
  assert.deepEqual(lines(again, "Set-Cookie"), set);
  assert.equal(again.header("X-Trace"), "a, b");
  assert.equal(again.header("Vary"), "Origin");
  assert.equal(again.header("X-Other"), null);
});

test("every replay tells when the first answer was recorded", async () => {
  const { gate } = cookies;
  const before = Date.now();
  await first(cookies, "recorded", { status: 200, headers: [], body: "{}" });
  const after = Date.now();
  const times = new Set();
  for (const lose of [() => {}, () => gate.evict(), () => gate.kill()]) {
    await lose();
    times.add((await ask(gate, "recorded")).header("Oncegate-Recorded"));
  }
  assert.equal(times.size, 1);
  const recorded = Date.parse([...times][0]);
  assert.ok(before <= recorded && recorded <= after, `${before} ${recorded} ${after}`);
});

test("replays carry the Date of now, not that of the first answer", async () => {
  const { gate } = cookies;
  const old = "Mon, 01 Jan 2001 00:00:00 GMT";
  const given = await first(cookies, "dated", { status: 200, headers: [["Date", old]], body: "" });
  assert.equal(given.header("Date"), old);
  const again = await ask(gate, "dated");
  isReplay(again, 200);
  const age = Date.now() - Date.parse(again.header("Date"));
  assert.ok(age >= -1000 && age < 60_000, `Date: ${again.header("Date")}`);
});

for (const [keep, body] of [
  [{ reply: "reference", fields: ["/id"] }, '{"id":"pay_1"}'],
  [{ reply: "none" }, undefined],
]) {
  test(`a receipt rebuilt by a probe is kept as ${keep.reply} says`, async () => {
    const origin = await startLookup();
    const recovery = reconcile();
    const times = { lease: "2s", origin_timeout: "1s" };
    const policy = policyOf([operation("create_payment", { ...times, recovery, keep })]);
    const gate = await startGate({ origin, policy, vars: PROBE_SECRET });
    try {
      const hold = origin.holdProbes("rebuilt", { when: "before" });
      const answer = await pay(gate, "rebuilt", { "Demo-Fail": "after:500" });
      const name = answer.headers.get("Oncegate-Reference");
      await hold.reached;
      hold.release(found(name, { payer: "Ada Lovelace" }));
      const settled = await settledAnswer(gate, "rebuilt");
      if (body === undefined) await refusal(gate, settled, 409, "reply_unavailable");
      else assert.deepEqual([settled.status, await settled.text()], [201, body]);
      areNowhere({ gate }, ["Lovelace"]);
      assert.equal(origin.ledger.count(), 1);
    } finally {
      await gate.dispose();
      await origin.close();
    }
  });
}
