// Conformance with draft-ietf-httpapi-idempotency-key-header-07 under the preset `ietf`: one test
// for each thing that it asks of a resource server, by section.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn, PAYMENT } from "./support/demo.mjs";
import { executed, isMarked, pay, refusal, replayed, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { rawRequest } from "./support/http.mjs";

let origin;
let gate;
before(async () => {
  origin = await startOrigin();
  const short = operation("create_refund", { keep: { for: "1h", tombstone: "2d" } });
  const policy = policyOf([operation("create_payment", { while_running: "pending" }), short], {
    preset: "ietf",
  });
  gate = await startGate({ origin, policy });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

/** A problem of the gate, with the link to what explains it that §2.7 asks for. */
async function explained(answer, status, code) {
  const problem = await refusal(gate, answer, status, code, answer.headers.get("Oncegate-State"));
  assert.match(answer.headers.get("Content-Type"), /^application\/problem\+json/);
  const link = /^<([^>]+)>; rel="describedby"$/.exec(answer.headers.get("Link") ?? "");
  assert.ok(link, "Link: rel=describedby");
  for (const url of [link[1], problem.type]) {
    const page = await fetch(url);
    assert.equal(page.status, 200, url);
    assert.ok((await page.text()).includes(code), `${url} tells of ${code}`);
  }
  return problem;
}

describe("§2.1 syntax", () => {
  test("the field is an Item whose value is a String: the quoted form is taken", async () => {
    const uuid = '"8e03978e-40d5-43e8-bc93-6894a57f9324"';
    const receipt = await executed(await pay(gate, uuid));
    assert.equal(origin.requests.at(-1).header("Idempotency-Key"), uuid, "the origin gets it too");
    await replayed(await pay(gate, uuid), receipt);
  });

  test("what is no single String is refused, before anything is done", async () => {
    await withoutTrace(gate, origin, async () => {
      for (const key of ['"half', '"a" "b"', '("a" "b")', '"a", "b"', '"a";v=1', '"\\x"']) {
        await explained(await pay(gate, key), 400, "key_malformed");
      }
      const twice = [
        ["Authorization", "Bearer demo"],
        ["Content-Type", "application/json"],
        ["Idempotency-Key", '"a"'],
        ["Idempotency-Key", '"b"'],
      ];
      const body = JSON.stringify(PAYMENT);
      const request = { method: "POST", target: "/v1/payments", headers: twice, body };
      assert.equal((await rawRequest(gate.url, request)).status, 400);
    });
  });
});

describe("§2.2 uniqueness", () => {
  test("a key belongs to one request: another payload under it is not carried out", async () => {
    const { effects } = await effectsIn(origin, async () => {
      await executed(await pay(gate, '"unique"'));
      const other = await pay(gate, '"unique"', {}, { ...PAYMENT, amount: 1 });
      assert.equal(other.status, 422);
    });
    assert.equal(effects.length, 1);
  });

  test("keys of two clients are different keys", async () => {
    const { effects } = await effectsIn(origin, async () => {
      await executed(await pay(gate, '"shared"', { authorization: "Bearer one" }));
      await executed(await pay(gate, '"shared"', { authorization: "Bearer two" }));
    });
    assert.equal(effects.length, 2);
  });
});

describe("§2.3 validity and expiry", () => {
  test("the expiration policy is published, per operation", async () => {
    const document = await (await gate.fetch("/.well-known/idempotency")).json();
    const refunds = document.operations.find(({ name }) => name === "create_refund");
    assert.equal(refunds.windows_ms["keep.for"], 3_600_000);
    assert.equal(refunds.windows_ms["keep.tombstone"], 172_800_000);
    assert.equal(refunds.after_expiry, "refuse");
  });
});

describe("§2.4 fingerprint", () => {
  test("the payload is compared by what it says, not by its bytes", async () => {
    const { effects } = await effectsIn(origin, async () => {
      const receipt = await executed(await pay(gate, '"fingerprint"'));
      const { amount, currency } = PAYMENT;
      const turned = await pay(gate, '"fingerprint"', {}, { currency, amount });
      await replayed(turned, receipt);
    });
    assert.equal(effects.length, 1);
  });
});

describe("§2.5 responsibilities of the resource", () => {
  test("the specification is published: syntax, place, what is refused, statuses", async () => {
    const answer = await gate.fetch("/.well-known/idempotency");
    assert.equal(answer.status, 200);
    const document = await answer.json();
    const payments = document.operations.find(({ name }) => name === "create_payment");
    assert.deepEqual(payments.match, ["POST /v1/payments"]);
    const [key] = payments.key;
    assert.equal(key.in, "header");
    assert.equal(key.name, "idempotency-key");
    assert.match(key.syntax, /RFC 9651/);
    assert.equal(payments.when_absent, "refuse");
    assert.equal(payments.statuses.key_reused, 422);
    assert.equal(payments.statuses.in_progress, 409);
    assert.equal(payments.statuses.key_missing, 400);
  });
});

describe("§2.6 enforcement", () => {
  test("a first request is processed as usual", async () => {
    const { effects } = await effectsIn(origin, async () => {
      const answer = await pay(gate, '"first"');
      assert.equal(isMarked(answer), false);
      await executed(answer);
    });
    assert.equal(effects.length, 1);
  });

  test("a duplicate of a completed one gets its result, success or error", async () => {
    const { effects } = await effectsIn(origin, async () => {
      const success = await executed(await pay(gate, '"duplicate"'));
      await replayed(await pay(gate, '"duplicate"'), success);
      const refused = { "Demo-Fail": "before:422" };
      const error = await executed(await pay(gate, '"error"', refused), 422);
      await replayed(await pay(gate, '"error"', refused), error);
    });
    assert.equal(effects.length, 1);
  });

  test("a concurrent one gets a resource conflict error", async () => {
    const held = origin.hold("POST /v1/payments");
    const { effects } = await effectsIn(origin, async () => {
      const first = pay(gate, '"concurrent"');
      await held.reached;
      const second = await pay(gate, '"concurrent"');
      const problem = await explained(second, 409, "in_progress");
      assert.equal(problem.retry, "same-key");
      held.release();
      const receipt = await executed(await first);
      await replayed(await pay(gate, '"concurrent"'), receipt);
    });
    assert.equal(effects.length, 1);
  });
});

describe("§2.7 errors", () => {
  test("a key that is missing where it is required: 400, with a link to what explains it", async () => {
    await withoutTrace(gate, origin, async () => {
      const headers = { authorization: "Bearer demo", "content-type": "application/json" };
      const body = JSON.stringify(PAYMENT);
      const answer = await gate.fetch("/v1/payments", { method: "POST", headers, body });
      await explained(answer, 400, "key_missing");
      await explained(await pay(gate, '""'), 400, "key_missing");
    });
  });

  test("a key that is used again with another payload: 422, likewise", async () => {
    await executed(await pay(gate, '"reused"'));
    const other = await pay(gate, '"reused"', {}, { ...PAYMENT, amount: 2 });
    const problem = await explained(other, 422, "key_reused");
    assert.equal(problem.retry, "new-key");
    assert.ok(!JSON.stringify(problem).includes(String(PAYMENT.amount)), "nothing of the first");
  });

  test("an outcome that is not known is a conflict too, never a success", async () => {
    const { effects } = await effectsIn(origin, async () => {
      const lost = await pay(gate, '"lost"', { "Demo-Fail": "after:500" });
      assert.equal(lost.headers.get("Oncegate-State"), "unknown");
      await explained(await pay(gate, '"lost"', { "Demo-Fail": "after:500" }), 409, "outcome_unknown");
    });
    assert.equal(effects.length, 1);
  });
});

describe("§1 scope", () => {
  test("methods that are idempotent by themselves need no key", async () => {
    const answer = await gate.fetch("/ledger.json");
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("Oncegate-State"), null);
  });
});
