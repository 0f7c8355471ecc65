// The demo origin itself: every route, and a ledger that counts what was done.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import Stripe from "stripe";

import { startOrigin } from "../../demo/origin.mjs";
import { AUTHORISED, effectsIn, getFrom, PAYMENT, postTo, problemOf } from "./support/demo.mjs";

let origin;
before(async () => {
  origin = await startOrigin();
});
after(() => origin.close());

const post = (path, value, headers) => postTo(origin, path, value, headers);
const get = (path, headers) => getFrom(origin, path, headers);
const effectsOf = (work) => effectsIn(origin, work);

async function newPayment(...steps) {
  const { id } = await (await post("/v1/payments", PAYMENT)).json();
  for (const step of steps) assert.equal((await post(`/v1/payments/${id}/${step}`)).status, 200);
  return id;
}

describe("payments", () => {
  test("a new payment is answered with its address, its tag and its body", async () => {
    const sent = {
      "oncegate-reference": "og_a.1",
      "oncegate-attempt": "2",
      "idempotency-key": "k",
    };
    const { result, effects } = await effectsOf(() => post("/v1/payments", PAYMENT, sent));
    assert.equal(result.status, 201);
    const body = await result.json();
    const { id } = body;
    assert.deepEqual(body, { id, status: "created", ...PAYMENT, reference: "og_a.1" });
    assert.equal(result.headers.get("location"), `/v1/payments/${id}`);
    assert.equal(result.headers.get("etag"), `"${id}-1"`);
    assert.equal(effects.length, 1);
    const [{ n, at, ...effect }] = effects;
    assert.equal(n, origin.ledger.count());
    assert.ok(!Number.isNaN(Date.parse(at)));
    assert.deepEqual(effect, {
      operation: "create_payment",
      reference: "og_a.1",
      attempt: 2,
      idempotency_key: "k",
      subject: id,
      amount: 1000,
    });
  });

  test("the same command twice is two effects, also under one key", async () => {
    const key = { "idempotency-key": "again" };
    const { effects } = await effectsOf(async () => {
      await post("/v1/payments", PAYMENT, key);
      await post("/v1/payments", PAYMENT, key);
    });
    assert.equal(effects.length, 2);
    assert.notEqual(effects[0].subject, effects[1].subject);
  });

  test("authorise, capture and settle are separate effects in this order only", async () => {
    const id = await newPayment();
    const { effects } = await effectsOf(async () => {
      await problemOf(await post(`/v1/payments/${id}/capture`), 409, "wrong_state");
      for (const [step, status] of [
        ["authorise", "authorised"],
        ["capture", "captured"],
        ["settle", "settled"],
      ]) {
        const done = await post(`/v1/payments/${id}/${step}`, {});
        assert.equal(done.status, 200);
        assert.equal((await done.json()).status, status);
        await problemOf(await post(`/v1/payments/${id}/${step}`), 409, "wrong_state");
      }
    });
    const operations = effects.map((it) => it.operation);
    assert.deepEqual(operations, ["authorise_payment", "capture_payment", "settle_payment"]);
    const shown = await get(`/v1/payments/${id}`);
    assert.equal((await shown.json()).status, "settled");
    assert.equal(shown.headers.get("etag"), `"${id}-4"`);
  });

  test("a refund needs a captured payment, and refunding twice shows", async () => {
    const early = { payment: await newPayment("authorise"), amount: 10 };
    await problemOf(await post("/v1/refunds", early), 409, "wrong_state");
    const payment = await newPayment("authorise", "capture");
    await problemOf(await post("/v1/refunds", { payment, amount: 1001 }), 422, "amount_invalid");
    const { result, effects } = await effectsOf(async () => {
      await post("/v1/refunds", { payment, amount: 1000 });
      return post("/v1/refunds", { payment, amount: 1000 });
    });
    assert.equal(result.status, 201);
    const refund = await result.json();
    assert.equal(result.headers.get("location"), `/v1/refunds/${refund.id}`);
    assert.equal((await (await get(`/v1/refunds/${refund.id}`)).json()).payment, payment);
    assert.deepEqual(effects.map((it) => [it.operation, it.amount]), [
      ["create_refund", 1000],
      ["create_refund", 1000],
    ]);
  });

  test("what is not there is 404, and nothing is applied", async () => {
    const { effects } = await effectsOf(async () => {
      await problemOf(await get("/v1/payments/pay_none"), 404, "not_found");
      await problemOf(await post("/v1/payments/pay_none/capture"), 404, "not_found");
      await problemOf(await post("/v1/payments/pay_none/explode"), 404, "not_found");
      const refund = { payment: "pay_none", amount: 1 };
      await problemOf(await post("/v1/refunds", refund), 404, "not_found");
      await problemOf(await get("/v1/nothing"), 404, "not_found");
      await problemOf(await get("/elsewhere"), 404, "not_found");
    });
    assert.equal(effects.length, 0);
  });

  test("bad bodies, media types and methods are refused, and nothing is applied", async () => {
    const { effects } = await effectsOf(async () => {
      const bad = (amount, currency) => post("/v1/payments", { amount, currency });
      await problemOf(await bad(0, "EUR"), 422, "amount_invalid");
      await problemOf(await bad("10", "EUR"), 422, "amount_invalid");
      await problemOf(await bad(10, "EURO"), 422, "currency_invalid");
      await problemOf(await post("/v1/payments", [1]), 422, "object_expected");
      const type = { "content-type": "text/plain" };
      await problemOf(await post("/v1/payments", PAYMENT, type), 415, "media_type");
      const json = { ...AUTHORISED, "content-type": "application/json" };
      const broken = { method: "POST", headers: json, body: '{"amount":' };
      const answer = await fetch(`${origin.url}/v1/payments`, broken);
      await problemOf(answer, 400, "json_malformed");
      const wrong = await fetch(`${origin.url}/v1/payments`, { method: "PUT", headers: json });
      await problemOf(wrong, 405, "method_not_allowed");
      assert.equal(wrong.headers.get("allow"), "GET, POST");
    });
    assert.equal(effects.length, 0);
  });

  test("everything under /v1 asks for an Authorization header", async () => {
    const { effects } = await effectsOf(async () => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(PAYMENT);
      const answer = await fetch(`${origin.url}/v1/payments`, { method: "POST", headers, body });
      await problemOf(answer, 401, "unauthorised");
      assert.match(answer.headers.get("www-authenticate"), /^Bearer /);
      assert.equal((await get("/v1/payments?reference=x", {})).status, 401);
      assert.equal((await get("/v1/payment_intents/pi_x", {})).status, 401);
    });
    assert.equal(effects.length, 0);
  });

  test("the look-up finds at most one payment by its reference", async () => {
    const reference = "og_lookup.0123456789abcdef";
    const sent = { "oncegate-reference": reference };
    const lookUp = async () => (await get(`/v1/payments?reference=${reference}`)).json();
    assert.deepEqual(await lookUp(), { data: [] });
    const first = await (await post("/v1/payments", PAYMENT, sent)).json();
    assert.deepEqual(await lookUp(), { data: [first] });
    await post("/v1/payments", PAYMENT, sent);
    assert.deepEqual(await lookUp(), { data: [first] });
    await problemOf(await get("/v1/payments"), 400, "reference_missing");
  });

  test("the look-up of operations finds an effect that created nothing", async () => {
    const id = await newPayment("authorise");
    const reference = "og_capture.0123456789abcdef";
    const lookUp = async () => (await get(`/v1/operations?reference=${reference}`)).json();
    assert.deepEqual(await lookUp(), { data: [] });
    await post(`/v1/payments/${id}/capture`, undefined, { "oncegate-reference": reference });
    const { data } = await lookUp();
    assert.deepEqual(data.map((it) => [it.operation, it.subject, it.reference]), [
      ["capture_payment", id, reference],
    ]);
  });
});

describe("the Stripe-shaped corner", () => {
  const client = (more) =>
    new Stripe("sk_test_demo", {
      host: "127.0.0.1",
      port: origin.port,
      protocol: "http",
      telemetry: false,
      ...more,
    });

  test("Stripe's SDK creates and reads a PaymentIntent", async () => {
    const { result, effects } = await effectsOf(() =>
      client().paymentIntents.create({
        amount: 2000,
        currency: "EUR",
        confirm: true,
        payment_method: "pm_card_visa",
        metadata: { order: "6735" },
      }),
    );
    assert.equal(result.object, "payment_intent");
    assert.equal(result.status, "succeeded");
    assert.equal(result.currency, "eur");
    assert.deepEqual({ ...result.metadata }, { order: "6735" });
    assert.deepEqual(effects.map((it) => [it.operation, it.subject, it.amount]), [
      ["create_payment_intent", result.id, 2000],
    ]);
    assert.ok(effects[0].idempotency_key, "the SDK sends a key of its own");
    const read = await client().paymentIntents.retrieve(result.id);
    assert.equal(read.client_secret, result.client_secret);
  });

  test("its errors are the SDK's own kinds of error", async () => {
    const intents = client().paymentIntents;
    const invalid = { type: "StripeInvalidRequestError" };
    await assert.rejects(intents.create({ amount: 0, currency: "eur" }), invalid);
    await assert.rejects(intents.create({ amount: 5, currency: "x" }), invalid);
    const missing = { ...invalid, code: "resource_missing", statusCode: 404 };
    await assert.rejects(intents.retrieve("pi_none"), missing);
  });

  test("a failure on demand after the effect makes the SDK's retry a second effect", async () => {
    origin.arm({ "Demo-Fail": "after:500" }, { filter: "POST /v1/payment_intents" });
    const { result, effects } = await effectsOf(() =>
      client({ maxNetworkRetries: 2 }).paymentIntents.create({ amount: 70, currency: "eur" }),
    );
    assert.equal(effects.length, 2);
    assert.equal(effects[0].idempotency_key, effects[1].idempotency_key);
    assert.equal(result.id, effects[1].subject);
  });
});

describe("the ledger's pages", () => {
  test("the page shows every effect and escapes what came from a request", async () => {
    const key = '<script>"&';
    await post("/v1/payments", PAYMENT, { "idempotency-key": key });
    const answer = await get("/ledger", {});
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type"), /^text\/html/);
    const page = await answer.text();
    assert.ok(page.includes("&lt;script&gt;&quot;&amp;"));
    assert.ok(!page.includes("<script"));
    assert.equal(page.split("<tr>").length - 2, origin.ledger.count());
    assert.doesNotMatch(page, /(src|href)=/);
  });

  test("the JSON holds the same entries, and the root leads to the page", async () => {
    const { count, entries } = await (await get("/ledger.json", {})).json();
    assert.equal(count, origin.ledger.count());
    assert.deepEqual(entries, JSON.parse(JSON.stringify(origin.ledger.entries)));
    const root = await get("/", {});
    assert.equal(root.status, 303);
    assert.equal(root.headers.get("location"), "/ledger");
    await problemOf(await post("/ledger"), 405, "method_not_allowed");
  });
});

test("the command prints its address and ends on SIGTERM", async () => {
  const script = fileURLToPath(new URL("../../demo/origin.mjs", import.meta.url));
  const stdio = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, [script, "--port", "0"], { stdio });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const url = /^demo origin listening on (http:\/\/127\.0\.0\.1:\d+)$/.exec(line)?.[1];
  assert.ok(url, line);
  assert.equal((await fetch(`${url}/ledger`)).status, 200);
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  assert.deepEqual(await exit, [0, null]);
});
