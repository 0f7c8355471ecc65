// Web pages of other origins: the gate answers their preflights itself, and says on every answer of
// a protected operation what the page of this very request may read.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { AUTHORISED, PAYMENT } from "./support/demo.mjs";
import { executed, isMarked, pay, PAYMENTS, replayed, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

const [SHOP, ADMIN, EVIL] = ["https://shop.example", "https://admin.example", "https://evil.example"];
const LISTED = { cors: { origins: [SHOP, ADMIN] } };
const ROOT = "/.well-known/idempotency";
const operations = [
  operation("create_payment", { keep: { headers: ["X-Trace"] }, while_running: "pending" }),
  operation("create_refund", { stream: true }),
  operation("asked", { match: ["OPTIONS /asked/{id}", "POST /asked/{id}"], key: ["path:id"] }),
  operation("open", { match: "POST /open", when_absent: "pass" }),
];
const policy = (globals) => policyOf(operations, globals);

let origin;
const gates = {};
before(async () => {
  origin = await startOrigin({ handler });
  for (const [name, globals] of Object.entries({
    listed: { ...LISTED, server_timing: true },
    anyone: { cors: { origins: "*" } },
    silent: {},
    stripe: { ...LISTED, preset: "stripe" },
    invalid: { ...LISTED, statuses: { duplicate: 200 } },
  })) {
    gates[name] = await startGate({ origin, policy: policy(globals) });
  }
});
after(async () => {
  for (const gate of Object.values(gates)) await gate.dispose();
  await origin?.close();
});

/** An origin that lets one page in, whoever asks. */
function handler({ path, method }, response) {
  const headers = {
    "Content-Type": "application/json",
    "Access-Control-Allow-Origin": EVIL,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Allow-Methods": "PATCH",
    "Access-Control-Expose-Headers": "X-Request-Id",
    "Server-Timing": "db;dur=1",
    "Set-Cookie": ["a=1", "b=2"],
    Vary: "Accept",
    "X-Trace": "t",
    "X-Request-Id": "r",
  };
  if (path === "/v1/refunds") {
    response.writeHead(200, headers);
    response.flushHeaders();
    response.end(`{"streamed":true}`);
    return true;
  }
  const own = [PAYMENTS, "/open", "/page"].includes(path) || path.startsWith("/asked/");
  if (!own || (path === PAYMENTS && method === "GET")) return undefined;
  return { status: 201, headers, body: `{"from":"${path}"}` };
}

const family = (answer) =>
  Object.fromEntries([...answer.headers].filter(([name]) => name.startsWith("access-control-")));
const exposedOf = (answer) =>
  (answer.headers.get("Access-Control-Expose-Headers") ?? "").split(", ");

/** The page may read this answer, as itself and with its credentials. */
function readable(answer, page = SHOP) {
  const { "access-control-expose-headers": exposed, ...rest } = family(answer);
  const allowed = { "access-control-allow-origin": page };
  assert.deepEqual(rest, { ...allowed, "access-control-allow-credentials": "true" });
  const vary = answer.headers.get("Vary").split(", ");
  assert.equal(vary.filter((it) => it === "Origin").length, 1, String(vary));
  for (const name of ["Idempotency-Replayed", "Oncegate-State", "Oncegate-Reference"]) {
    assert.ok(exposed.split(", ").includes(name), `${name} in ${exposed}`);
  }
  for (const name of ["Oncegate-Retry", "Retry-After", "Location", "Link", "Idempotent-Replayed"]) {
    assert.ok(exposed.split(", ").includes(name), `${name} in ${exposed}`);
  }
}

/** No page is named, and caches know that one could be. */
function unreadable(answer) {
  assert.deepEqual(family(answer), {});
  assert.ok(answer.headers.get("Vary").split(", ").includes("Origin"));
}

const preflight = (gate, path, method, page = SHOP, headers = {}) =>
  gate.fetch(path, {
    method: "OPTIONS",
    headers: { Origin: page, "Access-Control-Request-Method": method, ...headers },
  });

test("a preflight ends at the gate: no object, no record, nothing at the origin", async () => {
  const gate = gates.listed;
  const wanted = { "Access-Control-Request-Headers": "authorization,content-type,idempotency-key" };
  await withoutTrace(gate, origin, async () => {
    const answer = await preflight(gate, PAYMENTS, "POST", SHOP, wanted);
    assert.equal(answer.status, 204);
    const { "access-control-max-age": age, ...rest } = family(answer);
    assert.ok(Number(age) > 0);
    assert.deepEqual(rest, {
      "access-control-allow-origin": SHOP,
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "idempotency-key, authorization, content-type",
    });
    assert.equal(answer.headers.get("Vary"), "Origin");
    for (const path of ["", "/problems/duplicate", "/status/create_payment"]) {
      const page = await preflight(gate, ROOT + path, "GET", ADMIN);
      assert.deepEqual([page.status, page.headers.get("Access-Control-Allow-Origin")], [204, ADMIN]);
    }
  });
});

test("a preflight of a page that is not listed gets nothing, and goes no further either", async () => {
  await withoutTrace(gates.listed, origin, async () => {
    for (const page of [EVIL, "null", `${SHOP}.evil.example`, "http://shop.example"]) {
      const answer = await preflight(gates.listed, PAYMENTS, "POST", page);
      assert.equal(answer.status, 204);
      unreadable(answer);
    }
  });
});

test("a preflight is never the operation itself, and an OPTIONS that is none still is", async () => {
  const gate = gates.listed;
  await withoutTrace(gate, origin, async () => {
    for (const method of ["OPTIONS", "POST"]) {
      const answer = await preflight(gate, "/asked/1", method);
      assert.equal(answer.headers.get("Access-Control-Allow-Methods"), method);
    }
  });
  const headers = { ...AUTHORISED, Origin: SHOP };
  const send = () => gate.fetch("/asked/2", { method: "OPTIONS", headers });
  const first = await send();
  readable(first);
  const receipt = await executed(first);
  await replayed(await send(), receipt);
  // Asked about a method that no operation has, it is the origin's to answer, and still no record.
  const objects = gate.objects().length;
  const answer = await preflight(gate, "/asked/3", "DELETE");
  assert.equal(answer.headers.get("Access-Control-Allow-Origin"), EVIL, "the origin's own");
  assert.equal(gate.objects().length, objects);
});

test("the page of the request may read, not the one that the origin or the record knew", async () => {
  const gate = gates.listed;
  const first = await pay(gate, "pages", { Origin: SHOP });
  readable(first);
  assert.ok(exposedOf(first).includes("X-Request-Id"), "what the origin exposes stays exposed");
  assert.deepEqual(first.headers.get("Vary"), "Accept, Origin");
  assert.deepEqual(first.headers.getSetCookie(), ["a=1", "b=2"]);
  const receipt = await executed(first);
  for (const page of [ADMIN, SHOP]) {
    const again = await pay(gate, "pages", { Origin: page });
    readable(again, page);
    assert.ok(exposedOf(again).includes("x-trace"), "what a replay carries on purpose");
    assert.equal(again.headers.get("X-Trace"), "t");
    await replayed(again, receipt);
  }
  for (const headers of [{ Origin: EVIL }, { Origin: "null" }, {}]) {
    const again = await pay(gate, "pages", headers);
    unreadable(again);
    assert.equal(isMarked(again), true);
  }
  unreadable(await pay(gate, "evil-first", { Origin: EVIL }));
});

test("a streamed answer and a bypassed one are readable too", async () => {
  const gate = gates.listed;
  const init = { method: "POST", headers: { ...AUTHORISED, Origin: SHOP }, body: "{}" };
  const bypassed = await gate.fetch("/open", init);
  assert.equal(bypassed.headers.get("Oncegate-State"), "bypassed");
  readable(bypassed);
  init.headers = { ...init.headers, "Idempotency-Key": "s", "Content-Type": "application/json" };
  const streamed = await gate.fetch("/v1/refunds", init);
  readable(streamed);
  assert.deepEqual(await streamed.json(), { streamed: true });
});

test("what the gate itself answers is readable: 400, 401, 404, 405, 409, 413, 503", async () => {
  const gate = gates.listed;
  const post = (headers, body = "{}", path = PAYMENTS) =>
    gate.fetch(path, { method: "POST", headers: { Origin: SHOP, ...headers }, body });
  await pay(gate, "mine", { Origin: SHOP });
  const key = { "Idempotency-Key": "mine" };
  for (const [status, answer] of [
    [400, await post(AUTHORISED)],
    [400, await post({ ...AUTHORISED, ...key }, "{}", `${PAYMENTS}/`)],
    [401, await post(key)],
    [409, await post({ ...AUTHORISED, ...key }, JSON.stringify({ ...PAYMENT, amount: 2 }))],
    [413, await post({ ...AUTHORISED, ...key }, "x".repeat(2 << 20))],
    [404, await gate.fetch(`${ROOT}/nothing`, { headers: { Origin: SHOP } })],
    [405, await post({}, "", ROOT)],
    [200, await gate.fetch(ROOT, { headers: { Origin: SHOP } })],
  ]) {
    assert.equal(answer.status, status);
    readable(answer);
  }
  const { invalid } = gates;
  assert.equal((await preflight(invalid, PAYMENTS, "POST")).headers.get("Vary"), "Origin");
  const closed = await pay(invalid, "k", { Origin: SHOP });
  assert.equal(closed.status, 503);
  readable(closed);
  const stripe = await pay(gates.stripe, "s", { Origin: SHOP });
  readable(stripe);
});

test("requests that match no operation are the origin's, with their preflights", async () => {
  const answer = await gates.listed.fetch("/page", { headers: { Origin: SHOP } });
  assert.equal(answer.headers.get("Access-Control-Allow-Origin"), EVIL);
  assert.equal(answer.headers.get("Vary"), "Accept");
  const seen = origin.requests.length;
  await preflight(gates.listed, "/page", "POST");
  assert.equal(origin.requests.length, seen + 1);
  assert.deepEqual(family(await gates.listed.fetch("/.oncegate/purge", { headers: { Origin: SHOP } })), {});
});

test("open to all pages, it is open without their credentials", async () => {
  const gate = gates.anyone;
  for (const page of [EVIL, "null"]) {
    const answer = await pay(gate, "anyone", { Origin: page });
    assert.equal(answer.headers.get("Access-Control-Allow-Origin"), "*");
    assert.equal(answer.headers.get("Access-Control-Allow-Credentials"), null);
    const asked = await preflight(gate, PAYMENTS, "POST", page);
    assert.equal(asked.headers.get("Access-Control-Allow-Origin"), "*");
    assert.equal(asked.headers.get("Access-Control-Allow-Credentials"), null);
  }
});

test("without `cors` nothing changes: preflights and headers are the origin's", async () => {
  const gate = gates.silent;
  const seen = origin.requests.length;
  const asked = await preflight(gate, PAYMENTS, "POST");
  assert.equal(origin.requests.length, seen + 1);
  assert.equal(asked.headers.get("Access-Control-Allow-Origin"), EVIL);
  const first = await pay(gate, "silent", { Origin: SHOP });
  assert.equal(first.headers.get("Access-Control-Allow-Origin"), EVIL);
  assert.equal(first.headers.get("Server-Timing"), "db;dur=1");
  assert.deepEqual(family(await pay(gate, "silent", { Origin: SHOP })), {}, "a replay has none");
});

test("`server_timing` says how long it took, beside what the origin says", async () => {
  const gate = gates.listed;
  const first = await pay(gate, "timed");
  assert.match(
    first.headers.get("Server-Timing"),
    /^db;dur=1, oncegate-origin;dur=\d+, oncegate;dur=\d+$/,
  );
  const again = await pay(gate, "timed");
  assert.match(again.headers.get("Server-Timing"), /^oncegate;dur=\d+$/);
  const refused = await gate.fetch(PAYMENTS, { method: "POST" });
  assert.match(refused.headers.get("Server-Timing"), /^oncegate;dur=\d+$/);
  const page = await gate.fetch("/page");
  assert.equal(page.headers.get("Server-Timing"), "db;dur=1", "unprotected");
});
