// Keys that are no key, and requests from nobody: refused before any object exists and before the
// origin hears of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTHORISED, PAYMENT } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { refusal, responseOf, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf } from "./support/gate.mjs";
import { rawRequest } from "./support/http.mjs";

const policy = policyOf([
  operation("create_payment"),
  operation("queried", { match: "POST /queried", key: ["query:id"] }),
  operation("anyone", { match: "POST /anyone", principal: "authorization:any" }),
]);
const it = gateForTests({ policy });
const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";

/** A raw POST with exactly these headers besides the type; text goes out as Latin-1 bytes. */
async function post(headers, target = "/v1/payments") {
  const all = [["Content-Type", "application/json"], ...headers];
  const body = JSON.stringify(PAYMENT);
  return rawRequest(it.gate.url, { method: "POST", target, headers: all, body });
}

function authorised(...headers) {
  return [...Object.entries(AUTHORISED), ...headers];
}

function isRefused(answer, status, code) {
  return refusal(it.gate, answer, status, code);
}

async function refusedKey(code, ...headers) {
  const { gate, origin } = it;
  const answer = await withoutTrace(gate, origin, () => post(authorised(...headers)));
  const problem = await isRefused(answer, 400, code);
  assert.equal(problem.retry, "after-fixing");
  assert.equal(problem.reference, undefined);
  return problem;
}

test("no key, or an empty one, is a missing key", async () => {
  await refusedKey("key_missing");
  for (const empty of ["", "   ", '""']) {
    await refusedKey("key_missing", ["Idempotency-Key", empty]);
  }
});

for (const [what, value] of [
  ["a bare key of 256 characters", "k".repeat(256)],
  ["a quoted key of 256 characters", `"${"k".repeat(256)}"`],
  ["Latin-1 letters", "schl\u00fcssel"],
  ["UTF-8 letters", Buffer.from("schlüssel")],
  ["bytes that are not UTF-8", Buffer.from([0x6b, 0xff, 0xfe])],
  ["the replacement character", Buffer.from("k\ufffd")],
  ["non-ASCII in quotes", Buffer.from('"schlüssel"')],
  ["an open quote", '"k-1'],
  ["a quote at the end", 'k-1"'],
  ["a quote inside", 'k"1'],
  ["a parameter after a quoted key", '"k-1";v=1'],
  ["a parameter after a bare key", "k-1;v=1"],
  ["two keys in one line", "k-1, k-2"],
  ["two quoted keys in one line", '"k-1", "k-2"'],
  ["a bare key with a space", "k 1"],
  ["a bare key with a backslash", "k\\1"],
  ["an escape that is none", '"k\\1"'],
  ["a tab inside", "k\t1"],
]) {
  test(`malformed key: ${what}`, () => refusedKey("key_malformed", ["Idempotency-Key", value]));
}

// The runtime joins repeated lines by ", ": two that are halves of one quoted key cannot be told
// from it, and mean the same by RFC 9110. Every other pair shows.
test("malformed key: the header twice, alike or not, in any spelling of its name", async () => {
  for (const [first, second] of [
    [
      ["Idempotency-Key", "k-1"],
      ["Idempotency-Key", "k-1"],
    ],
    [
      ["Idempotency-Key", "k-1"],
      ["idempotency-key", "k-2"],
    ],
    [
      ["Idempotency-Key", '"k-1"'],
      ["IDEMPOTENCY-KEY", '"k-1"'],
    ],
    [
      ["Idempotency-Key", ""],
      ["Idempotency-Key", "k-1"],
    ],
  ]) {
    await refusedKey("key_malformed", first, second);
  }
});

test("a key in the query: missing, empty, twice, over-long", async () => {
  const { gate, origin } = it;
  for (const [query, code] of [
    ["", "key_missing"],
    ["?id=", "key_missing"],
    ["?id=1&id=1", "key_malformed"],
    ["?id=1&%69d=2", "key_malformed"],
    [`?id=${"k".repeat(256)}`, "key_malformed"],
  ]) {
    const answer = await withoutTrace(gate, origin, () => post(authorised(), `/queried${query}`));
    await isRefused(answer, 400, code);
  }
});

test("a request without its principal gets 401 with a challenge", async () => {
  const { gate, origin } = it;
  const key = ["Idempotency-Key", "k-1"];
  for (const headers of [
    [key],
    [key, ["Authorization", ""]],
    [key, ["Authorization", "   "]],
  ]) {
    const answer = await withoutTrace(gate, origin, () => post(headers));
    assert.match(answer.header("WWW-Authenticate"), /^\S/);
    const problem = await isRefused(answer, 401, "principal_missing");
    assert.equal(problem.retry, "after-fixing");
  }
});

for (const [what, value] of [
  ["a JWT", `Bearer ${JWT}`],
  ["a JWT under a scheme in other letters", `bEARER ${JWT}`],
  ["an encrypted JWT", "Bearer eyJhbGciOiJSU0EifQ.a.b.c.d"],
  ["an AWS signature", "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=1"],
  ["an HTTP signature", 'Signature keyId="a",signature="b"'],
  ["a DPoP token", "DPoP opaque"],
  ["a digest", 'Digest username="a", response="b"'],
]) {
  test(`unstable principal: ${what}`, async () => {
    const { gate, origin } = it;
    const headers = [
      ["Authorization", value],
      ["Idempotency-Key", "k-1"],
    ];
    const answer = await withoutTrace(gate, origin, () => post(headers));
    assert.match(answer.header("WWW-Authenticate"), /^\S/);
    const problem = await isRefused(answer, 401, "principal_unstable");
    assert.match(problem.detail, /jwt:/);
    assert.ok(!JSON.stringify(problem).includes(JWT), "a credential is never shown");
  });
}

test("a scheme without a token is nobody", async () => {
  const { gate, origin } = it;
  for (const scheme of ["Bearer ", "bearer", "Basic", "Token"]) {
    const headers = [
      ["Authorization", scheme],
      ["Idempotency-Key", "no-token"],
    ];
    const answer = await withoutTrace(gate, origin, () => post(headers));
    await isRefused(answer, 401, "principal_missing");
  }
});

test("authorization:any takes changing credentials on purpose", async () => {
  const headers = [
    ["Authorization", `Bearer ${JWT}`],
    ["Idempotency-Key", "k-1"],
  ];
  const answer = responseOf(await post(headers, "/anyone"));
  assert.equal(answer.headers.get("Oncegate-State"), "executed");
});

test("credentials are on no disk and in no log", () => {
  const secret = JWT.split(".")[2];
  const kept = it.gate.objects().flatMap(({ kv }) => kv.map(({ value }) => value));
  assert.ok(kept.length > 0);
  for (const value of kept) {
    assert.ok(!value.includes(JWT) && !value.includes(secret));
    assert.ok(!value.includes("Bearer"), "no Authorization header is stored");
  }
  assert.ok(!it.gate.logs.some(({ message }) => message.includes(secret)));
});
