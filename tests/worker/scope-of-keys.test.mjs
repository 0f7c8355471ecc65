// What makes two equal keys one key or two: tenant, operation, chosen parts of the request, and
// never the spelling.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn, PAYMENT, postTo } from "./support/demo.mjs";
import { executed, isMarked, pay, refusal, replayed, statusOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

let origin;
let gate;
let perPayment;
before(async () => {
  origin = await startOrigin();
  gate = await startGate({ origin });
  const key = ["path:id", "header:Idempotency-Key"];
  const capture = operation("authorise_payment", { key });
  const scoped = operation("create_payment", { scope: ["principal", "header:X-Shop"] });
  perPayment = await startGate({ origin, policy: policyOf([capture, scoped]) });
});
after(async () => {
  await gate?.dispose();
  await perPayment?.dispose();
  await origin?.close();
});

/** An authorise call on a payment. */
function authorise(at, id, key) {
  return postTo(at, `/v1/payments/${id}/authorise`, undefined, { "Idempotency-Key": key });
}

/** Two payments that can be authorised, made at the origin itself. */
async function twoPayments() {
  const make = async () => (await postTo(origin, "/v1/payments", PAYMENT)).json();
  return [(await make()).id, (await make()).id];
}

test("two tenants with one key are two operations", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const as = (tenant) => pay(gate, "shared", { authorization: `Bearer ${tenant}` });
    const [a, b] = [await executed(await as("tenant-a")), await executed(await as("tenant-b"))];
    assert.notEqual(a.body, b.body);
    assert.notEqual(a["Oncegate-Reference"], b["Oncegate-Reference"]);
    await replayed(await as("tenant-a"), a);
    await replayed(await as("tenant-b"), b);
    // Another command of one tenant is no conflict for the other, and shows nothing of it.
    const other = { amount: 1, currency: "USD" };
    const c = await pay(gate, "shared", { authorization: "Bearer tenant-c" }, other);
    assert.equal(JSON.parse((await executed(c)).body).amount, 1);
  });
  assert.equal(effects.length, 3);
});

test("a scheme in other letters is the same tenant; other credentials are not", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const as = (authorization) => pay(gate, "scheme", { authorization });
    const receipt = await executed(await as("Bearer Opaque-1"));
    await replayed(await as("bearer   Opaque-1"), receipt);
    await executed(await as("Bearer opaque-1"));
    await executed(await as("Basic Opaque-1"));
  });
  assert.equal(effects.length, 3);
});

test("one key on two operations is two operations", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const payment = await executed(await pay(gate, "two-operations"));
    const { id } = JSON.parse(payment.body);
    const authorised = await executed(await authorise(gate, id, "two-operations"), 200);
    await replayed(await pay(gate, "two-operations"), payment);
    await replayed(await authorise(gate, id, "two-operations"), authorised);
  });
  assert.deepEqual(
    effects.map((effect) => effect.operation),
    ["create_payment", "authorise_payment"],
  );
});

test("one key on two path parameters is one key, and the second another command", async () => {
  const [one, two] = await twoPayments();
  const { effects } = await effectsIn(origin, async () => {
    const receipt = await executed(await authorise(gate, one, "path"), 200);
    await refusal(gate, await authorise(gate, two, "path"), 409, "key_reused");
    await replayed(await authorise(gate, one, "path"), receipt);
  });
  assert.deepEqual(
    effects.map(({ subject }) => subject),
    [one],
  );
});

test("where the path parameter is part of the key they are two keys", async () => {
  const [one, two] = await twoPayments();
  const { effects } = await effectsIn(origin, async () => {
    const first = await executed(await authorise(perPayment, one, "path"), 200);
    const second = await executed(await authorise(perPayment, two, "path"), 200);
    await replayed(await authorise(perPayment, one, "path"), first);
    await replayed(await authorise(perPayment, two, "path"), second);
    const escaped = one.replace(/^p/, "%70");
    await replayed(await authorise(perPayment, escaped, "path"), first);
  });
  assert.deepEqual(
    effects.map(({ subject }) => subject),
    [one, two],
  );
});

test("a header in the scope keeps keys apart, and so does its absence", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const from = (shop) => pay(perPayment, "shop", shop && { "X-Shop": shop });
    const receipt = await executed(await from("berlin"));
    await executed(await from("paris"));
    await executed(await from(undefined));
    await replayed(await from("berlin"), receipt);
  });
  assert.equal(effects.length, 3);
});

test("the quoted and the bare spelling of a value are one key", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const receipt = await executed(await pay(gate, "spelling-1"));
    await replayed(await pay(gate, '"spelling-1"'), receipt);
    await executed(await pay(gate, "Spelling-1"));
  });
  assert.equal(effects.length, 2, "case counts, quotes do not");
});

test("a quoted key may hold spaces, escapes and 255 characters", async () => {
  const long = "k".repeat(255);
  for (const [one, other] of [
    ['"two words; and, more"', undefined],
    ['"a\\"b\\\\c"', undefined],
    [long, `"${long}"`],
  ]) {
    const { effects } = await effectsIn(origin, async () => {
      const receipt = await executed(await pay(gate, one));
      await replayed(await pay(gate, other ?? one), receipt);
    });
    assert.equal(effects.length, 1, one);
  }
});

test("a renewed reference is not handed to another tenant", async () => {
  const receipt = await executed(await pay(gate, "mine", { authorization: "Bearer mine" }));
  const reference = receipt["Oncegate-Reference"];
  for (const asked of ["mine", { reference }]) {
    const theirs = await statusOf(gate, asked, { headers: { authorization: "Bearer theirs" } });
    await refusal(gate, theirs, 404, "record_not_found");
    const mine = await statusOf(gate, asked, { headers: { authorization: "Bearer mine" } });
    assert.equal(mine.status, 200);
  }
  const theirs = await pay(gate, "mine", { authorization: "Bearer theirs" });
  assert.equal(isMarked(theirs), false);
});
