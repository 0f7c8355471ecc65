// Replies around every limit of size: whole for the first caller whatever their size, whole on a
// replay up to `keep.max_reply`, and past it never cut short and never a second run.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { gateForTests } from "./support/fixture.mjs";
import { refusal } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";
import { ask, bytesOf, fits, isFirst, isReplay } from "./support/replies.mjs";
import { MIB, runs, scripted } from "./support/replies.mjs";

const TYPE = "application/octet-stream";
const MOST = 4 * MIB;
/** What the platform stores in one value. */
const ROW = 2_000_000;
/** What an isolate may use, beside what the runtime needs by itself. */
const ISOLATE = 128 * MIB;
const SIZES = [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, MOST];

const { answers, handler } = scripted();
const sized = gateForTests({}, { handler });
const sealed = gateForTests(
  {
    policy: payments({ keep: { encrypt: true } }),
    vars: { ONCEGATE_RECORD_SECRET: "a secret of this test" },
  },
  { handler },
);

/** Answers so many bytes, with a Content-Length or in chunks. */
function answerOf(size, framing) {
  const chunked = framing === "chunked" ? [["Transfer-Encoding", "chunked"]] : [];
  const headers = [["Content-Type", TYPE], ["Location", "/v1/payments/big"], ...chunked];
  return { status: 201, headers, body: bytesOf(size) };
}

/** The records of these sizes have the chunks that they need, each of which fits the platform. */
function areStored(gate, sizes) {
  const objects = gate.objects();
  for (const [reference, size] of sizes) {
    const nonce = reference.slice(reference.lastIndexOf(".") + 1);
    const { kv } = objects.find((it) => it.kv.some(({ value }) => value.includes(nonce)));
    const rows = kv.map(({ key, value }) => [key, value.length]);
    for (const [key, length] of rows) assert.ok(length < ROW, `${key} has ${length} bytes`);
    const chunks = rows.filter(([key]) => key !== "record/0");
    assert.equal(chunks.length, size > MIB ? Math.ceil(size / MIB) : 0, JSON.stringify(rows));
  }
}

/** The replay of a body, with the type it had. */
function isWhole(answer, size) {
  isReplay(answer, 201);
  assert.equal(answer.header("Content-Type"), TYPE);
  fits(answer, bytesOf(size));
}

for (const framing of ["sized", "chunked"]) {
  test(`${framing}: 0, 1, and one less and more than a chunk and than may be kept`, async () => {
    const { gate, origin } = sized;
    const references = new Map();
    for (const size of SIZES) {
      const key = `${framing}-${size}`;
      answers[key] = answerOf(size, framing);
      const first = await ask(gate, key);
      isFirst(first, 201);
      fits(first, bytesOf(size));
      references.set(first.header("Oncegate-Reference"), size);
      isWhole(await ask(gate, key), size);
    }
    areStored(gate, references);
    await gate.evict();
    for (const size of SIZES) isWhole(await ask(gate, `${framing}-${size}`), size);
    await gate.kill();
    for (const size of SIZES) {
      const key = `${framing}-${size}`;
      const again = await ask(gate, key);
      isWhole(again, size);
      assert.equal(references.get(again.header("Oncegate-Reference")), size);
      assert.equal(runs(origin, key), 1);
    }
  });

  test(`${framing}: a byte more than may be kept is whole for the first, runs once`, async () => {
    const { gate, origin } = sized;
    const size = MOST + 1;
    const key = `${framing}-${size}`;
    answers[key] = answerOf(size, framing);
    const first = await ask(gate, key);
    isFirst(first, 201);
    fits(first, bytesOf(size));
    for (const lose of [() => {}, () => gate.evict(), () => gate.kill()]) {
      await lose();
      const problem = await refusal(gate, await ask(gate, key), 409, "reply_unavailable");
      assert.deepEqual([problem.original_status, problem.location], [201, "/v1/payments/big"]);
      assert.equal(problem.reference, first.header("Oncegate-Reference"));
    }
    assert.equal(runs(origin, key), 1);
  });
}

test("encrypted replies around the same limits are as whole, after a crash too", async () => {
  const { gate, origin } = sealed;
  // What is sealed is longer by its headers, nonce and tag: the limits are passed a little before.
  const sizes = [0, 1, MIB - 200, MIB - 28, MIB, MIB + 1, MOST];
  for (const size of sizes) {
    const key = `sealed-${size}`;
    answers[key] = answerOf(size, "sized");
    const first = await ask(gate, key);
    isFirst(first, 201);
    fits(first, bytesOf(size));
    isWhole(await ask(gate, key), size);
  }
  for (const { kv } of gate.objects()) {
    for (const { key, value } of kv) assert.ok(value.length < ROW, `${key}: ${value.length}`);
  }
  await gate.kill();
  for (const size of sizes) {
    isWhole(await ask(gate, `sealed-${size}`), size);
    assert.equal(runs(origin, `sealed-${size}`), 1);
  }
});

/** The most memory that each runtime of this file has had; they are children of this process. */
function peaks() {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
  return children
    .trim()
    .split(" ")
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("workerd"))
    .map((pid) => {
      const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
      return Number(peak[1]) * 1024;
    });
}

const measurable = { skip: process.platform !== "linux" && "reads /proc" };

for (const framing of ["sized", "chunked"]) {
  test(`20 MB, ${framing}: whole for the first, in flat memory`, measurable, async () => {
    const { gate, origin } = sized;
    const size = 20_000_000;
    const body = bytesOf(size);
    const before = peaks();
    for (let n = 0; n < 2; n += 1) {
      const key = `huge-${framing}-${n}`;
      answers[key] = { ...answerOf(0, framing), body };
      const first = await ask(gate, key);
      isFirst(first, 201);
      fits(first, body);
      await refusal(gate, await ask(gate, key), 409, "reply_unavailable");
      assert.equal(runs(origin, key), 1);
    }
    const grown = Math.max(...peaks().map((peak, n) => peak - before[n]));
    assert.ok(grown < ISOLATE / 2, `${Math.round(grown / MIB)} MiB more`);
  });
}
