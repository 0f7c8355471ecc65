// Stripe's own SDK through a gate under the preset `stripe`, with its automatic retries on, while
// the origin misbehaves: one effect per call, and no error of the gate ever passes for a payment.
//
// Every call has an amount of its own: by that the origin is told which request to spoil, and the
// ledger shows what came of it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import Stripe from "stripe";

import { startOrigin } from "../../demo/origin.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

const { StripeError, StripeIdempotencyError } = Stripe.errors;
const INTENTS = "POST /v1/payment_intents";
const WAIT = { answer: "wait", for: "300ms" };
const TIMES = { lease: "6s", origin_timeout: "2s", while_running: WAIT };
const intents = (fields) => {
  const protectedCall = operation("create_payment_intent", { ...TIMES, ...fields });
  return policyOf([protectedCall], { preset: "stripe" });
};

let origin;
let gate;
let closedGate;
before(async () => {
  origin = await startOrigin();
  gate = await startGate({ origin, policy: intents({ max_body: "2KiB" }) });
  closedGate = await startGate({ origin, policy: intents({ lease: "1ms" }) });
});
after(async () => {
  await gate?.dispose();
  await closedGate?.dispose();
  await origin?.close();
});

/** The SDK with a count of the requests that it sends. */
function sdk({ at = gate, key = "sk_test_gate", ...options } = {}) {
  const { hostname, port } = new URL(at.url);
  const settings = { host: hostname, port: Number(port), protocol: "http", telemetry: false };
  const stripe = new Stripe(key, { ...settings, maxNetworkRetries: 2, ...options });
  const sent = { count: 0 };
  stripe.on("request", () => (sent.count += 1));
  return { stripe, sent, create: create.bind(undefined, stripe) };
}

function create(stripe, amount, options) {
  return stripe.paymentIntents.create({ amount, currency: "eur" }, options);
}

function bodyHas(amount) {
  return ({ method, path, body }) =>
    `${method} ${path}` === INTENTS && body.toString().includes(`amount=${amount}&`);
}

/** The effects of an amount. */
function effects(amount) {
  return origin.ledger.entries.filter((entry) => entry.amount === amount);
}

/** The error of a call that must not resolve. */
async function rejection(call) {
  const { error, value } = await call.then(
    (resolved) => ({ value: resolved }),
    (reason) => ({ error: reason }),
  );
  assert.equal(value, undefined, `resolved as a success: ${JSON.stringify(value)}`);
  assert.ok(error instanceof StripeError, String(error));
  return error;
}

describe("stripe SDK", { concurrency: true }, () => {
  test("creates a payment and reads it back through the gate", async () => {
    const { stripe, sent, create } = sdk();
    const made = await create(1001);
    assert.equal(made.amount, 1001);
    assert.equal((await stripe.paymentIntents.retrieve(made.id)).id, made.id);
    assert.equal(sent.count, 2);
    assert.equal(effects(1001)[0].subject, made.id);
    assert.match(effects(1001)[0].idempotency_key, /^stripe-node-retry-/);
  });

  test("the same key twice is one payment; the second says that it is a replay", async () => {
    const { create } = sdk();
    const first = await create(1002, { idempotencyKey: "twice" });
    const second = await create(1002, { idempotencyKey: "twice" });
    assert.equal(second.id, first.id);
    assert.equal(first.lastResponse.headers["idempotent-replayed"], undefined);
    assert.equal(second.lastResponse.headers["idempotent-replayed"], "true");
    assert.equal(effects(1002).length, 1);
  });

  test("twenty calls at once with one key are one payment", async () => {
    const { create } = sdk();
    origin.arm({ "Demo-Delay": "100ms" }, { filter: bodyHas(1003) });
    const calls = Array.from({ length: 20 }, () => create(1003, { idempotencyKey: "crowd" }));
    const ids = new Set((await Promise.all(calls)).map(({ id }) => id));
    assert.equal(ids.size, 1);
    assert.equal(effects(1003).length, 1);
  });

  test("another amount under a used key is the SDK's idempotency error, at once", async () => {
    const { create, sent } = sdk();
    await create(1004, { idempotencyKey: "mismatch" });
    const error = await rejection(create(2004, { idempotencyKey: "mismatch" }));
    assert.ok(error instanceof StripeIdempotencyError, error.constructor.name);
    assert.equal(error.statusCode, 400);
    assert.equal(sent.count, 2);
    assert.deepEqual([effects(1004).length, effects(2004).length], [1, 0]);
  });

  for (const [amount, what, switches] of [
    [1101, "500 after applying", { "Demo-Fail": "after:500" }],
    [1102, "503 after applying", { "Demo-Fail": "after:503" }],
    [1103, "a connection reset after applying", { "Demo-Reset": "after" }],
  ]) {
    test(`${what}: retried by the SDK, run once, never a success`, async () => {
      const { create, sent } = sdk();
      origin.arm(switches, { filter: bodyHas(amount) });
      const options = { idempotencyKey: `spoilt-${amount}` };
      const error = await rejection(create(amount, options));
      assert.equal(error.code, "idempotency_key_in_use");
      assert.equal(error.statusCode, 409);
      assert.equal(sent.count, 3, "the SDK kept trying");
      await rejection(create(amount, options));
      assert.equal(effects(amount).length, 1);
    });
  }

  test("500 before applying cannot be told from one after: held, not run again", async () => {
    const { create } = sdk();
    origin.arm({ "Demo-Fail": "before:500" }, { filter: bodyHas(1104) });
    await rejection(create(1104));
    assert.equal(effects(1104).length, 0);
  });

  test("slower than the gate waits: the retry gets the late answer", async () => {
    const { create, sent } = sdk({ maxNetworkRetries: 4 });
    origin.arm({ "Demo-Delay": "2300ms" }, { filter: bodyHas(1105) });
    const made = await create(1105);
    assert.equal(made.id, effects(1105)[0].subject);
    assert.equal(effects(1105).length, 1);
    assert.ok(sent.count > 1);
  });

  test("slower than the SDK waits: it hangs up, and its retry gets the answer", async () => {
    const { create, sent } = sdk({ timeout: 250, maxNetworkRetries: 4 });
    origin.arm({ "Demo-Delay": "600ms" }, { filter: bodyHas(1106) });
    const made = await create(1106);
    assert.equal(made.id, effects(1106)[0].subject);
    assert.equal(effects(1106).length, 1);
    assert.ok(sent.count > 1);
  });

  test("a body cut short: an error at once, not retried, and an error ever after", async () => {
    const { create, sent } = sdk();
    origin.arm({ "Demo-Cut": "20" }, { filter: bodyHas(1107) });
    const options = { idempotencyKey: "cut" };
    const error = await rejection(create(1107, options));
    assert.deepEqual([error.code, error.statusCode], ["reply_unavailable", 502]);
    assert.equal(sent.count, 1, "another try could not help");
    const again = await rejection(create(1107, options));
    assert.deepEqual([again.code, again.statusCode], ["reply_unavailable", 409]);
    assert.equal(effects(1107).length, 1);
  });

  test("a refusal of the origin is the origin's own error, first and replayed", async () => {
    const { create } = sdk();
    origin.arm({ "Demo-Fail": "before:402" }, { filter: bodyHas(1108) });
    for (let n = 0; n < 2; n += 1) {
      const error = await rejection(create(1108, { idempotencyKey: "refused" }));
      assert.equal(error.statusCode, 402);
      assert.match(error.message, /Failed on demand/);
    }
    assert.equal(effects(1108).length, 0);
  });

  test("a 429 frees the key: the next call under it is the payment", async () => {
    const { create } = sdk();
    origin.arm({ "Demo-Fail": "before:429" }, { filter: bodyHas(1109) });
    const options = { idempotencyKey: "busy" };
    assert.equal((await rejection(create(1109, options))).statusCode, 429);
    const made = await create(1109, options);
    assert.deepEqual(
      effects(1109).map(({ subject, attempt }) => [subject, attempt]),
      [[made.id, 2]],
    );
  });

  test("while the first call runs, a second that does not retry is an error", async () => {
    const hold = origin.hold(bodyHas(1110));
    const first = sdk().create(1110, { idempotencyKey: "running" });
    await hold.reached;
    const { create } = sdk({ maxNetworkRetries: 0 });
    const error = await rejection(create(1110, { idempotencyKey: "running" }));
    assert.equal(error.code, "idempotency_key_in_use");
    hold.release();
    assert.equal((await first).id, effects(1110)[0].subject);
    assert.equal(effects(1110).length, 1);
  });
});

describe("no error of the gate passes for a success", { concurrency: true }, () => {
  const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";
  const once = { maxNetworkRetries: 0 };

  test("key_malformed", async () => {
    const error = await rejection(sdk(once).create(1, { idempotencyKey: "two words" }));
    assert.deepEqual([error.code, error.statusCode], ["key_malformed", 400]);
  });

  test("principal_unstable", async () => {
    const error = await rejection(sdk({ ...once, key: JWT }).create(1));
    assert.deepEqual([error.code, error.statusCode], ["principal_unstable", 401]);
  });

  test("body_too_large", async () => {
    const { stripe } = sdk(once);
    const description = "long ".repeat(1000);
    const call = stripe.paymentIntents.create({ amount: 1, currency: "eur", description });
    const error = await rejection(call);
    assert.deepEqual([error.code, error.statusCode], ["body_too_large", 413]);
  });

  test("target_ambiguous", async () => {
    const { stripe } = sdk(once);
    const error = await rejection(stripe.rawRequest("POST", "/v1/payment_intents/", { amount: 1 }));
    assert.deepEqual([error.code, error.statusCode], ["target_ambiguous", 400]);
  });

  test("gate_unavailable, under a policy that is not valid", async () => {
    const { create, sent } = sdk({ at: closedGate, maxNetworkRetries: 1 });
    const error = await rejection(create(1));
    assert.deepEqual([error.code, error.statusCode], ["gate_unavailable", 503]);
    assert.equal(sent.count, 2, "it is worth another try");
  });

  test("origin_unreachable on an unprotected call", async () => {
    const gone = await startOrigin();
    await gone.close();
    const at = await startGate({ origin: gone.url, policy: intents({}) });
    try {
      const { stripe } = sdk({ at, ...once });
      const error = await rejection(stripe.paymentIntents.retrieve("pi_1"));
      assert.deepEqual([error.code, error.statusCode], ["origin_unreachable", 502]);
    } finally {
      await at.dispose();
    }
  });

  test("origin_unreachable and outcome_unknown on a protected call", async () => {
    const gone = await startOrigin();
    await gone.close();
    const at = await startGate({ origin: gone.url, policy: intents({}) });
    try {
      const { create } = sdk({ at, ...once });
      const first = await rejection(create(1, { idempotencyKey: "k" }));
      assert.deepEqual([first.code, first.statusCode], ["origin_unreachable", 502]);
      const second = await rejection(create(1, { idempotencyKey: "k" }));
      assert.deepEqual([second.code, second.statusCode], ["idempotency_key_in_use", 409]);
    } finally {
      await at.dispose();
    }
  });

  test("key_expired", async () => {
    const keep = { for: "50ms", tombstone: "1m" };
    const at = await startGate({ origin, policy: intents({ keep }) });
    try {
      const { create } = sdk({ at, ...once });
      await create(1201, { idempotencyKey: "old" });
      const deadline = Date.now() + 5000;
      let outcome;
      do {
        outcome = await create(1201, { idempotencyKey: "old" }).catch((error) => error);
      } while (!(outcome instanceof Error) && Date.now() < deadline);
      assert.ok(outcome instanceof StripeError, String(outcome));
      assert.deepEqual([outcome.code, outcome.statusCode], ["key_expired", 409]);
      assert.equal(effects(1201).length, 1);
    } finally {
      await at.dispose();
    }
  });

  test("duplicate, of the minimal guard", async () => {
    const at = await startGate({ origin, policy: intents({ on_repeat: "refuse" }) });
    try {
      const { create } = sdk({ at, ...once });
      await create(1202, { idempotencyKey: "guard" });
      const error = await rejection(create(1202, { idempotencyKey: "guard" }));
      assert.deepEqual([error.code, error.statusCode], ["duplicate", 409]);
      assert.equal(effects(1202).length, 1);
    } finally {
      await at.dispose();
    }
  });
});
