// The stored reply: its status, its entity headers and its bytes, whatever they are, and nothing
// that was true of the first answer only.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from "node:zlib";

import { AUTHORISED, effectsIn, PAYMENT } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, pay, payRaw, PAYMENTS, replayed } from "./support/gated.mjs";

const script = {};
const it = gateForTests({}, { handler });

function handler(request, _response, _body, origin) {
  const answer = script[request.header("Idempotency-Key")];
  if (answer === undefined) return undefined;
  origin.ledger.record({ operation: "create_payment", subject: "x", amount: 1 }, {});
  return answer;
}

/** The first answer and a replay of it, raw; the origin gives `answer`. */
async function twice(key, answer) {
  script[key] = answer;
  const { result, effects } = await effectsIn(it.origin, async () => {
    return [await payRaw(it.gate, key), await payRaw(it.gate, key)];
  });
  assert.equal(effects.length, 1);
  assert.equal(result[1].headers.get("Idempotency-Replayed"), "true");
  return result;
}

test("status, type, location, entity tag and links are replayed as they were", async () => {
  const headers = {
    "Content-Type": "application/vnd.acme+json; v=2",
    "Content-Language": "de",
    "Content-Disposition": 'attachment; filename="r.json"',
    Location: "/v1/payments/pay_1",
    ETag: '"a"',
    "Last-Modified": "Mon, 21 Oct 2030 07:28:00 GMT",
    Link: '</v1/payments/pay_1>; rel="self", </v1>; rel="up"',
  };
  const [first, repeat] = await twice("entity", { status: 201, headers, body: '{"id":"x"}' });
  for (const answer of [first, repeat]) {
    assert.equal(answer.status, 201);
    assert.equal(await answer.text(), '{"id":"x"}');
    for (const [name, value] of Object.entries(headers)) {
      assert.equal(answer.headers.get(name), value);
    }
  }
});

test("what the retry accepts does not change what is replayed", async () => {
  const receipt = await executed(await pay(it.gate, "accept", { accept: "application/json" }));
  await replayed(await pay(it.gate, "accept", { accept: "text/csv" }), receipt);
});

test("a header list of other transport metadata is the same command", async () => {
  const receipt = await executed(await pay(it.gate, "meta", { traceparent: "00-1", "x-try": "1" }));
  const other = { traceparent: "00-2", "x-try": "2", "user-agent": "another/2", cookie: "a=1" };
  await replayed(await pay(it.gate, "meta", other), receipt);
});

test("a body of any bytes is replayed byte for byte", async () => {
  const body = Buffer.concat([Buffer.from([0, 255, 254, 0x80, 0x0d, 0x0a]), randomBytes(70_000)]);
  const headers = { "Content-Type": "application/octet-stream" };
  const digest = async (answer) =>
    createHash("sha256")
      .update(Buffer.from(await answer.arrayBuffer()))
      .digest("hex");
  const [first, repeat] = await twice("bytes", { status: 200, headers, body });
  const expected = createHash("sha256").update(body).digest("hex");
  assert.equal(await digest(first), expected);
  assert.equal(await digest(repeat), expected);
});

for (const status of [204, 205, 304]) {
  test(`${status} stays empty, on the first answer and on the replay`, async () => {
    const lists = status === 304 ? { "Oncegate-Outcome": "completed" } : {};
    const headers = { ETag: '"e"', ...lists };
    for (const answer of await twice(`empty-${status}`, { status, headers, body: "" })) {
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get("ETag"), '"e"');
      assert.equal((await answer.arrayBuffer()).byteLength, 0);
      const length = answer.headers.get("Content-Length");
      assert.ok(length === null || (status === 205 && length === "0"), `length: ${length}`);
    }
  });
}

test("a 200 with an empty body is replayed with an empty body", async () => {
  const answers = await twice("nothing", { status: 200, headers: {}, body: "" });
  for (const answer of answers) assert.equal(await answer.text(), "");
});

test("an encoded answer arrives decodable, and is replayed decodable", async () => {
  const plain = `{"words":"${"the same again ".repeat(100)}"}`;
  for (const [coding, encode] of [
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
  ]) {
    const headers = { "Content-Type": "application/json", "Content-Encoding": coding };
    script[`coded-${coding}`] = { status: 201, headers, body: encode(plain) };
    const { effects } = await effectsIn(it.origin, async () => {
      // The client of these two decodes by what the headers say.
      const first = await pay(it.gate, `coded-${coding}`);
      assert.equal(await first.text(), plain, `first, ${coding}`);
      const repeat = await pay(it.gate, `coded-${coding}`);
      assert.equal(repeat.headers.get("Idempotency-Replayed"), "true");
      assert.equal(await repeat.text(), plain, `replay, ${coding}`);
    });
    assert.equal(effects.length, 1);
  }
});

test("headers and length of an answer that was decoded fit its bytes", async () => {
  const plain = "x".repeat(10_000);
  const coded = { "Content-Encoding": "gzip", "Content-Digest": "d" };
  const headers = { "Content-Type": "text/plain", ...coded };
  const [first, repeat] = await twice("fit", { status: 200, headers, body: gzipSync(plain) });
  for (const answer of [first, repeat]) {
    const bytes = Buffer.from(await answer.arrayBuffer());
    const still = answer.headers.get("Content-Encoding") === "gzip";
    assert.equal((still ? gunzipSync(bytes) : bytes).toString(), plain);
    const length = answer.headers.get("Content-Length");
    assert.ok(length === null || Number(length) === bytes.length, `Content-Length: ${length}`);
  }
  assert.equal(repeat.headers.get("Content-Digest"), null, "a digest of other bytes");
});

test("an encoded request body reaches the origin as it was sent, and is one command", async () => {
  const bytes = gzipSync(JSON.stringify(PAYMENT));
  script.zipped = { status: 201, headers: { "Content-Type": "application/json" }, body: "{}" };
  const send = () =>
    it.gate.fetch(PAYMENTS, {
      method: "POST",
      headers: {
        ...AUTHORISED,
        "content-type": "application/json",
        "content-encoding": "gzip",
        "idempotency-key": "zipped",
      },
      body: bytes,
    });
  const { effects } = await effectsIn(it.origin, async () => {
    const receipt = await executed(await send());
    const seen = it.origin.requests.at(-1);
    assert.equal(seen.header("Content-Encoding"), "gzip");
    assert.ok(seen.body.equals(bytes));
    await replayed(await send(), receipt);
  });
  assert.equal(effects.length, 1);
});

test("a replay is historic: what happened to the payment since does not show", async () => {
  const receipt = await executed(await pay(it.gate, "historic"));
  const { id } = JSON.parse(receipt.body);
  const step = await it.gate.fetch(`${PAYMENTS}/${id}/authorise`, {
    method: "POST",
    headers: { ...AUTHORISED, "idempotency-key": "historic" },
  });
  assert.equal((await step.json()).status, "authorised");
  await replayed(await pay(it.gate, "historic"), receipt);
});
