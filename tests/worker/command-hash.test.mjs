// The same command and another one, for every kind of body, through the whole gate: what is the
// same is replayed, what differs is refused, what is malformed leaves nothing behind, and the
// origin gets the client's bytes in every case.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";

import { startOrigin } from "../../demo/origin.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { AUTHORISED } from "./support/demo.mjs";

const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** A policy with one operation, `POST /v1/things`. */
const things = (fields = {}) =>
  policyOf([operation("create_thing", { match: "POST /v1/things", ...fields })]);

/** An origin that counts and repeats what it is told to. */
async function startThings() {
  let made = 0;
  return startOrigin({
    handler: (request, response, body) => {
      made += 1;
      const id = body?.toString().match(/"id":\s*(\d+)/)?.[1] ?? "null";
      response.writeHead(201, { "Content-Type": JSON_TYPE });
      response.end(`{"id":${id},"made":${made}}`);
      return true;
    },
  });
}

let origin;
let gate;
before(async () => {
  origin = await startThings();
  gate = await startGate({ origin, policy: things() });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

const send = (at, key, { type, body, query = "", headers = {} }) =>
  at.fetch(`/v1/things${query}`, {
    method: "POST",
    headers: {
      ...AUTHORISED,
      "Idempotency-Key": key,
      ...(type === undefined ? {} : { "Content-Type": type }),
      ...headers,
    },
    body,
  });

const stateOf = (response) => response.headers.get("Oncegate-State");

const multipart = (boundary, parts) => ({
  type: `multipart/form-data; boundary=${boundary}`,
  body: `${parts
    .map(
      ([name, value, more = ""]) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`,
    )
    .join("")}--${boundary}--\r\n`,
});
const json = (body, more = {}) => ({ type: JSON_TYPE, body, ...more });
const coded = (coding, bytes) => ({
  type: JSON_TYPE,
  body: bytes,
  headers: { "Content-Encoding": coding },
});

const PAY = '{"amount":10,"to":"acc_1","list":[1,2]}';
const SAME = {
  "members in another order and other white space": [
    json(PAY),
    json('{ "to" : "acc_1",\n"list":[1 ,2], "amount":10}'),
  ],
  "a number in another spelling": [json('{"n":10}'), json('{"n":1e1}')],
  "a huge exponent in another spelling": [json('{"n":1e999999999}'), json('{"n":10e999999998}')],
  "an escape": [json('{"name":"a"}'), json('{"\\u006eame":"\\u0061"}')],
  "another case and charset of the media type": [
    json(PAY),
    { type: "Application/JSON; charset=utf-8", body: PAY },
  ],
  "a form with names in another order": [
    { type: FORM, body: "a=1&b=2" },
    { type: FORM, body: "b=2&%61=1" },
  ],
  "another boundary": [
    multipart("AAA", [["reason", "fraud"], ["file", "bytes", '; filename="a.txt"']]),
    multipart("b-b-b", [["reason", "fraud"], ["file", "bytes", '; filename="a.txt"']]),
  ],
  "plain after gzip": [coded("gzip", gzipSync(PAY)), json(PAY)],
  "gzip of another level": [
    coded("gzip", gzipSync(PAY, { level: 1 })),
    coded("gzip", gzipSync(PAY, { level: 9 })),
  ],
  "deflate after plain": [json(PAY), coded("deflate", deflateSync(PAY))],
  "opaque bytes": [
    { type: "application/octet-stream", body: Buffer.from([0x61, 0xff]) },
    { type: "application/octet-stream", body: Buffer.from([0x61, 0xff]) },
  ],
  "a query in another order of names": [
    json(PAY, { query: "?a=1&b=2" }),
    json(PAY, { query: "?b=2&a=1" }),
  ],
};
const OTHER = {
  "another amount": [json(PAY), json(PAY.replace("10", "100"))],
  "an array in another order": [json("[1,2]"), json("[2,1]")],
  "a large integer and its neighbour": [
    json('{"id":8389765929445198309}'),
    json('{"id":8389765929445198310}'),
  ],
  "a number and its text": [json('{"n":10}'), json('{"n":"10"}')],
  "null and absent": [json('{"a":1,"b":null}'), json('{"a":1}')],
  "a member named __proto__": [json('{"__proto__":1}'), json('{"__proto__":2}')],
  "one name of a form in another order": [
    { type: FORM, body: "a=1&a=2" },
    { type: FORM, body: "a=2&a=1" },
  ],
  "another file": [
    multipart("AAA", [["file", "bytes", '; filename="a.txt"']]),
    multipart("AAA", [["file", "bytez", '; filename="a.txt"']]),
  ],
  "another file name": [
    multipart("AAA", [["file", "bytes", '; filename="a.txt"']]),
    multipart("AAA", [["file", "bytes", '; filename="b.txt"']]),
  ],
  "one byte of opaque content": [
    { type: "application/octet-stream", body: Buffer.from([0x61, 0xff]) },
    { type: "application/octet-stream", body: Buffer.from([0x61, 0xfe]) },
  ],
  "another media type": [json(PAY), { type: "text/plain", body: PAY }],
  "another query": [json(PAY, { query: "?dry_run=1" }), json(PAY)],
};

for (const [name, [first, second]] of Object.entries(SAME)) {
  test(`the same command: ${name}`, async () => {
    const key = `same ${name}`.replaceAll(/[^a-z]+/g, "-");
    const count = origin.requests.length;
    const one = await send(gate, key, first);
    assert.deepEqual([one.status, stateOf(one)], [201, "executed"]);
    const two = await send(gate, key, second);
    assert.deepEqual([two.status, stateOf(two)], [201, "replayed"]);
    assert.equal(await two.text(), await one.text());
    assert.equal(origin.requests.length, count + 1);
    const received = origin.requests.at(-1);
    assert.equal(received.sha256, sha256(first.body), "the origin gets the client's own bytes");
  });
}

for (const [name, [first, second]] of Object.entries(OTHER)) {
  test(`another command: ${name}`, async () => {
    const key = `other ${name}`.replaceAll(/[^a-z]+/g, "-");
    assert.equal((await send(gate, key, first)).status, 201);
    const count = origin.requests.length;
    const refused = await send(gate, key, second);
    assert.deepEqual([refused.status, stateOf(refused)], [409, "refused"]);
    assert.equal((await refused.json()).code, "key_reused");
    assert.equal(origin.requests.length, count);
    assert.equal(stateOf(await send(gate, key, first)), "replayed", "the first is unharmed");
  });
}

const deep = "[".repeat(10_000) + "]".repeat(10_000);
const MALFORMED = {
  "a member twice": json('{"a":1,"a":2}'),
  "a member twice after unescaping": json('{"a":1,"\\u0061":2}'),
  "a lone surrogate": json('{"a":"\\ud800"}'),
  "bytes that are not UTF-8": { type: JSON_TYPE, body: Buffer.from([0x22, 0xff, 0x22]) },
  "10,000 nested arrays": json(deep),
  "a gzip that breaks off": coded("gzip", gzipSync(PAY).subarray(0, 20)),
  "a gzip of very many members": coded(
    "gzip",
    Buffer.concat(Array.from({ length: 20_000 }, () => gzipSync(""))),
  ),
  "a gzip bomb": coded("gzip", gzipSync(Buffer.alloc(64 << 20, "a"))),
  "no closing boundary": {
    ...multipart("AAA", [["a", "1"]]),
    body: '--AAA\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n',
  },
  "a part without a name": {
    type: "multipart/form-data; boundary=AAA",
    body: "--AAA\r\nContent-Disposition: form-data\r\n\r\n1\r\n--AAA--\r\n",
  },
  "a boundary that never occurs": { type: "multipart/form-data; boundary=AAA", body: "nothing" },
};

for (const [name, request] of Object.entries(MALFORMED)) {
  test(`malformed: ${name} is refused, names its fault, and leaves nothing behind`, async () => {
    const key = `malformed ${name}`.replaceAll(/[^a-z]+/g, "-");
    const [count, objects] = [origin.requests.length, rowsOf(gate)];
    const response = await send(gate, key, request);
    assert.equal(response.status, 400);
    const problem = await response.json();
    assert.equal(problem.code, "command_malformed");
    assert.ok(problem.detail.length > 10, problem.detail);
    assert.equal(origin.requests.length, count);
    assert.equal(rowsOf(gate), objects);
    assert.equal((await send(gate, key, json(PAY))).status, 201, "the key is free");
  });
}

const rowsOf = (at) => at.objects().reduce((sum, { rows }) => sum + rows, 0);

test("where the operation says so, malformed bodies are compared as bytes", async () => {
  const policy = things({ command: { when_malformed: "bytes" } });
  const bytes = await startGate({ origin, policy });
  try {
    const twice = json('{"a":1,"a":2}');
    assert.equal(stateOf(await send(bytes, "bytes", twice)), "executed");
    assert.equal(stateOf(await send(bytes, "bytes", twice)), "replayed");
    assert.equal((await send(bytes, "bytes", json('{"a":1, "a":2}'))).status, 409);
  } finally {
    await bytes.dispose();
  }
});

for (const on_mismatch of ["refuse", "separate"]) {
  test(`a deploy with another recipe, under ${on_mismatch}: the record is judged by its own`, async () => {
    const note = (text) => json(`{"amount":10,"note":"${text}"}`);
    const recipe = (command) => things({ on_mismatch, command });
    let at = await startGate({ origin, policy: recipe({ version: 1 }) });
    const key = `deploy-${on_mismatch}`;
    const count = () => origin.requests.length;
    const before = count();
    try {
      const receipt = await (await send(at, key, note("a"))).text();
      const second = { version: 2, ignore: ["/note"] };
      at = await at.restart({ policy: recipe({ ...second, earlier: [{ version: 1 }] }) });
      const retry = await send(at, key, note("a"));
      assert.equal(stateOf(retry), "replayed");
      assert.equal(await retry.text(), receipt);
      assert.equal(count(), before + 1);
      const other = await send(at, key, note("b"));
      const separate = on_mismatch === "separate";
      assert.equal(other.status, separate ? 201 : 409, "by version 1 it is another command");
      at = await at.restart({ policy: recipe(second) });
      assert.equal(stateOf(await send(at, key, note("a"))), "replayed", "version 1 is gone: bytes");
      const third = await send(at, key, json('{"amount":11}'));
      assert.equal(third.status, 409, "and what may be another command is refused");
      assert.equal(count(), before + (separate ? 2 : 1));
    } finally {
      await at.dispose();
    }
  });
}

test("a recipe that changes without a new version falls back to bytes and warns", async () => {
  let at = await startGate({ origin, policy: things() });
  try {
    await send(at, "quiet", json('{"amount":10}'));
    at = await at.restart({ policy: things({ command: { ignore: ["/note"] } }) });
    assert.equal(stateOf(await send(at, "quiet", json('{"amount":10}'))), "replayed");
    assert.equal((await send(at, "quiet", json('{ "amount":10}'))).status, 409);
    const line = await at.log(/recipe changed its meaning/);
    assert.match(line.message, /create_thing/);
  } finally {
    await at.dispose();
  }
});

test("several commands under one key are several operations, each replayed by itself", async () => {
  let at = await startGate({ origin, policy: things({ on_mismatch: "separate" }) });
  try {
    const bodies = Array.from({ length: 5 }, (_, n) => json(`{"n":${n}}`));
    const count = origin.requests.length;
    const firsts = await Promise.all(bodies.map((body) => send(at, "many", body)));
    const receipts = await Promise.all(firsts.map((response) => response.text()));
    assert.deepEqual(new Set(firsts.map(stateOf)), new Set(["executed"]));
    const references = firsts.map((response) => response.headers.get("Oncegate-Reference"));
    assert.equal(new Set(references).size, 5);
    await at.kill();
    for (const [n, body] of bodies.entries()) {
      const again = await send(at, "many", body);
      assert.deepEqual([stateOf(again), await again.text()], ["replayed", receipts[n]]);
      assert.equal(again.headers.get("Oncegate-Reference"), references[n]);
    }
    assert.equal(origin.requests.length, count + 5);
  } finally {
    await at.dispose();
  }
});

test("a deploy that keeps one command for a key from now on forgets none of several", async () => {
  let at = await startGate({ origin, policy: things({ on_mismatch: "separate" }) });
  try {
    const count = origin.requests.length;
    const [one, two] = [json('{"n":1}'), json('{"n":2}')];
    await send(at, "fewer", one);
    const receipt = await (await send(at, "fewer", two)).text();
    at = await at.restart({ policy: things() });
    const again = await send(at, "fewer", two);
    assert.deepEqual([stateOf(again), await again.text()], ["replayed", receipt]);
    assert.equal(stateOf(await send(at, "fewer", one)), "replayed");
    assert.equal((await send(at, "fewer", json('{"n":3}'))).status, 409);
    assert.equal(origin.requests.length, count + 2);
  } finally {
    await at.dispose();
  }
});

test("under separate one alarm ends every record, and leaves nothing", async () => {
  const keep = { for: "300ms", tombstone: "600ms" };
  const at = await startGate({ origin, policy: things({ on_mismatch: "separate", keep }) });
  try {
    for (const n of [1, 2, 3]) await send(at, "brief", json(`{"n":${n}}`));
    for (let tries = 0; tries < 200 && rowsOf(at) > 0; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    assert.equal(rowsOf(at), 0);
  } finally {
    await at.dispose();
  }
});

test("a retry finds its own echoed value in the reply, and every other byte as it was", async () => {
  const at = await startGate({ origin, policy: things({ command: { echo: ["/id"] } }) });
  try {
    const call = (id, rest = '"x":1') => json(`{"jsonrpc":"2.0","id":${id},${rest}}`);
    const first = await (await send(at, "rpc", call(7))).text();
    assert.match(first, /^{"id":7,"made":\d+}$/);
    const again = await send(at, "rpc", call(8));
    assert.equal(stateOf(again), "replayed");
    assert.equal(await again.text(), first.replace('"id":7', '"id":8'));
    assert.equal((await send(at, "rpc", call(9, '"x":2'))).status, 409);
  } finally {
    await at.dispose();
  }
});
