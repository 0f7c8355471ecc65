// Purging: an operator has a kept reply forgotten at once, on the disk too; the key is still
// remembered. Without the token the route is not there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { effectsIn } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, pay, refusal, stateOf } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";

const TOKEN = "operator-token";
const it = gateForTests({ policy: payments(), vars: { ONCEGATE_ADMIN_TOKEN: TOKEN } });

const purge = (body, token = TOKEN, method = "POST") =>
  it.gate.fetch("/.oncegate/purge", {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
  });

const order = (response, more = {}) => ({
  operation: "create_payment",
  reference: response.headers.get("Oncegate-Reference"),
  reason: "asked to by the customer",
  ...more,
});

const onDisk = (text) =>
  it.gate.objects().some(({ kv }) => kv.some(({ value }) => value.includes(Buffer.from(text))));

test("a purge removes the reply at once and leaves what is known of the outcome", async () => {
  const { effects } = await effectsIn(it.origin, async () => {
    const first = await pay(it.gate, "purged");
    const receipt = await executed(first);
    const id = receipt.id ?? JSON.parse(receipt.body ?? receipt.text).id;
    assert.ok(onDisk(id));
    const done = await purge(order(first));
    assert.equal(done.status, 200);
    assert.equal((await done.json()).state, "completed");
    assert.ok(!onDisk(id), "nothing of the reply is left on the disk");
    await refusal(it.gate, await pay(it.gate, "purged"), 409, "reply_unavailable");
    assert.ok(onDisk("asked to by the customer"), "the journal says why");
  });
  assert.equal(effects.length, 1);
});

test("what is unknown cannot be purged", async () => {
  const first = await pay(it.gate, "unknown", { "Demo-Fail": "after:500" });
  const refused = await purge(order(first));
  assert.equal(refused.status, 409);
  assert.equal((await refused.json()).code, "outcome_unknown");
  assert.equal((await stateOf(it.gate, "unknown")).state ?? "unknown", "unknown");
});

test("without the token, or with another, there is no such route", async () => {
  const first = await pay(it.gate, "closed");
  for (const token of ["", "another", `${TOKEN}x`]) {
    assert.equal((await purge(order(first), token)).status, 404);
  }
  const open = await it.gate.fetch("/.oncegate/purge", { method: "POST", body: "{}" });
  assert.equal(open.status, 404);
});

test("an order that is not complete names what is missing and does nothing", async () => {
  const first = await pay(it.gate, "incomplete");
  for (const [more, name] of [
    [{ reason: " " }, /^reason/],
    [{ reference: "og_x" }, /^reference/],
    [{ operation: 7 }, /^operation/],
  ]) {
    const refused = await purge(order(first, more));
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).detail, name);
  }
  assert.equal((await purge(order(first, { operation: "create_refund" }))).status, 404);
  assert.equal((await purge({}, TOKEN, "GET")).status, 405);
});
