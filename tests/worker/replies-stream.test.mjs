// A reply that is passed on while it comes: the first byte is not held back, what it means is
// stored before, and whatever happens to the rest, the command runs once.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gateForTests } from "./support/fixture.mjs";
import { eventually, pay, pending, refusal, stateOf } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";
import { recordOf, stateName } from "./support/records.mjs";
import { ask, bytesOf, fits, isFirst, isReplay } from "./support/replies.mjs";
import { MIB, runs, scripted } from "./support/replies.mjs";

const LEASE_MS = 1500;
const FIELDS = { stream: true, lease: `${LEASE_MS}ms`, origin_timeout: "1s" };
const { answers, handler } = scripted();
const it = gateForTests(
  { policy: payments({ ...FIELDS, while_running: "pending", keep: { max_reply: "2MiB" } }) },
  { handler },
);
const waiting = gateForTests({ policy: payments(FIELDS) }, { handler });

/** Events that are sent one by one, each when a test asks for it. */
function eventsOf(key, { headers = {}, status = 200 } = {}) {
  const { promise: started, resolve } = Promise.withResolvers();
  answers[key] = (response) => {
    response.writeHead(status, { "Content-Type": "text/event-stream", ...headers });
    response.flushHeaders();
    resolve(response);
  };
  return {
    async send(text) {
      const response = await started;
      await new Promise((sent) => response.write(text, sent));
    },
    end: async () => (await started).end(),
    cut: async () => (await started).socket.destroy(),
  };
}

/** Reads an answer as it comes. */
function readerOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  return {
    /** All that has come, as soon as it ends with this. */
    async until(text) {
      while (!seen.endsWith(text)) {
        const { value, done } = await reader.read();
        assert.equal(done, false, `the stream ended after "${seen}"`);
        seen += value;
      }
      return seen;
    },
    async toEnd() {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        seen += part.value;
      }
      return seen;
    },
  };
}

/** A first answer whose first event has come. */
async function begun(gate, key, headers = {}) {
  const events = eventsOf(key);
  const asked = pay(gate, key, headers);
  await events.send("data: 1\n\n");
  const response = await asked;
  assert.equal(response.headers.get("Oncegate-State"), "executed");
  const reader = readerOf(response);
  assert.equal(await reader.until("\n\n"), "data: 1\n\n");
  return { events, response, reader, reference: response.headers.get("Oncegate-Reference") };
}

/** The stored reply, as soon as a retry gets it. */
function storedOf(key) {
  return eventually(async () => {
    const answer = await ask(it.gate, key);
    return answer.status !== 202 && answer;
  });
}

test("each event comes as it is sent, after what it means was stored", async () => {
  const { gate, origin } = it;
  const { events, response, reader, reference } = await begun(gate, "events");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("Content-Type"), "text/event-stream");
  const { record } = recordOf(gate, reference);
  assert.equal(stateName(record), "in_progress");
  const { head } = record.state.in_progress;
  assert.deepEqual([head.verdict, head.reply.status], ["completed", 200]);
  for (const n of [2, 3]) {
    await events.send(`data: ${n}\n\n`);
    assert.equal((await reader.until(`data: ${n}\n\n`)).length, n * 9);
  }
  await pending(gate, await pay(gate, "events"), "in-progress");
  await events.end();
  assert.equal(await reader.toEnd(), "data: 1\n\ndata: 2\n\ndata: 3\n\n");
  const again = await storedOf("events");
  isReplay(again, 200);
  assert.equal(again.header("Content-Type"), "text/event-stream");
  assert.equal(again.text(), "data: 1\n\ndata: 2\n\ndata: 3\n\n");
  assert.equal(runs(origin, "events"), 1);
});

test("a stream that takes longer than the lease keeps it; the retry after gets all", async () => {
  const { gate, origin } = it;
  const { events, reader, reference } = await begun(gate, "long");
  const leaseOf = () => recordOf(gate, reference).record.state.in_progress?.lease_until;
  const first = leaseOf();
  const twice = await eventually(() => leaseOf() >= first + 1.2 * LEASE_MS && leaseOf());
  assert.ok(twice > first);
  await eventually(() => Date.now() > first + 0.2 * LEASE_MS);
  await pending(gate, await pay(gate, "long"), "in-progress");
  await events.send("data: 2\n\n");
  await events.end();
  assert.equal(await reader.toEnd(), "data: 1\n\ndata: 2\n\n");
  const again = await storedOf("long");
  isReplay(again, 200);
  assert.equal(again.text(), "data: 1\n\ndata: 2\n\n");
  assert.equal(runs(origin, "long"), 1);
});

test("those who wait get the whole at its end", async () => {
  const { gate, origin } = waiting;
  const { events, reader } = await begun(gate, "waiters");
  const waiters = Array.from({ length: 3 }, () => ask(gate, "waiters"));
  await events.send("data: 2\n\n");
  await reader.until("data: 2\n\n");
  await events.end();
  for (const waited of await Promise.all(waiters)) {
    isReplay(waited, 200);
    assert.equal(waited.text(), "data: 1\n\ndata: 2\n\n");
  }
  assert.equal(runs(origin, "waiters"), 1);
});

test("a client that leaves on the way does not cut what is kept", async () => {
  const { gate, origin } = it;
  const { events, response } = await begun(gate, "leaves");
  await response.body.cancel().catch(() => {});
  for (const n of [2, 3, 4]) await events.send(`data: ${n}\n\n`);
  await events.end();
  const again = await storedOf("leaves");
  isReplay(again, 200);
  assert.equal(again.text(), [1, 2, 3, 4].map((n) => `data: ${n}\n\n`).join(""));
  assert.equal(runs(origin, "leaves"), 1);
});

/** The reply is gone for good, the outcome is not, and nothing ran again. */
async function isLost(key, status = 200, { gate, origin } = it) {
  const answer = await eventually(async () => {
    const response = await pay(gate, key);
    return response.status !== 202 && response;
  });
  const problem = await refusal(gate, answer, 409, "reply_unavailable");
  assert.equal(problem.original_status, status);
  assert.equal((await stateOf(gate, key)).state, "completed");
  await refusal(gate, await pay(gate, key), 409, "reply_unavailable");
  assert.equal(runs(origin, key), 1);
}

test("kill -9 on the way: done once, its reply lost", async () => {
  const { gate } = it;
  const { reader } = await begun(gate, "killed");
  await gate.kill();
  await assert.rejects(reader.toEnd());
  await isLost("killed");
});

test("a stream that the origin cuts is cut for the client, and no reply afterwards", async () => {
  const { gate } = it;
  const { events, reader } = await begun(gate, "cut");
  await events.cut();
  await assert.rejects(reader.toEnd());
  await isLost("cut");
});

test("a stream longer than may be kept is whole for the first, and lost for the next", async () => {
  const { gate } = it;
  const size = 3 * MIB;
  answers.longer = (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(bytesOf(size));
  };
  const first = await ask(gate, "longer");
  isFirst(first, 200);
  fits(first, bytesOf(size));
  await isLost("longer");
});

test("a stream of exactly what may be kept is kept", async () => {
  const { gate, origin } = it;
  const size = 2 * MIB;
  answers.exactly = (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(bytesOf(size));
  };
  fits(await ask(gate, "exactly"), bytesOf(size));
  const again = await storedOf("exactly");
  isReplay(again, 200);
  fits(again, bytesOf(size));
  assert.equal(runs(origin, "exactly"), 1);
});

test("a client that does not read does not hold the record back", async () => {
  const { gate, origin } = it;
  const size = 2 * MIB - 1;
  const headers = [["Content-Type", "text/event-stream"]];
  answers.idle = { status: 200, headers, body: bytesOf(size) };
  const first = await pay(gate, "idle");
  const again = await storedOf("idle");
  isReplay(again, 200);
  fits(again, bytesOf(size));
  assert.ok(Buffer.from(await first.arrayBuffer()).equals(bytesOf(size)));
  assert.equal(runs(origin, "idle"), 1);
});
