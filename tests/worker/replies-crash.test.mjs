// A long reply whose storing goes wrong: a chunk that cannot be written, or a crash around the
// record. The first caller has all of it, a replay is whole or is refused, and nothing runs again.

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { gateForTests } from "./support/fixture.mjs";
import { pay, refusal, stateOf } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";
import { ask, bytesOf, fits, isFirst, isReplay } from "./support/replies.mjs";
import { MIB, runs, scripted } from "./support/replies.mjs";

const SECRET = { ONCEGATE_RECORD_SECRET: "a secret of this test" };
const { answers, handler } = scripted();
const failing = gateForTests({ build: "build-test" }, { handler });
const sealing = gateForTests(
  { build: "build-test", policy: payments({ keep: { encrypt: true } }), vars: SECRET },
  { handler },
);
const crashing = gateForTests({ policy: payments({ while_running: "pending" }) }, { handler });

/** A chunk of the reply cannot be written; what is left of it is looked at. */
async function losesItsReply({ gate, origin }, size, chunk, location) {
  const key = `fails-${size}-${chunk}`;
  answers[key] = { status: 201, headers: [["Location", "/1"]], body: bytesOf(size) };
  const first = await ask(gate, key, { "test-fail-chunk": String(chunk) });
  isFirst(first, 201);
  fits(first, bytesOf(size));
  for (const lose of [() => {}, () => gate.evict(), () => gate.kill()]) {
    await lose();
    const problem = await refusal(gate, await ask(gate, key), 409, "reply_unavailable");
    assert.deepEqual([problem.original_status, problem.location], [201, location]);
    assert.equal(problem.retry, "never");
  }
  const { state, outcome } = await stateOf(gate, key);
  assert.deepEqual([state, outcome], ["completed", "completed"]);
  assert.equal(runs(origin, key), 1);
  await gate.log(/^a long reply is lost: /);
}

for (const chunk of [0, 1, 2]) {
  test(`chunk ${chunk} of a reply cannot be written: its reply is lost, its outcome is not`, () =>
    losesItsReply(failing, 3 * MIB, chunk, "/1"));
}

test("the same for a reply that is encrypted, whose headers are lost with it", () =>
  losesItsReply(sealing, 2 * MIB, 2, undefined));

test("those who wait for a reply whose storing fails are told so", async () => {
  const { gate, origin } = failing;
  answers.waiters = { status: 201, headers: [["Location", "/1"]], body: bytesOf(2 * MIB) };
  const hold = origin.hold("POST /v1/payments", { when: "after" });
  const first = ask(gate, "waiters", { "test-fail-chunk": "1" });
  await hold.reached;
  const waiting = Array.from({ length: 4 }, () => ask(gate, "waiters"));
  hold.release();
  isFirst(await first, 201);
  for (const waited of await Promise.all(waiting)) {
    await refusal(gate, waited, 409, "reply_unavailable");
  }
  assert.equal(runs(origin, "waiters"), 1);
});

/** Looks in a tight loop, for moments that last a few milliseconds. */
async function asSoonAs(look) {
  while (!look()) await new Promise((resolve) => setImmediate(resolve));
}

/** How much there is in the write-ahead logs of a gate's objects. */
function logged(gate) {
  const files = readdirSync(gate.dir, { recursive: true }).filter((it) => it.endsWith("-wal"));
  return files.reduce((sum, file) => sum + statSync(join(gate.dir, file)).size, 0);
}

const chunksOf = (gate) => gate.objects().reduce((sum, { kv }) => sum + kv.length - 1, 0);

/** Moments of a crash, from the last byte of the origin's to the first of the answer's. */
const MOMENTS = {
  "the origin has sent the last byte": async ({ sent }) => sent,
  "the first bytes of it are on disk": async ({ gate, before }) =>
    asSoonAs(() => logged(gate) > before.logged + 64 * 1024),
  "half of it is on disk": async ({ gate, before }) =>
    asSoonAs(() => logged(gate) > before.logged + 2 * MIB),
  "all of it is stored": async ({ gate, before }) =>
    asSoonAs(() => chunksOf(gate) >= before.chunks + 4),
  "its head is with the first caller": async ({ first }) => first,
};
const STORED = ["all of it is stored", "its head is with the first caller"];

for (const [moment, comes] of Object.entries(MOMENTS)) {
  test(`kill -9 when ${moment}: whole or pending, and never run again`, async () => {
    const { gate, origin } = crashing;
    for (let n = 0; n < 2; n += 1) {
      const key = `killed-${moment.replaceAll(" ", "-")}-${n}`;
      const { promise: sent, resolve } = Promise.withResolvers();
      answers[key] = (response) => {
        response.on("finish", resolve);
        response.writeHead(201, { "Content-Type": "application/octet-stream" });
        response.end(bytesOf(4 * MIB));
      };
      const before = { logged: logged(gate), chunks: chunksOf(gate) };
      const first = pay(gate, key).catch(() => undefined);
      await comes({ gate, before, sent, first });
      await gate.kill();
      const told = await first;
      await told?.arrayBuffer().catch(() => {});
      const again = await ask(gate, key);
      if (again.status === 201) {
        isReplay(again, 201);
        fits(again, bytesOf(4 * MIB));
      } else {
        assert.equal(told, undefined, "what was handed out is stored");
        assert.equal(STORED.includes(moment), false);
        assert.deepEqual([again.status, again.json().state], [202, "in-progress"]);
      }
      assert.equal(runs(origin, key), 1);
    }
  });
}
