// Principals that a verified token names: renewed ones are the same, forged ones are nobody.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { effectsIn } from "./support/demo.mjs";
import { executed, pay, refusal, replayed, statusOf, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { keyPair, startIssuer } from "./support/tokens.mjs";

let origin;
let issuer;
let gate;
before(async () => {
  origin = await startOrigin();
  issuer = await startIssuer();
  gate = await startGate({ origin, policy: policy() });
});
after(async () => {
  await gate?.dispose();
  await issuer?.close();
  await origin?.close();
});

const policy = (jwt = issuer.jwt, principal = "jwt:sub") =>
  policyOf([operation("create_payment", { principal })], { jwt });

const as = (token) => ({ authorization: `Bearer ${token}` });

const now = () => Math.floor(Date.now() / 1000);

test("a renewed token is the same principal, by either algorithm; another subject is not", async () => {
  const { effects } = await effectsIn(origin, async () => {
    const first = issuer.token();
    const receipt = await executed(await pay(gate, "renewed", as(first)));
    const second = issuer.token({}, { key: issuer.keys[1] });
    assert.notEqual(first, second);
    await replayed(await pay(gate, "renewed", as(second)), receipt);
    const status = await statusOf(gate, "renewed", { headers: as(issuer.token()) });
    assert.equal(status.status, 200);
    await executed(await pay(gate, "renewed", as(issuer.token({ sub: "bob" }))));
    const others = await statusOf(gate, { reference: receipt["Oncegate-Reference"] }, {
      headers: as(issuer.token({ sub: "bob" })),
    });
    assert.equal(others.status, 404);
  });
  assert.equal(effects.length, 2);
});

test("a subject that is a text is not the one that is a number", async () => {
  const { effects } = await effectsIn(origin, async () => {
    await executed(await pay(gate, "typed", as(issuer.token({ sub: "7" }))));
    await executed(await pay(gate, "typed", as(issuer.token({ sub: 7 }))));
  });
  assert.equal(effects.length, 2);
});

test("clocks may be a minute apart, and an audience may be one of several", async () => {
  const allowed = [
    { exp: now() - 30 },
    { nbf: now() + 30 },
    { exp: now() + 600.5 },
    { aud: ["other", "payments"] },
  ];
  for (const [n, claims] of allowed.entries()) {
    await executed(await pay(gate, `fine-${n}`, as(issuer.token(claims))));
  }
});

test("the origin gets the token as it came", async () => {
  const token = issuer.token();
  await executed(await pay(gate, "passed-on", as(token)));
  assert.equal(origin.requests.at(-1).header("Authorization"), `Bearer ${token}`);
});

const forged = {
  "expired two minutes ago": () => issuer.token({ exp: now() - 120 }),
  "without an expiry": () => issuer.token({ exp: undefined }),
  "an expiry that is a text": () => issuer.token({ exp: "4000000000" }),
  "not valid yet": () => issuer.token({ nbf: now() + 120 }),
  "another audience": () => issuer.token({ aud: "orders" }),
  "no audience": () => issuer.token({ aud: undefined }),
  "another issuer": () => issuer.token({ iss: "https://login.example/" }),
  "without the claim": () => issuer.token({ sub: undefined }),
  "an empty claim": () => issuer.token({ sub: "" }),
  "a claim that is an object": () => issuer.token({ sub: { a: 1 } }),
  "alg none": () => issuer.token({}, { alg: "none" }),
  "alg none, with the signature of another": () =>
    issuer.token({}, { alg: "none" }) + issuer.token().split(".")[2],
  "alg None": () => issuer.token({}, { header: { alg: "None" } }),
  "HMAC with the public key": () => issuer.token({}, { alg: "HS256" }),
  "HMAC under the name of RS256": () =>
    issuer.token({}, { alg: "HS256", header: { alg: "RS256" } }),
  "the key of another algorithm": () =>
    issuer.token({}, { key: issuer.keys[1], header: { alg: "RS256", kid: "rsa" } }),
  "a swapped kid": () => issuer.token({}, { key: issuer.keys[0], header: { kid: "ec" } }),
  "a key of nobody under a known kid": () =>
    issuer.token({}, { key: { ...keyPair("RS256"), kid: "rsa" } }),
  "a kid that is no text": () => issuer.token({}, { header: { kid: 1 } }),
  "a key that the token brings along": () => {
    const key = keyPair("RS256", "own");
    return issuer.token({}, { key, header: { jwk: key.jwk, kid: "rsa" } });
  },
  "critical extensions": () => issuer.token({}, { header: { crit: ["b64"], b64: false } }),
  "changed claims": () => {
    const [head, , signature] = issuer.token().split(".");
    return `${head}.${issuer.token({ sub: "mallory" }).split(".")[1]}.${signature}`;
  },
  "a cut signature": () => issuer.token().slice(0, -4),
  "no signature": () => issuer.token().replace(/[^.]*$/, ""),
  "two parts": () => issuer.token().split(".").slice(0, 2).join("."),
  "five parts": () => `${issuer.token()}.a.b`,
  "an opaque token": () => "opaque",
  "a header that is no JSON": () => `e30x.${issuer.token().split(".").slice(1).join(".")}`,
  "a very long token": () => issuer.token({ pad: "x".repeat(20_000) }),
};

test("a token that does not hold is refused, leaves no trace and is not shown", async () => {
  await executed(await pay(gate, "forged", as(issuer.token())));
  for (const [name, make] of Object.entries(forged)) {
    const token = make();
    await withoutTrace(gate, origin, async () => {
      const answer = await pay(gate, "forged", as(token));
      assert.match(answer.headers.get("WWW-Authenticate") ?? "", /^Bearer/, name);
      const problem = await refusal(gate, answer, 401, "principal_invalid");
      assert.ok(!JSON.stringify(problem).includes(token), name);
    });
    assert.ok(gate.logs.every(({ message }) => !message.includes(token)), name);
  }
});

test("a request without a bearer token is told so", async () => {
  await withoutTrace(gate, origin, async () => {
    for (const authorization of ["", "Basic YTpi", "Bearer"]) {
      const answer = await pay(gate, "missing", { authorization });
      await refusal(gate, answer, 401, "principal_missing");
    }
  });
});

test("an unknown kid has the keys fetched once, and then not for a minute", async () => {
  await executed(await pay(gate, "flood", as(issuer.token())));
  const before = issuer.fetches;
  const asks = Array.from({ length: 12 }, (_, n) => {
    const key = keyPair("ES256", `nobody-${n}`);
    return pay(gate, "flood", as(issuer.token({}, { key })));
  });
  for (const answer of await Promise.all(asks)) {
    await refusal(gate, answer, 401, "principal_invalid");
  }
  assert.ok(issuer.fetches - before <= 1, `${issuer.fetches - before} fetches`);
});

test("keys that cannot be had are 503, and their return is enough", async () => {
  const others = await startIssuer();
  await using own = await startGate({ origin, policy: policy(others.jwt) });
  const sound = others.answer;
  const faults = [
    () => ({ status: 500, body: "" }),
    () => ({ status: 302, body: "", headers: { location: `${issuer.url}/keys` } }),
    () => ({ status: 200, body: "<html>" }),
    () => ({ status: 200, body: { keys: "none" } }),
  ];
  others.answer = faults[0];
  try {
    await withoutTrace(own, origin, async () => {
      const answer = await pay(own, "unreachable", as(others.token()));
      const problem = await refusal(own, answer, 503, "gate_unavailable");
      assert.equal(problem.retry, "same-key");
      assert.match(answer.headers.get("Retry-After"), /^\d+$/);
    });
    for (const fault of faults.slice(1)) {
      others.answer = fault;
      await using fresh = await startGate({ origin, policy: policy(others.jwt) });
      const answer = await pay(fresh, "unreachable", as(others.token()));
      await refusal(fresh, answer, 503, "gate_unavailable");
    }
    others.answer = sound;
    await own.kill();
    await executed(await pay(own, "unreachable", as(others.token())));
  } finally {
    await others.close();
  }
});

test("a key that is only good for something else verifies nothing", async () => {
  const others = await startIssuer();
  const [rsa, ec] = others.keys;
  rsa.jwk.use = "enc";
  ec.jwk.key_ops = ["sign"];
  await using own = await startGate({ origin, policy: policy(others.jwt) });
  try {
    for (const key of [rsa, ec]) {
      const answer = await pay(own, "purpose", as(others.token({}, { key })));
      await refusal(own, answer, 401, "principal_invalid");
    }
  } finally {
    await others.close();
  }
});
