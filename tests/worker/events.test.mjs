// Events: what happens to a record is told outside, in order, at least once and without a body, and
// no client ever waits for it.
//
// What happens to a message inside the queue is the queue's own business: the local one keeps its
// messages in memory, so deaths are shown with a sink that is bound in its place.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { inRoot } from "../../scripts/lib/paths.mjs";
import { document, readToml } from "./support/documents.mjs";
import { effectsIn } from "./support/demo.mjs";
import { eventually, executed, pay, receiptOf, replayed } from "./support/gated.mjs";
import { startGate } from "./support/gate.mjs";
import { startRecorder } from "./support/events.mjs";
import { onlyRecord, recordOf, storedAs } from "./support/records.mjs";
import { PROBE_SECRET, reconciling, settledAnswer } from "./support/recovery.mjs";
import { startLookup } from "./support/recovery.mjs";

const TIMES = { lease: "2s", origin_timeout: "1s" };

let origin;
before(async () => {
  origin = await startLookup();
});
after(() => origin?.close());

/** Runs work on a gate and a recorder of its own. */
async function told(options, work) {
  const { by, recovery, fields } = options;
  const recorder = await startRecorder();
  const policy = reconciling(recovery, { ...TIMES, ...fields });
  const gate = await startGate({ origin, policy, vars: PROBE_SECRET, events: { recorder, by } });
  try {
    return await work(gate, recorder);
  } finally {
    await gate.dispose();
    await recorder.close();
  }
}

/** The events about a reference, once there are that many. */
const eventsAbout = (recorder, reference, count) =>
  recorder.until(() => {
    const found = recorder.about(reference);
    return found.length >= count && found;
  });

const summary = ({ type, state, status, attempt }) => [type, state, status, attempt];

test("a queue gets what has become of a command, with a stable id and no content", () =>
  told({}, async (gate, recorder) => {
    const receipt = await executed(await pay(gate, "done"));
    const reference = receipt["Oncegate-Reference"];
    const [event] = await eventsAbout(recorder, reference, 1);
    assert.ok(Math.abs(Date.parse(event.at) - Date.now()) < 60_000);
    assert.deepEqual(event, {
      id: `${reference}/1`,
      type: "completed",
      operation: "create_payment",
      reference,
      attempt: 1,
      state: "completed",
      status: 201,
      at: event.at,
      disputed: false,
      escalated: false,
    });
    await replayed(await pay(gate, "done"), receipt);
    await executed(await pay(gate, "another"));
    await recorder.until(({ events }) => events.length >= 2);
    assert.equal(recorder.about(reference).length, 1, "a replay is no event");
  }));

test("failures of both kinds are told, the one that may run again for every attempt", () =>
  told({}, async (gate, recorder) => {
    const refused = await pay(gate, "final", {}, { amount: -1, currency: "EUR" });
    assert.equal(refused.status, 422);
    const final = refused.headers.get("Oncegate-Reference");
    const events = await eventsAbout(recorder, final, 1);
    assert.deepEqual(events.map(summary), [["failed", "failed_replayable", 422, 1]]);

    const retried = { "Demo-Fail": "before:503", "Demo-Outcome": "retry" };
    const first = await pay(gate, "retryable", retried);
    await pay(gate, "retryable", retried);
    await pay(gate, "retryable");
    const retryable = first.headers.get("Oncegate-Reference");
    assert.deepEqual((await eventsAbout(recorder, retryable, 3)).map(summary), [
      ["failed", "failed_retryable", undefined, 1],
      ["failed", "failed_retryable", undefined, 2],
      ["completed", "completed", 201, 3],
    ]);
  }));

test("the story of a record comes in order: unknown, escalated, resolved, expired", () => {
  const recovery = { escalate_after: "200ms", schedule: ["50ms"] };
  const fields = { keep: { for: "300ms", tombstone: "30s" } };
  return told({ recovery, fields }, async (gate, recorder) => {
    const hold = origin.holdProbes("story", { when: "before" });
    const first = await pay(gate, "story", { "Demo-Fail": "after:500" });
    const reference = first.headers.get("Oncegate-Reference");
    await eventsAbout(recorder, reference, 2);
    hold.release();
    const events = await eventsAbout(recorder, reference, 4);
    assert.deepEqual(events.map(summary), [
      ["unknown", "unknown", undefined, 1],
      ["unknown", "unknown", undefined, 1],
      ["resolved", "completed", 201, 1],
      ["expired", "expired", undefined, 1],
    ]);
    assert.deepEqual(events.map(({ escalated }) => escalated), [false, true, false, false]);
    assert.deepEqual(events.map(({ id }) => id), [1, 2, 3, 4].map((n) => `${reference}/${n}`));
    const times = events.map(({ at }) => at);
    assert.deepEqual(times, [...times].sort());
  });
});

test("a verdict that it is not there resolves too, and a second attempt has its own event", () =>
  told({}, async (gate, recorder) => {
    const first = await pay(gate, "absent", { "Demo-Fail": "before:500" });
    const reference = first.headers.get("Oncegate-Reference");
    await eventsAbout(recorder, reference, 2);
    await executed(await pay(gate, "absent"));
    assert.deepEqual((await eventsAbout(recorder, reference, 3)).map(summary), [
      ["unknown", "unknown", undefined, 1],
      ["resolved", "failed_retryable", undefined, 1],
      ["completed", "completed", 201, 2],
    ]);
  }));

for (const mode of ["refuse", "hold"]) {
  test(`a sink that would ${mode} delays no client, and gets everything later`, () =>
    told({ by: "direct" }, async (gate, recorder) => {
      recorder.mode = mode;
      const receipt = await executed(await pay(gate, "down"));
      const reference = receipt["Oncegate-Reference"];
      const started = Date.now();
      await replayed(await pay(gate, "down"), receipt);
      const lost = await pay(gate, "down-lost", { "Demo-Fail": "after:500" });
      const settled = await settledAnswer(gate, "down-lost");
      assert.equal(settled.status, 201);
      assert.ok(Date.now() - started < 5000);
      assert.equal(recorder.events.length, 0);
      await recorder.until(({ refused }) => refused.length >= 2);
      assert.equal(recordOf(gate, reference).record.outbox.waiting.length, 1);
      recorder.mode = "take";
      await eventsAbout(recorder, reference, 1);
      const later = await eventsAbout(recorder, lost.headers.get("Oncegate-Reference"), 2);
      assert.deepEqual(later.map(({ type }) => type), ["unknown", "resolved"]);
      const ids = new Set(recorder.events.map(({ id }) => id));
      for (const { id } of recorder.refused) assert.ok(ids.has(id), "the same event, the same id");
      await eventually(() => recordOf(gate, reference).record.outbox.waiting.length === 0);
    }));
}

test("a sink that stays down is left in peace, longer each time", () =>
  told({ by: "direct" }, async (gate, recorder) => {
    recorder.mode = "refuse";
    const response = await pay(gate, "backs-off");
    const reference = response.headers.get("Oncegate-Reference");
    const outbox = () => recordOf(gate, reference).record.outbox;
    const pause = (failures) =>
      eventually(() => outbox().failures === failures && outbox().due - Date.now());
    assert.ok((await pause(1)) > 1000);
    for (let n = 0; n < 5; n += 1) await receiptOf(await pay(gate, "backs-off"));
    assert.equal(outbox().failures, 1, "a request does not end the pause");
    assert.ok((await pause(2)) > 3000);
    assert.equal(recorder.refused.length, 2);
  }));

test("killed while the sink has the event: it comes again under the same id", () =>
  told({ by: "direct" }, async (gate, recorder) => {
    recorder.mode = "hold";
    const { effects } = await effectsIn(origin, async () => {
      const receipt = await executed(await pay(gate, "killed"));
      const reference = receipt["Oncegate-Reference"];
      const [offered] = await recorder.until(({ refused }) => refused.length > 0 && refused);
      await gate.kill();
      recorder.mode = "take";
      // No client comes: the alarm delivers what the crash has interrupted.
      const seen = () => recorder.about(reference).length >= 2;
      await recorder.until(seen);
      for (const event of recorder.about(reference)) assert.deepEqual(event, offered);
      await eventually(() => onlyRecord(gate).record.outbox.waiting.length === 0);
      await replayed(await pay(gate, "killed"), receipt);
    });
    assert.equal(effects.length, 1);
  }));

test("a sink that never answers does not keep the object busy", () =>
  told({ by: "direct" }, async (gate, recorder) => {
    recorder.mode = "hold";
    await executed(await pay(gate, "hangs"));
    await recorder.until(({ refused }) => refused.length > 0);
    const { due } = onlyRecord(gate).record.outbox;
    await delay(due - Date.now() + 300);
    for (let n = 0; n < 10; n += 1) {
      await delay(50);
      assert.ok(onlyRecord(gate).alarm - Date.now() > 500, "its alarm rings again and again");
    }
  }));

test("killed at any time, every transition is told at least once, in order", () =>
  told({ by: "direct" }, async (gate, recorder) => {
    const references = [];
    for (let n = 0; n < 4; n += 1) {
      recorder.mode = n % 2 === 0 ? "take" : "hold";
      const key = `any-${n}`;
      const answer = pay(gate, key, { "Demo-Fail": "after:500" }).catch(() => {});
      const command = await origin.nextRequest((it) => it.header("Idempotency-Key") === key);
      references.push(command.header("Oncegate-Reference"));
      if (n > 1) await answer;
      await gate.kill();
      await answer;
    }
    recorder.mode = "take";
    for (const [n, reference] of references.entries()) {
      await storedAs(gate, reference, "completed");
      // A request makes the outbox look at once; the alarm would do it later.
      assert.equal((await pay(gate, `any-${n}`)).status, 201);
      const types = () => new Set(recorder.about(reference).map(({ id }) => id));
      await recorder.until(() => types().size >= 2);
      const firsts = [...types()];
      assert.deepEqual(firsts, [`${reference}/1`, `${reference}/2`]);
    }
  }));

test("an object is emptied when its outbox is, and not before", () => {
  const fields = { keep: { for: "200ms", tombstone: "400ms" } };
  return told({ by: "direct", fields }, async (gate, recorder) => {
    recorder.mode = "refuse";
    const first = await executed(await pay(gate, "emptied"));
    const reference = first["Oncegate-Reference"];
    await storedAs(gate, reference, "expired");
    await delay(600);
    const { record } = onlyRecord(gate);
    assert.deepEqual(record.outbox.waiting.map(({ kind }) => kind), ["completed", "expired"]);
    // The key is forgotten all the same: it is a new life.
    const second = await executed(await pay(gate, "emptied"));
    assert.notEqual(second["Oncegate-Reference"], reference);
    recorder.mode = "take";
    const told = await eventsAbout(recorder, reference, 2);
    assert.deepEqual(told.map(({ type }) => type), ["completed", "expired"]);
    const next = await eventsAbout(recorder, second["Oncegate-Reference"], 2);
    assert.deepEqual(next.map(({ type }) => type), ["completed", "expired"]);
    const order = recorder.events.map(({ reference: of }) => of === reference);
    assert.ok(order.lastIndexOf(true) < order.indexOf(false), "the earlier life is told first");
    await eventually(() => gate.objects().every(({ rows }) => rows === 0));
  });
});

/** wrangler.toml with its examples in force. */
const exampleOn = () => document("wrangler.toml").replaceAll(/^#(?=\[\[|\w+ = )/gm, "");

test("the example of a queue in wrangler.toml works, here and in production", async () => {
  const root = await mkdtemp(join(tmpdir(), "oncegate-events-"));
  try {
    const text = exampleOn();
    const { queues, env } = await readToml(text);
    const producer = { binding: "ONCEGATE_EVENTS", queue: "oncegate-events" };
    for (const { producers } of [queues, env.production.queues]) {
      assert.deepEqual(producers.map((it) => ({ ...it })), [producer]);
    }
    await writeFile(join(root, "wrangler.toml"), text);
    const gate = await startGate({ origin, root, build: inRoot("build") });
    try {
      await executed(await pay(gate, "example"));
      await eventually(() => {
        const { outbox } = onlyRecord(gate).record;
        return outbox.made === 1 && outbox.waiting.length === 0;
      });
    } finally {
      await gate.dispose();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

test("where nobody listens nothing is kept to be told", async () => {
  const gate = await startGate({ origin, policy: reconciling({}, TIMES), vars: PROBE_SECRET });
  try {
    await executed(await pay(gate, "silent"));
    assert.equal(onlyRecord(gate).record.outbox, undefined);
  } finally {
    await gate.dispose();
  }
});
