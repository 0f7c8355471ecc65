// Keys that stand in the body of a request, and in its query: ad billing works without a header.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn } from "./support/demo.mjs";
import { executed, PAYMENTS, refusal, replayed, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { rawRequest } from "./support/http.mjs";

const KEY = ["body:/order/id", "body:/lines/0/sku"];

let origin;
let gate;
let passing;
let separate;
before(async () => {
  origin = await startOrigin({
    handler: (request) => {
      origin.ledger.record({ operation: "order", subject: request.target, amount: 1 }, {});
      return { status: 201, body: JSON.stringify({ n: origin.ledger.count() }) };
    },
  });
  const gateOf = (fields) =>
    startGate({ origin, policy: policyOf([operation("create_payment", fields)]) });
  gate = await gateOf({ key: KEY });
  passing = await gateOf({ key: KEY, when_absent: "pass" });
  separate = await gateOf({ key: ["body:/id"], on_mismatch: "separate", scope: ["principal", "body:/shop"] });
});
after(async () => {
  for (const each of [gate, passing, separate]) await each?.dispose();
  await origin?.close();
});

/** A POST of exactly this text. */
function send(at, body, headers = {}) {
  const all = { authorization: "Bearer demo", "content-type": "application/json", ...headers };
  return fetch(at.url + PAYMENTS, { method: "POST", headers: all, body });
}

const order = (id, sku = "a", more = "") => `{"order":{"id":${id}},"lines":[{"sku":"${sku}"}]${more}}`;

test("one value is one key in whatever spelling; its JSON type counts", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const receipt = await executed(await send(gate, order("1")));
    for (const same of ["1.0", "1e0", "10E-1"]) {
      await replayed(await send(gate, order(same)), receipt);
    }
    const spaced = '{ "lines": [ {"sku": "\\u0061"} ], "order": {"id": 1} }';
    await replayed(await send(gate, spaced), receipt);
    const zipped = await send(gate, gzipSync(order("1")), { "content-encoding": "gzip" });
    await replayed(zipped, receipt);
    for (const other of ['"1"', '"000001"', "true", "10", "-1"]) {
      await executed(await send(gate, order(other)));
    }
    await executed(await send(gate, order("1", "b")));
  });
  assert.equal(effects.length, 7);
});

test("a restated order is refused, or kept apart, and never added in silence", async () => {
  const { effects } = await effectsIn(origin, async () => {
    await executed(await send(gate, order('"restated"')));
    const restated = await send(gate, order('"restated"', "a", ',"total":2'));
    await refusal(gate, restated, 409, "key_reused");
    const first = await executed(await send(separate, '{"id":1,"shop":"x","total":1}'));
    const second = await executed(await send(separate, '{"id":1,"shop":"x","total":2}'));
    assert.notEqual(first["Oncegate-Reference"], second["Oncegate-Reference"]);
    await replayed(await send(separate, '{"id":1,"shop":"x","total":1}'), first);
    // Another value of the scope, or none, is another key.
    await executed(await send(separate, '{"id":1,"shop":"y","total":1}'));
    await executed(await send(separate, '{"id":1,"total":1}'));
  });
  assert.equal(effects.length, 5);
});

test("the media type does not matter: a beacon sends JSON as text", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const text = { "content-type": "text/plain;charset=UTF-8" };
    const receipt = await executed(await send(gate, order('"beacon"'), text));
    await replayed(await send(gate, order('"beacon"'), text), receipt);
  });
  assert.equal(effects.length, 1);
});

test("a key that is missing or can be read in two ways is refused without a trace", async () => {
  const long = JSON.stringify("k".repeat(256));
  const rows = [
    ["", "key_missing"],
    ["{}", "key_missing"],
    ['{"order":{"id":1}}', "key_missing"],
    ['{"order":{"id":1},"lines":[]}', "key_missing"],
    [order('""'), "key_missing"],
    [order("null"), "key_malformed"],
    [order("{}"), "key_malformed"],
    [order("[1]"), "key_malformed"],
    ['{"order":{"id":1,"id":2},"lines":[{"sku":"a"}]}', "key_malformed"],
    ['{"order":{"id":1,"\\u0069d":1},"lines":[{"sku":"a"}]}', "key_malformed"],
    [order("1").slice(0, -1), "key_malformed"],
    ["order=1", "key_malformed"],
    [order('"\\ud800"'), "key_malformed"],
    [Buffer.from(order('"\xff"'), "latin1"), "key_malformed"],
    [order(long), "key_malformed"],
    [order("1".repeat(300)), "key_malformed"],
    ["[".repeat(100_000), "key_malformed"],
  ];
  await withoutTrace(gate, origin, async () => {
    for (const [body, code] of rows) {
      const problem = await refusal(gate, await send(gate, body), 400, code);
      assert.match(problem.detail, /body at \/(order\/id|lines\/0\/sku)/);
    }
    const bomb = gzipSync(Buffer.alloc(20 << 20, 0x20));
    const zipped = await send(gate, bomb, { "content-encoding": "gzip" });
    await refusal(gate, zipped, 400, "command_malformed");
    const nobody = await send(gate, order("1"), { authorization: "" });
    await refusal(gate, nobody, 401, "principal_missing");
  });
});

test("a key of 255 characters is taken, of any script", async () => {
  await executed(await send(gate, order(JSON.stringify("k".repeat(255)))));
  await executed(await send(gate, order(JSON.stringify("é".repeat(255)))));
});

test("a body without its key passes as it came, where the policy lets it", async () => {
  const body = '{ "order" : {}, "b": "\\u0061" }';
  const { effects } = await effectsIn(origin, async () => {
    for (let n = 0; n < 2; n += 1) {
      const answer = await send(passing, body, { "x-own": "kept" });
      assert.equal(answer.status, 201);
      assert.equal(answer.headers.get("Oncegate-State"), "bypassed");
      const seen = origin.requests.at(-1);
      assert.equal(seen.body.toString(), body);
      assert.equal(seen.header("X-Own"), "kept");
      assert.equal(seen.header("Content-Type"), "application/json");
      assert.ok(!seen.header("Oncegate-Reference"));
    }
    const empty = await send(passing, undefined);
    assert.equal(empty.headers.get("Oncegate-State"), "bypassed");
    assert.equal(origin.requests.at(-1).body.length, 0);
    // What cannot be read is not passed: it may hold a key.
    await refusal(passing, await send(passing, '{"order":'), 400, "key_malformed");
  });
  assert.equal(effects.length, 3);
});

test("a body that is too long or breaks off is refused before its key is looked at", async () => {
  await withoutTrace(gate, origin, async () => {
    const large = order(JSON.stringify("a".repeat(2 << 20)));
    await refusal(gate, await send(gate, large), 413, "body_too_large");
    const chunked = [["Authorization", "Bearer demo"], ["Content-Type", "application/json"]];
    const body = [large];
    const answer = await rawRequest(gate.url, { method: "POST", target: PAYMENTS, headers: chunked, body });
    await refusal(gate, answer, 413, "body_too_large");
  });
});

test("the status of such an operation is asked for by its reference", async () => {
  const receipt = await executed(await send(gate, order('"by-reference"')));
  const url = `${gate.url}/.well-known/idempotency/status/create_payment`;
  const headers = { authorization: "Bearer demo" };
  const found = await fetch(`${url}?reference=${receipt["Oncegate-Reference"]}`, { headers });
  assert.equal((await found.json()).state, "completed");
  const byKey = await fetch(url, { headers });
  await refusal(gate, byKey, 400, "key_missing");
});
