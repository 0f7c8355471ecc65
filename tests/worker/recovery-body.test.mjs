// The body of an answer that breaks off, takes long or never ends: the head has decided, and at
// worst the receipt is lost, which a probe may fill in.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { startOrigin } from "../../demo/origin.mjs";
import { problemOf } from "./support/demo.mjs";
import { eventually, executed, pay, receiptOf } from "./support/gated.mjs";
import { refusal, replayed, stateOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { recordOf, storedAs } from "./support/records.mjs";
import { NOT_FOUND, PROBE_SECRET, reconcile, startLookup } from "./support/recovery.mjs";

const BODY = JSON.stringify({ id: "ord_1", note: "x".repeat(200) });

/** Orders whose answer comes in two parts, the second when the test says so. */
class Orders {
  #parts = new Map();

  handler = (request, response) => {
    if (request.path !== "/v1/held" && request.path !== "/v1/asked") return undefined;
    const key = request.header("Idempotency-Key");
    response.writeHead(201, { "Content-Length": BODY.length, "Content-Type": "application/json" });
    response.write(BODY.slice(0, 50), async () => {
      if (await this.#part(key).promise) response.end(BODY.slice(50));
      else response.destroy();
    });
    return true;
  };

  /** A test may speak before the origin has got that far. */
  #part(key) {
    if (!this.#parts.has(key)) this.#parts.set(key, Promise.withResolvers());
    return this.#parts.get(key);
  }

  /** Sends the rest of an answer. */
  finish(key) {
    this.#part(key).resolve(true);
  }

  /** Breaks an answer off. */
  cut(key) {
    this.#part(key).resolve(false);
  }
}

const orders = new Orders();
let origin;
let gate;
before(async () => {
  origin = await startLookup({ handler: orders.handler });
  const times = { lease: "1500ms", origin_timeout: "1s" };
  const receipt = { status: 200, pointer: "/id", verdict: "applied" };
  const asking = { confirm: {}, verdicts: [receipt], reply_pointer: "" };
  const recovery = reconcile({ ...asking, schedule: ["50ms", "50ms", "50ms"] });
  const policy = policyOf([
    operation("hold_order", { match: "POST /v1/held", ...times }),
    operation("ask_order", { match: "POST /v1/asked", ...times, recovery }),
    operation("create_payment", { ...times, recovery: reconcile({ schedule: ["300ms"] }) }),
  ]);
  gate = await startGate({ origin, policy, vars: PROBE_SECRET });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

async function order(key, where = "held") {
  const headers = { Authorization: "Bearer demo", "Idempotency-Key": key };
  return fetch(`${gate.url}/v1/${where}`, { method: "POST", headers, body: "{}" });
}

/** The command of a key, once the origin has begun to answer it. */
const commandOf = (key) => origin.nextRequest((it) => it.header("Idempotency-Key") === key);

test("a receipt that was cut is filled in by a probe, and then replayed", async () => {
  const first = await pay(gate, "cut", { "Demo-Cut": "8" });
  const lost = await refusal(gate, first, 502, "reply_unavailable", "executed");
  assert.equal(lost.retry, "never");
  const { reference } = lost;
  const { record } = recordOf(gate, reference);
  assert.equal(record.state.completed.reply.body, "lost");
  const repeat = await problemOf(await pay(gate, "cut"), 409, "reply_unavailable");
  assert.equal(repeat.original_status, 201);
  const filled = await eventually(() => {
    const { record } = recordOf(gate, reference);
    return record.state.completed.reply.body !== "lost" && record;
  });
  assert.deepEqual(filled.journal.map(({ what }) => what), [
    "claimed",
    "completed",
    "receipt_filled_in",
  ]);
  for (const name of ["reply_until", "forget_at"]) {
    assert.equal(filled.state.completed[name], record.state.completed[name], "no window moves");
  }
  const receipt = await receiptOf(await pay(gate, "cut"));
  assert.equal(receipt.status, 201);
  assert.equal(JSON.parse(receipt.body).reference, reference);
  await replayed(await pay(gate, "cut"), receipt);
  assert.equal(origin.ledger.entries.filter((it) => it.reference === reference).length, 1);
});

test("a look-up that denies it changes nothing of what the head has said", async () => {
  origin.script("denied", ...Array(9).fill(NOT_FOUND));
  const first = await pay(gate, "denied", { "Demo-Cut": "8" });
  const { reference } = await problemOf(first, 502, "reply_unavailable");
  await origin.nextProbe("denied");
  const { record } = recordOf(gate, reference);
  assert.equal(record.state.completed.reply.body, "lost");
  const repeat = await pay(gate, "denied");
  await problemOf(repeat, 409, "reply_unavailable");
  assert.equal(origin.ledger.entries.filter((it) => it.reference === reference).length, 1);
});

test("for a receipt alone the origin is asked as often as the schedule says", async () => {
  origin.script("bounded", ...Array(99).fill(NOT_FOUND));
  const first = order("bounded", "asked");
  await commandOf("bounded");
  orders.cut("bounded");
  await problemOf(await first, 502, "reply_unavailable");
  for (let n = 0; n < 3; n += 1) await origin.nextProbe("bounded");
  for (let n = 0; n < 5; n += 1) {
    await problemOf(await order("bounded", "asked"), 409, "reply_unavailable");
    await stateOf(gate, "bounded", { operation: "ask_order" });
    await delay(60);
  }
  assert.equal(origin.probes("bounded").length, 3);
});

test("a body that takes longer than the lease renews it, and is delivered whole", async () => {
  const first = order("slow");
  const command = await commandOf("slow");
  const reference = command.header("Oncegate-Reference");
  const lease = () => recordOf(gate, reference).record.state.in_progress.lease_until;
  const claimed = lease();
  await eventually(() => lease() > claimed + 1500);
  const waiting = order("slow");
  orders.finish("slow");
  const receipt = await executed(await first);
  assert.equal(receipt.body, BODY);
  await replayed(await waiting, receipt);
  const { record } = await storedAs(gate, reference, "completed");
  assert.deepEqual(record.journal.map(({ what }) => what), ["claimed", "completed"]);
});

test("a slow body that breaks off has succeeded, and its receipt is lost", async () => {
  const first = order("broken");
  const command = await commandOf("broken");
  const reference = command.header("Oncegate-Reference");
  await eventually(() => recordOf(gate, reference).record.state.in_progress.head);
  orders.cut("broken");
  await problemOf(await first, 502, "reply_unavailable");
  await problemOf(await order("broken"), 409, "reply_unavailable");
});

test("killed within a slow body: the head has decided, the receipt may be filled in", async () => {
  const keys = [["held", "kill-held"], ["asked", "kill-asked"]];
  const references = new Map();
  const broken = [];
  for (const [where, key] of keys) {
    broken.push(order(key, where).then(() => "answered", () => "broken off"));
    references.set(key, (await commandOf(key)).header("Oncegate-Reference"));
  }
  for (const reference of references.values()) {
    await eventually(() => recordOf(gate, reference).record.state.in_progress.head);
  }
  const receipt = '{"id":"ord_1","reply":"rebuilt"}';
  origin.script("kill-asked", NOT_FOUND, { status: 200, body: receipt });
  await gate.kill();
  assert.deepEqual(await Promise.all(broken), ["broken off", "broken off"]);
  for (const [, key] of keys) orders.cut(key);
  // Nobody asks the gate: the alarm finds the lease over.
  const held = await storedAs(gate, references.get("kill-held"), "completed");
  assert.equal(held.record.state.completed.reply.body, "lost");
  const lost = await problemOf(await order("kill-held"), 409, "reply_unavailable");
  assert.equal(lost.original_status, 201);
  const asked = references.get("kill-asked");
  await storedAs(gate, asked, "completed");
  await eventually(() => recordOf(gate, asked).record.state.completed.reply.body !== "lost");
  const rebuilt = await receiptOf(await order("kill-asked", "asked"));
  assert.equal(rebuilt.body, receipt);
  for (const [, key] of keys) {
    const sent = origin.requests.filter((it) => it.header("Idempotency-Key") === key);
    assert.equal(sent.length, 1, "nothing was sent again");
  }
});

test("killed before the head of a slow answer was stored: unknown, and never a guess", async () => {
  const other = await startOrigin();
  const policy = policyOf([
    operation("create_payment", { lease: "800ms", origin_timeout: "500ms" }),
  ]);
  const own = await startGate({ origin: other, policy });
  try {
    const hold = other.hold("POST /v1/payments");
    const client = pay(own, "headless").catch(() => {});
    const reference = (await hold.reached).header("Oncegate-Reference");
    await own.kill();
    await client;
    hold.release();
    const { record } = await storedAs(own, reference, "unknown");
    assert.equal(record.state.unknown.reason, "lease_lapsed");
  } finally {
    await own.dispose();
    await other.close();
  }
});
