// Attacks on the borders between tenants: nobody gets, occupies or redirects what is another's.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn, PAYMENT } from "./support/demo.mjs";
import { executed, pay, PAYMENTS, replayed, statusOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { rawRequest } from "./support/http.mjs";
import { startIssuer } from "./support/tokens.mjs";

let origin;
let gate;
before(async () => {
  origin = await startOrigin();
  gate = await startGate({
    origin,
    policy: policyOf([
      operation("create_payment", {
        scope: ["principal", "header:X-Shop"],
        key: ["header:Idempotency-Key", "query:part"],
      }),
    ]),
  });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

function send(shop, key, part, at = gate) {
  const headers = {
    authorization: "Bearer demo",
    "content-type": "application/json",
    "idempotency-key": JSON.stringify(key),
    ...(shop === undefined ? {} : { "x-shop": JSON.stringify(shop) }),
  };
  const target = `${at.url}${PAYMENTS}?part=${encodeURIComponent(part)}`;
  return fetch(target, { method: "POST", headers, body: JSON.stringify(PAYMENT) });
}

test("no bytes of one part can be taken for another part", async () => {
  const tuples = [
    ["a", "b", "c"],
    ["ab", "c", "c"],
    ["a", "bc", "c"],
    ["a:b", "c", "c"],
    ["a", "b:c", "c"],
    ["a,b", "c", "c"],
    ["a", "b", "b,c"],
    ["a|b", "c", "c"],
    ["a b", "c", "c"],
    ["a", "b c", "c"],
    ["a\\\"", "b", "c"],
    ["a", "\\\"b", "c"],
    ["b", "a", "c"],
    ["a", "c", "b"],
    [undefined, "ab", "c"],
    [undefined, "b", "c"],
    ["a", "b", "%63"],
    ["a", "b", "c\0"],
    ["a", "b", "\u{1}c"],
    ["a", "header:x-shop", "c"],
  ];
  const { effects } = await effectsIn(origin, async () => {
    const receipts = [];
    for (const tuple of tuples) receipts.push(await executed(await send(...tuple)));
    const references = new Set(receipts.map((receipt) => receipt["Oncegate-Reference"]));
    assert.equal(references.size, tuples.length);
    for (const [n, tuple] of tuples.entries()) await replayed(await send(...tuple), receipts[n]);
  });
  assert.equal(effects.length, tuples.length);
});

test("who is nobody at the origin neither reads a key nor occupies it", async () => {
  const own = await startOrigin({
    handler: (request) =>
      request.header("Authorization") === "Bearer owner"
        ? undefined
        : { status: 401, body: "who are you?", headers: { "WWW-Authenticate": "Bearer" } },
  });
  const fields = { principal: "none", while_running: "pending" };
  await using open = await startGate({
    origin: own,
    policy: policyOf([operation("create_payment", fields)]),
  });
  try {
    const { effects } = await effectsIn(own, async () => {
      const stranger = { authorization: "Bearer stranger" };
      for (let n = 0; n < 3; n += 1) {
        const answer = await pay(open, "shared", stranger);
        assert.equal(answer.status, 401);
        assert.equal(await answer.text(), "who are you?");
      }
      const status = await statusOf(open, "shared");
      assert.equal(status.status, 404, "a refused caller leaves nothing behind");
      await executed(await pay(open, "shared", { authorization: "Bearer owner" }));
    });
    assert.equal(effects.length, 1);
  } finally {
    await own.close();
  }
});

test("nothing that a request says leads to another origin", async () => {
  const evil = await startOrigin();
  const host = new URL(evil.url).host;
  const base = [
    ["Authorization", "Bearer demo"],
    ["Content-Type", "application/json"],
  ];
  const body = JSON.stringify(PAYMENT);
  try {
    const tries = [
      { target: `${evil.url}${PAYMENTS}?part=1`, headers: [] },
      { target: `${PAYMENTS}?part=2`, headers: [["Host", host]] },
      { target: `//${host}${PAYMENTS}?part=3`, headers: [] },
      { target: `${PAYMENTS}?part=4`, headers: [["X-Forwarded-Host", host]] },
      { target: `${PAYMENTS}?part=5`, headers: [["X-Original-URL", evil.url]] },
      { target: `/@${host}${PAYMENTS}?part=6`, headers: [] },
      { target: `/\\${host}${PAYMENTS}?part=7`, headers: [] },
      { target: `${PAYMENTS}?part=8&to=${evil.url}#${evil.url}`, headers: [] },
    ];
    for (const [n, { target, headers }] of tries.entries()) {
      const all = [...base, ["Idempotency-Key", `elsewhere-${n}`], ...headers];
      await rawRequest(gate.url, { method: "POST", target, headers: all, body });
    }
    assert.equal(evil.requests.length, 0);
    assert.ok(origin.requests.length > 0);
  } finally {
    await evil.close();
  }
});

test("credentials, bodies and keys are in no log line, and credentials on no disk", async () => {
  const issuer = await startIssuer();
  const talking = await startOrigin({
    handler: (request) =>
      request.header("Idempotency-Key") === "odd-7781"
        ? { status: 200, body: "{}", headers: { "Oncegate-Outcome": "perhaps" } }
        : undefined,
  });
  const token = issuer.token({ sub: "subject-7781" });
  const policies = {
    "jwt:sub": { authorization: `Bearer ${token}` },
    "cookie:sid": { cookie: "sid=cookie-7781" },
    "header:X-User": { "x-user": "header-7781" },
    authorization: { authorization: "Bearer opaque-7781" },
  };
  try {
    for (const [principal, credentials] of Object.entries(policies)) {
      const trusted = principal.startsWith("header:") ? { principal_trusted: true } : {};
      const fields = { principal, lease: "2s", origin_timeout: "1s", ...trusted };
      const policy = policyOf([operation("create_payment", fields)], { jwt: issuer.jwt });
      await using own = await startGate({ origin: talking, policy });
      const value = { ...PAYMENT, amount: 77817781 };
      const headers = { authorization: "Bearer demo", ...credentials };
      await executed(await pay(own, "key-7781", headers, value));
      await pay(own, "key-7781", headers, PAYMENT);
      await pay(own, "odd-7781", headers, value);
      assert.ok(own.logs.length > 0, "the origin's odd word is logged");
      for (const { message } of own.logs) assert.doesNotMatch(message, /7781/, message);
      for (const file of await readdir(own.dir, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        const bytes = (await readFile(join(file.parentPath, file.name))).toString("latin1");
        for (const secret of [token, "cookie-7781", "header-7781", "opaque-7781"]) {
          assert.ok(!bytes.includes(secret), `${secret} in ${file.name}`);
        }
      }
    }
  } finally {
    await issuer.close();
    await talking.close();
  }
});
