// Principals of the forms cookie and header: whose key it is, and what is read in one way only.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn } from "./support/demo.mjs";
import { executed, pay, payRaw, refusal, replayed, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

let origin;
let byCookie;
let byHeader;
before(async () => {
  origin = await startOrigin();
  const gateBy = (fields) =>
    startGate({ origin, policy: policyOf([operation("create_payment", fields)]) });
  byCookie = await gateBy({ principal: "cookie:sid" });
  byHeader = await gateBy({ principal: "header:X-User", principal_trusted: true });
});
after(async () => {
  await byCookie?.dispose();
  await byHeader?.dispose();
  await origin?.close();
});

test("a cookie is whose key it is; the others do not matter", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const as = (cookie) => pay(byCookie, "cookie", { cookie });
    const receipt = await executed(await as("sid=a"));
    await replayed(await as("theme=dark; sid=a; lang=en"), receipt);
    await replayed(await as("sid=a;xsid=b; SID=c"), receipt);
    await executed(await as("sid=b"));
    await executed(await as("sid=a="));
  });
  assert.equal(effects.length, 3);
});

test("two cookies of the name, or none, are refused before any state", async () => {
  await executed(await pay(byCookie, "two", { cookie: "sid=a" }));
  await withoutTrace(byCookie, origin, async () => {
    for (const cookie of ["sid=a; sid=b", "sid=a; sid=a", "sid=; sid=a", "x=1, sid=a; sid=b"]) {
      await refusal(byCookie, await pay(byCookie, "two", { cookie }), 401, "principal_invalid");
    }
    for (const cookie of ["", "xsid=a", "sid=", "sid", "SID=a"]) {
      await refusal(byCookie, await pay(byCookie, "two", { cookie }), 401, "principal_missing");
    }
    // A cookie with a comma may be two headers that were joined: nobody's value is cut short.
    const joined = await pay(byCookie, "two", { cookie: "sid=a,b" });
    await refusal(byCookie, joined, 401, "principal_invalid");
  });
});

test("a header that is set before the gate is whose key it is", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const as = (user) => pay(byHeader, "header", { "X-User": user });
    const receipt = await executed(await as("alice"));
    await replayed(await as(" alice "), receipt);
    await executed(await as("Alice"));
  });
  assert.equal(effects.length, 2);
  await withoutTrace(byHeader, origin, async () => {
    const twice = await payRaw(byHeader, "header", { "X-User": "mallory", "x-user": "alice" });
    await refusal(byHeader, twice, 401, "principal_invalid");
    await refusal(byHeader, await pay(byHeader, "header"), 401, "principal_missing");
  });
});

test("the same bytes as cookie, header and token are three principals", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const policy = (principal, more) =>
      policyOf([operation("create_payment", { principal, ...more })]);
    // One folder of records under three policies, one after the other.
    let gate = await startGate({ origin, policy: policy("authorization:any") });
    const headers = { authorization: "Bearer same", cookie: "sid=same", "x-user": "same" };
    try {
      await executed(await pay(gate, "same", headers));
      gate = await gate.restart({ policy: policy("cookie:sid") });
      await executed(await pay(gate, "same", headers));
      gate = await gate.restart({ policy: policy("header:X-User", { principal_trusted: true }) });
      await executed(await pay(gate, "same", headers));
    } finally {
      await gate.dispose();
    }
  });
  assert.equal(effects.length, 3);
});
