// A reply that is longer than may be kept: its first caller gets all of it, repeats are told that
// the operation is done and its reply is not there. Up to that length it is replayed byte for byte.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { isMarked, pay, refusal, stateOf } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";

const MIB = 1024 * 1024;
const TYPE = "application/octet-stream";
const policy = payments({ keep: { max_reply: "1MiB" } });
const it = gateForTests({ policy }, { handler: large });

/** Answers as many bytes as the key says, with or without a Content-Length. */
function large(request, _response, _body, origin) {
  const [, framing, size] = /^(sized|chunked)-(\d+)$/.exec(request.header("Idempotency-Key")) ?? [];
  if (size === undefined) return undefined;
  origin.ledger.record({ operation: "create_payment", subject: "big", amount: 1 }, {});
  const chunked = framing === "chunked" ? { "Transfer-Encoding": "chunked" } : {};
  const headers = { "Content-Type": TYPE, Location: "/v1/payments/big", ...chunked };
  return { status: 201, headers, body: bytesOf(Number(size)) };
}

/** Bytes that do not repeat by the block, so that a part sent twice or left out shows. */
function bytesOf(size) {
  const bytes = Buffer.alloc(size);
  for (let n = 0, x = size; n + 4 <= size; n += 4) {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0;
    bytes.writeUInt32LE(x, n);
  }
  return bytes;
}

async function digest(response) {
  const bytes = Buffer.from(await response.arrayBuffer());
  return [bytes.length, createHash("sha256").update(bytes).digest("hex")];
}

function expected(size) {
  return [size, createHash("sha256").update(bytesOf(size)).digest("hex")];
}

for (const framing of ["sized", "chunked"]) {
  for (const size of [MIB + 1, 3 * MIB]) {
    test(`${framing}, ${size} bytes: whole for the first, not kept for repeats`, async () => {
      const { gate, origin } = it;
      const key = `${framing}-${size}`;
      const { effects } = await effectsIn(origin, async () => {
        const first = await pay(gate, key);
        assert.equal(first.status, 201);
        assert.equal(first.headers.get("Oncegate-State"), "executed");
        assert.equal(first.headers.get("Content-Type"), TYPE);
        assert.deepEqual(await digest(first), expected(size));
        const repeat = await pay(gate, key);
        const problem = await refusal(gate, repeat, 409, "reply_unavailable");
        assert.deepEqual([problem.original_status, problem.location], [201, "/v1/payments/big"]);
        assert.equal((await stateOf(gate, key)).state, "completed");
      });
      assert.equal(effects.length, 1);
    });
  }

  test(`${framing}, exactly 1 MiB: replayed byte for byte`, async () => {
    const { gate, origin } = it;
    const key = `${framing}-${MIB}`;
    const { effects } = await effectsIn(origin, async () => {
      const first = await pay(gate, key);
      assert.deepEqual(await digest(first), expected(MIB));
      const repeat = await pay(gate, key);
      assert.deepEqual([repeat.status, isMarked(repeat)], [201, true]);
      assert.equal(repeat.headers.get("Content-Type"), TYPE);
      assert.deepEqual(await digest(repeat), expected(MIB));
    });
    assert.equal(effects.length, 1);
  });
}

test("the outcome is stored before the first byte of a long reply leaves", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const first = await pay(gate, `chunked-${2 * MIB}`);
    // The head is here, the body is not read: a repeat is answered from the record all the same.
    const repeat = await pay(gate, `chunked-${2 * MIB}`);
    await refusal(gate, repeat, 409, "reply_unavailable");
    assert.deepEqual(await digest(first), expected(2 * MIB));
  });
  assert.equal(effects.length, 1);
});

test("a client that leaves a long reply half-way has had its effect once", async () => {
  const { gate, origin } = it;
  const { effects } = await effectsIn(origin, async () => {
    const leave = new AbortController();
    const first = await gate.fetch("/v1/payments", {
      method: "POST",
      headers: { authorization: "Bearer demo", "idempotency-key": `sized-${4 * MIB}` },
      body: '{"amount":1}',
      signal: leave.signal,
    });
    assert.equal(first.status, 201);
    leave.abort();
    await assert.rejects(first.arrayBuffer());
    const again = { "content-type": "text/plain;charset=UTF-8" };
    const repeat = await pay(gate, `sized-${4 * MIB}`, again, { amount: 1 });
    await refusal(gate, repeat, 409, "reply_unavailable");
  });
  assert.equal(effects.length, 1);
});
