// The demo origin under test: every switch that makes it misbehave, and every way to watch it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { startOrigin } from "../../demo/origin.mjs";
import { AUTHORISED, effectsIn, getFrom, PAYMENT, postTo, problemOf } from "./support/demo.mjs";
import { rawRequest } from "./support/http.mjs";

let origin;
before(async () => {
  origin = await startOrigin();
});
after(() => origin.close());

const post = (path, value, headers) => postTo(origin, path, value, headers);
const get = (path, headers) => getFrom(origin, path, headers);
const effectsOf = (work) => effectsIn(origin, work);

describe("switches", () => {
  const pay = (headers) => effectsOf(() => post("/v1/payments", PAYMENT, headers));
  const raw = (headers, more = {}) =>
    rawRequest(origin.url, {
      method: "POST",
      target: "/v1/payments",
      headers: [
        ["Authorization", "Bearer demo"],
        ["Content-Type", "application/json"],
        ...Object.entries(headers),
      ],
      body: JSON.stringify(PAYMENT),
      ...more,
    });

  /** Milliseconds from the last request's arrival to its effect, and to its answer. */
  function times({ effects }) {
    const arrived = origin.requests.at(-1).at;
    return { effect: Date.parse(effects[0].at) - arrived, answer: Date.now() - arrived };
  }

  test("Demo-Delay applies first and answers later", async () => {
    const done = await pay({ "demo-delay": "300ms" });
    assert.equal(done.result.status, 201);
    const { effect, answer } = times(done);
    assert.ok(effect < 250, `effect after ${effect} ms`);
    assert.ok(answer >= 295, `answer after ${answer} ms`);
  });

  test("Demo-Delay-Before waits first and applies although the client has gone", async () => {
    const done = await pay({ "demo-delay-before": "300ms" });
    assert.ok(times(done).effect >= 295);
    const arrival = origin.nextRequest((it) => it.header("idempotency-key") === "gone");
    const hold = origin.hold((it) => it.header("idempotency-key") === "gone");
    const headers = { "Demo-Delay-Before": "50ms", "Idempotency-Key": "gone" };
    assert.deepEqual(await raw(headers, { hangUp: arrival }), { hungUp: true });
    const request = await hold.reached;
    assert.equal(await request.ended, "aborted");
    assert.equal(origin.ledger.entries.at(-1).idempotency_key, "gone");
    hold.release();
  });

  test("Demo-Fail before answers with its status and applies nothing", async () => {
    const { result, effects } = await pay({ "demo-fail": "before:503" });
    await problemOf(result, 503, "failed_on_demand");
    assert.equal(effects.length, 0);
  });

  test("Demo-Fail after applies and answers with its status", async () => {
    const { result, effects } = await pay({ "demo-fail": "after:500" });
    await problemOf(result, 500, "failed_on_demand");
    assert.equal(effects.length, 1);
  });

  test("Demo-Late answers 504 at once, and applies later", async () => {
    const { result, effects } = await pay({ "demo-late": "100ms" });
    const { detail } = await problemOf(result, 504, "failed_on_demand");
    assert.match(detail, /yet to be applied/);
    assert.equal(effects.length, 0);
    const { effects: late } = await effectsOf(() => delay(250));
    assert.equal(late.length, 1);
  });

  for (const [when, count] of [["before", 0], ["after", 1]]) {
    test(`Demo-Hang ${when} never answers and leaves ${count} in the ledger`, async () => {
      const other = await startOrigin();
      const arrival = other.nextRequest();
      const silent = postTo(other, "/v1/payments", PAYMENT, { "demo-hang": when });
      const outcome = silent.then(() => "answered", () => "broken");
      const request = await arrival;
      const seen = await (await fetch(`${other.url}/ledger.json`)).json();
      assert.equal(seen.count, count);
      await other.close();
      assert.equal(await outcome, "broken");
      assert.equal(await request.ended, "aborted");
    });

    test(`Demo-Reset ${when} breaks off unanswered and leaves ${count} in the ledger`, async () => {
      const known = origin.ledger.count();
      await assert.rejects(raw({ "Demo-Reset": when }), /ended before the head/);
      assert.equal(origin.ledger.count() - known, count);
    });
  }

  for (const bytes of [0, 8]) {
    test(`Demo-Cut ${bytes} sends a true head and ${bytes} bytes of the body`, async () => {
      const { result, effects } = await effectsOf(() => raw({ "Demo-Cut": String(bytes) }));
      assert.equal(result.status, 201);
      assert.equal(result.body.length, bytes);
      assert.equal(result.complete, false);
      assert.ok(Number(result.header("content-length")) > 80);
      assert.equal(effects.length, 1);
    });
  }

  test("Demo-Cut past the end is one byte short", async () => {
    const answer = await raw({ "Demo-Cut": "100000" });
    assert.equal(answer.body.length, Number(answer.header("content-length")) - 1);
  });

  test("Demo-Outcome lets the origin say what it made of the command", async () => {
    const headers = { "demo-outcome": "retry", "demo-fail": "before:503" };
    const { result, effects } = await pay(headers);
    assert.equal(result.status, 503);
    assert.equal(result.headers.get("oncegate-outcome"), "retry");
    assert.equal(effects.length, 0);
  });

  for (const [name, value, allowed] of [
    ["Demo-Delay", "soon", /duration .*250ms or 2s/],
    ["Demo-Delay", "11m", /up to 10m/],
    ["Demo-Delay-Before", "-1s", /duration/],
    ["Demo-Fail", "500", /before:STATUS or after:STATUS/],
    ["Demo-Fail", "after:200", /from 300 to 599/],
    ["Demo-Hang", "yes", /before or after/],
    ["Demo-Reset", "", /before or after/],
    ["Demo-Cut", "8 bytes", /number of bytes/],
    ["Demo-Outcome", "maybe", /completed, failed, retry or unknown/],
    ["Demo-Dealy", "2s", /Demo-Delay, Demo-Delay-Before/],
  ]) {
    test(`${name}: ${value} is refused by name and applies nothing`, async () => {
      const { result, effects } = await pay({ [name]: value });
      const { detail } = await problemOf(result, 400, "switch_invalid");
      assert.ok(detail.includes(name));
      assert.match(detail, allowed);
      assert.equal(effects.length, 0);
    });
  }

  test("a switch given twice is refused", async () => {
    const headers = [["Demo-Hang", "before"], ["demo-hang", "before"]];
    const answer = await rawRequest(origin.url, { method: "POST", headers });
    assert.equal(answer.status, 400);
    assert.match(answer.json().detail, /twice/);
  });
});

describe("what a test sees and holds", () => {
  test("requests are recorded as they were sent", async () => {
    const headers = [["X-Twice", "a"], ["x-twice", "b\xe9"]];
    const target = "//v1/%70ayments?a=1&a=2";
    await rawRequest(origin.url, { method: "PROPFIND", target, headers, body: ["ab", "c"] });
    const seen = origin.requests.at(-1);
    assert.equal(seen.method, "PROPFIND");
    assert.equal(seen.target, target);
    assert.equal(seen.path, "//v1/%70ayments");
    assert.deepEqual(seen.query.getAll("a"), ["1", "2"]);
    assert.deepEqual(seen.headers.filter(([name]) => /^x-twice$/i.test(name)), headers);
    assert.equal(seen.header("X-TWICE"), "a, b\xe9");
    assert.equal(seen.body.toString(), "abc");
    const ofAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert.equal(seen.sha256, ofAbc);
    assert.equal(await seen.ended, "answered");
  });

  test("nextRequest gives each request once, past ones first", async () => {
    const own = (it) => it.header("x-own") === "1";
    await post("/v1/payments", PAYMENT, { "x-own": "1", "x-n": "1" });
    assert.equal((await origin.nextRequest(own)).header("x-n"), "1");
    const next = origin.nextRequest(own);
    await post("/v1/payments", PAYMENT, { "x-own": "1", "x-n": "2" });
    assert.equal((await next).header("x-n"), "2");
  });

  test("a hold after the effect keeps the answer back, one before keeps both back", async () => {
    for (const [when, count] of [["after", 1], ["before", 0]]) {
      const known = origin.ledger.count();
      const hold = origin.hold("POST /v1/payments", { when });
      const answer = post("/v1/payments", PAYMENT);
      await hold.reached;
      assert.equal(origin.ledger.count() - known, count);
      hold.release();
      assert.equal((await answer).status, 201);
      assert.equal(origin.ledger.count() - known, 1);
    }
  });

  test("a hold can answer otherwise or break the connection", async () => {
    const first = origin.hold("POST /v1/payments");
    const answer = post("/v1/payments", PAYMENT);
    await first.reached;
    first.release({ status: 418, headers: { "X-Held": "yes" }, body: "late" });
    assert.equal((await answer).status, 418);
    assert.equal((await answer).headers.get("x-held"), "yes");
    const second = origin.hold("POST /v1/payments");
    const broken = post("/v1/payments", PAYMENT);
    await second.reached;
    second.drop();
    await assert.rejects(broken);
  });

  test("a handler scripts answers, and its faults are kept", async () => {
    const handler = (request, response, body) => {
      if (request.path === "/own") {
        response.writeHead(207, { "Set-Cookie": ["a=1", "b=2"] }).end(body);
        return true;
      }
      if (request.path === "/value") return { status: 208, body: "as a value" };
      if (request.path === "/fault") throw new Error("a fault of the test");
      return undefined;
    };
    const other = await startOrigin({ handler });
    const own = await rawRequest(other.url, { method: "POST", target: "/own", body: "xyz" });
    assert.equal(own.status, 207);
    assert.equal(own.text(), "xyz");
    const cookies = own.headers.filter(([name]) => name === "Set-Cookie");
    assert.deepEqual(cookies.map(([, value]) => value), ["a=1", "b=2"]);
    assert.equal((await fetch(`${other.url}/value`)).status, 208);
    assert.equal((await postTo(other, "/v1/payments", PAYMENT)).status, 201);
    assert.equal((await fetch(`${other.url}/fault`)).status, 500);
    assert.match(other.errors[0].message, /a fault of the test/);
    await other.close();
  });

  test("an origin on the books of an earlier one still knows its payments", async () => {
    const first = await startOrigin();
    const { id } = await (await postTo(first, "/v1/payments", PAYMENT)).json();
    await first.close();
    await assert.rejects(rawRequest(first.url), { code: "ECONNREFUSED" });
    const second = await startOrigin({ port: first.port, bank: first.bank });
    const found = await fetch(`${second.url}/v1/payments/${id}`, { headers: AUTHORISED });
    assert.equal(found.status, 200);
    assert.equal(second.ledger.count(), 1);
    await second.close();
  });

  test("a body past the bound is 413, and one that breaks off is no request", async () => {
    const known = origin.requests.length;
    const size = 16 * 1024 * 1024 + 1;
    const answer = await rawRequest(origin.url, {
      method: "POST",
      target: "/v1/payments",
      headers: [["Content-Length", String(size + 1)]],
      body: Buffer.alloc(size),
    });
    assert.equal(answer.status, 413);
    const short = { method: "POST", headers: [["Content-Length", "9"]], body: "abc", hangUp: 0 };
    await rawRequest(origin.url, short);
    await get("/ledger.json", {});
    assert.equal(origin.requests.length, known + 1);
  });
});
