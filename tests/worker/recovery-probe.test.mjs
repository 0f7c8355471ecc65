// The probe: what it carries and asks for, which answers are no verdict, and when it is sent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { AUTHORISED, effectsIn, postTo, problemOf } from "./support/demo.mjs";
import { eventually, isMarked, pay, pending } from "./support/gated.mjs";
import { receiptOf, retryAfter, stateOf } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { recordOf, storedAs } from "./support/records.mjs";
import { found, NOTHING, PROBE_SECRET, reconcile } from "./support/recovery.mjs";
import { reconciling, startLookup } from "./support/recovery.mjs";

let origin;
let gate;
before(async () => {
  origin = await startLookup();
  const policy = reconciling({}, { origin_timeout: "400ms", lease: "1s" });
  gate = await startGate({ origin, policy, vars: PROBE_SECRET });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

/** A payment that was made, though its answer said nothing. */
async function lost(where, key, headers = {}) {
  const response = await pay(where, key, { "Demo-Fail": "after:500", ...headers });
  assert.equal(response.headers.get("Oncegate-State"), "unknown");
  return response.headers.get("Oncegate-Reference");
}

/** Runs work on a gate of its own. */
async function withGate(options, work) {
  const own = await startGate({ origin, vars: PROBE_SECRET, ...options });
  try {
    return await work(own);
  } finally {
    await own.dispose();
  }
}

test("a probe names the attempt and carries the gate's credentials alone", async () => {
  const secrets = { Cookie: "session=client", "X-Api-Key": "client" };
  const reference = await lost(gate, "carries", secrets);
  await storedAs(gate, reference, "completed");
  const [probe] = origin.probes("carries");
  assert.equal(probe.method, "GET");
  assert.equal(probe.body.length, 0);
  assert.equal(probe.query.get("reference"), reference);
  assert.equal(probe.header("Oncegate-Reference"), reference);
  assert.equal(probe.header("Oncegate-Attempt"), "1");
  assert.equal(probe.header("Authorization"), PROBE_SECRET.ONCEGATE_PROBE_AUTHORIZATION);
  for (const name of ["Cookie", "X-Api-Key", "Idempotency-Key", "Demo-Fail"]) {
    assert.equal(probe.header(name), null, name);
  }
});

test("without the secret a probe carries no credentials at all", async () => {
  await withGate({ policy: reconciling(), vars: {} }, async (bare) => {
    const reference = await lost(bare, "bare");
    await storedAs(bare, reference, "completed");
    assert.equal(origin.probes("bare")[0].header("Authorization"), null);
  });
});

test("neither the secret nor the client's credentials are stored or logged", async () => {
  await withGate({ policy: reconciling() }, async (own) => {
    const reference = await lost(own, "secret", { Authorization: "Bearer tell-nobody" });
    await storedAs(own, reference, "completed");
    const text = ({ value }) => value.toString("latin1");
    const stored = own.objects().flatMap(({ kv }) => kv.map(text));
    const written = [...stored, ...own.logs.map(({ message }) => message)].join("\n");
    assert.ok(stored.length > 0);
    assert.doesNotMatch(written, /gate-asks|tell-nobody/);
  });
});

test("placeholders are taken at the claim and percent-encoded, each as one value", async () => {
  const path = "/items/{key}/{path.shop}/{body:/nested/id}/{body:/n}";
  const orders = operation("create_order", {
    match: "POST /v1/shops/{shop}/orders",
    key: ["header:Idempotency-Key"],
    lease: "2s",
    origin_timeout: "1s",
    recovery: {
      then: "reconcile",
      probe: `GET ${path}?r={reference}&b={body:/text}`,
      verdicts: [{ status: 200, pointer: "/found", equals: true, verdict: "applied" }],
      schedule: ["50ms"],
    },
  });
  await withGate({ policy: policyOf([orders]) }, async (own) => {
    const body = { nested: { id: "a/b?c=d&e#f" }, n: 1.5, text: "é {key} %41\"" };
    const key = { "Idempotency-Key": '"k y/ö"'.replace("ö", "%") };
    origin.arm({ "Demo-Fail": "before:500" }, { filter: "POST /v1/shops/s%20h%2Bop/orders" });
    const response = await postTo(own, "/v1/shops/s%20h%2Bop/orders", body, key);
    assert.equal(response.headers.get("Oncegate-State"), "unknown", await response.text());
    const probe = await origin.nextRequest((it) => it.path.startsWith("/items/"));
    const reference = response.headers.get("Oncegate-Reference");
    const [asked, query] = probe.target.split("?");
    const parts = asked.split("/").slice(2);
    assert.deepEqual(parts.map(decodeURIComponent), ["k y/%", "s h+op", "a/b?c=d&e#f", "1.5"]);
    assert.match(asked, /^[\w/%.~-]+$/, "nothing of a value is read as syntax");
    const given = new URLSearchParams(query);
    assert.deepEqual([...given.keys()], ["r", "b"]);
    assert.equal(given.get("r"), reference);
    assert.equal(given.get("b"), body.text);
  });
});

test("a value that the command does not have leaves the record unknown", async () => {
  const recovery = reconcile({ probe: "GET /lookup/{key}?r={reference}&c={body:/customer}" });
  const payments = operation("create_payment", { lease: "2s", origin_timeout: "1s", recovery });
  await withGate({ policy: policyOf([payments]) }, async (own) => {
    const reference = await lost(own, "no-value");
    await own.log(/a probe failed: a value of its target was not kept/);
    assert.ok(recordOf(own, reference).record.state.unknown);
    assert.equal(origin.probes("no-value").length, 0);
  });
});

test("what is not confirmed to be ours is no verdict", async () => {
  const other = (payment) => found("og_somebody.0000000000000000", payment);
  origin.script("confirm", other(), other({ status: "refused" }), other({ reference: null }));
  const reference = await lost(gate, "confirm");
  await storedAs(gate, reference, "completed");
  assert.equal(origin.probes("confirm").length, 4);
  const receipt = await receiptOf(await pay(gate, "confirm"));
  assert.equal(JSON.parse(receipt.body).reference, reference);
});

test("confirm compares with any value of the command", async () => {
  const confirm = { "/data/0/reference": "{reference}", "/data/0/amount": "{body:/amount}" };
  await withGate({ policy: reconciling({ confirm }) }, async (own) => {
    origin.script("amounts", (response, request) => {
      const { body } = found(request.query.get("reference"), { amount: 999 });
      response.writeHead(200).end(body);
      return true;
    });
    const reference = await lost(own, "amounts");
    await storedAs(own, reference, "completed");
    assert.equal(origin.probes("amounts").length, 2);
    assert.equal(JSON.parse((await receiptOf(await pay(own, "amounts"))).body).amount, 1000);
  });
});

const two = ({ query }) =>
  ["pay_1", "pay_2"].map((id) => ({ id, reference: query.get("reference") }));
const text = (status, body, headers = {}) => ({ status, body, headers });
const NO_VERDICT = {
  "401 of the origin": text(401, NOTHING.body),
  "403 of the origin": text(403, NOTHING.body),
  "429 of the origin": text(429, NOTHING.body),
  "500 of the origin": text(500, NOTHING.body),
  "503 of the origin": text(503, NOTHING.body),
  "504 of the origin": text(504, NOTHING.body),
  "a redirect to something that exists": text(302, "", { Location: "/lookup/elsewhere" }),
  "204 without a body": text(204, ""),
  "an empty body": text(200, ""),
  "text that is no JSON": text(200, "<html>not here</html>"),
  "JSON that breaks off": text(200, '{"data":['),
  "an answer of another form": text(200, '{"data":"none"}'),
  "null": text(200, "null"),
  "an answer that is too long": text(200, `{"data":[],"x":"${"x".repeat(2 << 20)}"}`),
  "two candidates": (response, request) => {
    response.writeHead(200).end(JSON.stringify({ data: two(request) }));
    return true;
  },
  "a body that is cut": (response) => {
    response.writeHead(200, { "Content-Length": "40" });
    response.write('{"data":[]}', () => response.socket.destroy());
    return true;
  },
  "a connection that breaks": (response) => {
    response.socket.destroy();
    return true;
  },
  "no answer at all": () => true,
  "a body that never ends": (response) => {
    response.writeHead(200).write('{"data":[]');
    return true;
  },
};

for (const [what, answer] of Object.entries(NO_VERDICT)) {
  test(`${what} is never a verdict`, async () => {
    const key = what.replaceAll(" ", "-");
    origin.script(key, answer, answer);
    const { effects } = await effectsIn(origin, async () => {
      const reference = await lost(gate, key);
      const { record } = await storedAs(gate, reference, "completed");
      assert.equal(record.attempt, 1);
      const journal = record.journal.map((entry) => entry.what);
      assert.deepEqual(journal, ["claimed", "unknown", "completed"]);
    });
    assert.equal(effects.length, 1);
    assert.ok(origin.probes(key).length >= 3, "asked until it had an answer that decides");
    assert.equal(origin.probes("elsewhere").length, 0, "redirects are not followed");
  });
}

test("an origin that cannot be asked leaves the record unknown and is asked again", async () => {
  const other = await startLookup();
  await withGate({ origin: other, policy: reconciling() }, async (own) => {
    const hold = other.hold("POST /v1/payments");
    const first = pay(own, "gone");
    await hold.reached;
    await other.close();
    const answer = await first;
    assert.equal(answer.status, 502);
    const reference = answer.headers.get("Oncegate-Reference");
    await own.log(/a probe failed/);
    assert.ok(recordOf(own, reference).record.state.unknown);
    const back = await startLookup({ port: other.port, bank: other.bank });
    try {
      await storedAs(own, reference, "completed");
      assert.equal(back.ledger.entries.length, 1);
    } finally {
      await back.close();
    }
  });
});

test("twenty requests and the alarm share one probe, and its answer", async () => {
  const times = { origin_timeout: "5s", lease: "6s" };
  await withGate({ policy: reconciling({}, times) }, async (own) => {
    const hold = origin.holdProbes("shared");
    const reference = await lost(own, "shared");
    await hold.reached;
    const repeats = Array.from({ length: 20 }, () => pay(own, "shared"));
    // Another command is told at once, though the others wait.
    const other = { amount: 2, currency: "EUR" };
    await problemOf(await pay(own, "shared", {}, other), 409, "key_reused");
    // Several pauses of the schedule pass.
    const early = await Promise.race([delay(300, "none"), ...repeats]);
    assert.equal(early, "none");
    assert.equal(origin.probes("shared").length, 1);
    hold.release();
    for (const repeat of await Promise.all(repeats)) {
      assert.equal(repeat.status, 201);
      assert.ok(isMarked(repeat));
      assert.equal(repeat.headers.get("Oncegate-Reference"), reference);
    }
    assert.equal(origin.probes("shared").length, 1);
  });
});

test("a request asks at once only where a probe is due", async () => {
  const policy = reconciling({ schedule: ["20s"] });
  await withGate({ policy }, async (own) => {
    await lost(own, "not-due");
    const response = await pay(own, "not-due");
    const hint = retryAfter(response.clone());
    await pending(own, response, "unknown");
    assert.ok(hint > 10 && hint <= 22, `the hint is when the next probe is due: ${hint}`);
    assert.equal(origin.probes("not-due").length, 0);
  });
});

test("a look at the status asks nobody", async () => {
  const policy = reconciling({ schedule: ["100ms", "20s"] });
  await withGate({ policy }, async (own) => {
    origin.script("look", NOTHING, NOTHING, NOTHING);
    await lost(own, "look", { "Demo-Fail": "before:500" });
    await origin.nextProbe("look");
    for (let n = 0; n < 5; n += 1) await stateOf(own, "look", { headers: AUTHORISED });
    assert.equal(origin.probes("look").length, 1);
  });
});

test("the pauses follow the schedule, and its last entry repeats", async () => {
  const policy = reconciling({ schedule: ["100ms", "200ms", "400ms"] });
  await withGate({ policy }, async (own) => {
    origin.script("pauses", ...Array(5).fill(text(503, "")));
    const reference = await lost(own, "pauses");
    const { record } = await storedAs(own, reference, "completed");
    const since = record.journal.find((entry) => entry.what === "unknown").at;
    const arrived = origin.probes("pauses").map(({ at }) => at - since);
    // Each is sent when it is due or later: on a busy machine much later, but never before.
    const due = [100, 300, 700, 1100, 1500, 1900];
    assert.equal(arrived.length, due.length);
    arrived.forEach((at, n) => assert.ok(at >= due[n], `probe ${n + 1} after ${at} ms`));
  });
});

test("a record that stays unknown for long is logged once, and is asked about on", async () => {
  const policy = reconciling({ escalate_after: "200ms", schedule: ["50ms"] });
  await withGate({ policy }, async (own) => {
    const told = origin.holdProbes("long", { when: "before" });
    const reference = await lost(own, "long");
    const line = await own.log(/still unknown and needs a person/);
    assert.equal(line.level, "warn");
    assert.match(line.message, /operation create_payment, object [0-9a-f]+/);
    const escalated = await eventually(() => {
      const { record } = recordOf(own, reference);
      return record.escalated && record;
    });
    assert.ok(escalated.state.unknown);
    told.release();
    const settled = await storedAs(own, reference, "completed");
    assert.equal(settled.record.escalated ?? false, false);
    assert.equal(own.logs.filter(({ message }) => /needs a person/.test(message)).length, 1);
  });
});
