// Bodies that are refused: too long by Content-Length or in chunks, malformed JSON, broken off.
// Nothing of them reaches the origin and nothing is stored.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTHORISED } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, refusal, responseOf, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf } from "./support/gate.mjs";
import { rawRequest } from "./support/http.mjs";

const LIMIT = 64 * 1024;
const policy = policyOf([
  operation("create_payment", { max_body: "64KiB" }),
  operation("upload", { match: "PUT /upload", max_body: "64KiB" }),
]);
const it = gateForTests({ policy }, { handler: upload });

function upload({ path, body }) {
  if (path !== "/upload") return undefined;
  return { status: 200, headers: {}, body: String(body.length) };
}

function send(key, body, { method = "PUT", target = "/upload", headers = [], ...rest } = {}) {
  const keyed = [...Object.entries(AUTHORISED), ["Idempotency-Key", key], ...headers];
  return rawRequest(it.gate.url, { method, target, headers: keyed, body, ...rest });
}

function* chunks(size, each = 10_000) {
  for (let left = size; left > 0; left -= each) yield Buffer.alloc(Math.min(left, each), "x");
}

async function tooLarge(key, body, more) {
  const { gate, origin } = it;
  const answer = await withoutTrace(gate, origin, () => send(key, body, more));
  const problem = await refusal(gate, answer, 413, "body_too_large");
  assert.equal(problem.retry, "after-fixing");
  assert.match(problem.detail, /65536/);
}

test("max_body counts by Content-Length: one byte more is refused", async () => {
  await tooLarge("sized", Buffer.alloc(LIMIT + 1, "x"));
  const answer = responseOf(await send("sized", Buffer.alloc(LIMIT, "x")));
  assert.equal((await executed(answer, 200)).body, String(LIMIT));
});

test("max_body counts in chunks: one byte more is refused", async () => {
  await tooLarge("chunked", chunks(LIMIT + 1));
  const answer = responseOf(await send("chunked", chunks(LIMIT)));
  assert.equal((await executed(answer, 200)).body, String(LIMIT));
});

test("a declared length is enough to refuse: the body is not waited for", async () => {
  const { gate, origin } = it;
  await withoutTrace(gate, origin, async () => {
    const headers = [["Content-Length", "1000000000"]];
    const answer = await send("declared", "only the start", { headers, timeout: 5000 });
    await refusal(gate, answer, 413, "body_too_large");
  });
});

for (const [what, body] of [
  ["cut short", '{"amount": 1000'],
  ["no JSON at all", "amount=1000"],
  ["two documents", "{}{}"],
  ["a comma too many", '{"amount": 1000,}'],
  ["a member twice", '{"amount": 1, "amount": 2}'],
  ["a member twice after unescaping", '{"amount": 1, "\\u0061mount": 2}'],
  ["a lone surrogate", '{"a": "\\ud800"}'],
  ["not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ["a number that is none", '{"amount": 01}'],
  ["white space only", "  \n"],
  ["too deep", "[".repeat(20_000) + "]".repeat(20_000)],
]) {
  test(`malformed JSON: ${what}`, async () => {
    const { gate, origin } = it;
    const type = ["Content-Type", "application/json"];
    const more = { method: "POST", target: "/v1/payments", headers: [type] };
    const before = gate.objects().map(({ rows }) => rows);
    const count = origin.requests.length;
    const problem = await refusal(gate, await send("json", body, more), 400, "command_malformed");
    assert.equal(problem.retry, "after-fixing");
    assert.equal(origin.requests.length, count);
    const stored = gate.objects().filter(({ rows, alarm }) => rows > 0 || alarm !== null);
    assert.equal(stored.length, before.filter((rows) => rows > 0).length, "nothing is stored");
  });
}

test("a key whose body was refused is free for a good one", async () => {
  const type = ["Content-Type", "application/json"];
  const more = { method: "POST", target: "/v1/payments", headers: [type] };
  const good = await send("json", '{"amount":1000,"currency":"EUR"}', more);
  await executed(responseOf(good));
});

test("an empty body is the empty command, however it is framed", async () => {
  const { origin } = it;
  const count = origin.requests.length;
  const answers = [
    await send("empty", undefined),
    await send("empty", undefined, { headers: [["Content-Length", "0"]] }),
    await send("empty", []),
  ];
  for (const { status } of answers) assert.equal(status, 200);
  assert.deepEqual(
    answers.map((answer) => answer.header("Idempotency-Replayed")),
    [null, "true", "true"],
  );
  assert.equal(origin.requests.length, count + 1);
});

test("an empty body is not malformed JSON", async () => {
  const headers = [["Content-Type", "application/json"]];
  const answer = responseOf(await send("empty-json", undefined, { headers }));
  await executed(answer, 200);
});
