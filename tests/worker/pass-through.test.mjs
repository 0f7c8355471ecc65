// What no operation protects passes through untouched: any method, any status, streams and bytes
// as they are, and no word of the gate in either direction.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createConnection } from "node:net";
import { test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { startOrigin } from "../../demo/origin.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { rawRequest } from "./support/http.mjs";
import { refusal } from "./support/gated.mjs";
import { policyOf, startGate } from "./support/gate.mjs";

const MIB = 1024 * 1024;
const SIZE = 5 * MIB;
const script = {};
const it = gateForTests({}, { handler: (request) => script[request.path]?.(request), stream });
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Streams: what `/streams` gets and gives is seen by the test while it goes on. */
const streams = { onRequest: undefined };
async function stream(incoming, response) {
  if (!incoming.url.startsWith("/streams")) return undefined;
  await streams.onRequest(incoming, response);
  return true;
}

/** A raw request whose answer the origin takes from `script`. */
function ask(path, answer, request = {}) {
  script[path] = answer;
  return rawRequest(it.gate.url, { target: path, ...request });
}

test("5 MB stream both ways, byte for byte", async () => {
  const up = randomBytes(SIZE);
  const down = randomBytes(SIZE);
  streams.onRequest = async (incoming, response) => {
    const hash = createHash("sha256");
    for await (const chunk of incoming) hash.update(chunk);
    response.writeHead(200, { "X-Got": hash.digest("hex") });
    for (let at = 0; at < SIZE; at += 65_537) response.write(down.subarray(at, at + 65_537));
    response.end();
  };
  for (const body of [up, pieces(up)]) {
    const answer = await rawRequest(it.gate.url, { method: "POST", target: "/streams", body });
    assert.equal(answer.status, 200);
    assert.equal(answer.header("X-Got"), sha256(up));
    assert.equal(answer.complete, true);
    assert.equal(sha256(answer.body), sha256(down));
  }
});

function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
}

test("neither direction waits for the end of the other: both are streams", async () => {
  const half = Promise.withResolvers();
  const whole = Promise.withResolvers();
  const rest = Promise.withResolvers();
  streams.onRequest = async (incoming, response) => {
    const chunks = [];
    for await (const chunk of incoming) {
      chunks.push(chunk);
      if (Buffer.concat(chunks).toString() === "first ") half.resolve();
    }
    whole.resolve(Buffer.concat(chunks).toString());
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write("data: 1\n\n");
    await rest.promise;
    response.end("data: 2\n\n");
  };
  async function* body() {
    yield "first ";
    // The origin has the first part before the second is sent.
    await half.promise;
    yield "second";
  }
  const sent = fetch(`${it.gate.url}/streams`, { method: "POST", body: body(), duplex: "half" });
  assert.equal(await whole.promise, "first second");
  const reader = (await sent).body.pipeThrough(new TextDecoderStream()).getReader();
  // The client has the first event before the origin makes the second.
  assert.equal((await reader.read()).value, "data: 1\n\n");
  rest.resolve();
  assert.equal((await reader.read()).value, "data: 2\n\n");
  assert.equal((await reader.read()).done, true);
});

test("any method stays what it is, with its body and the target as it was written", async () => {
  for (const method of ["PROPFIND", "REPORT", "PUT", "PATCH", "DELETE", "OPTIONS", "LOCK"]) {
    // Dot segments alone are gone before a Worker sees the target: its URL has none.
    const target = `/dav/%7Ea//b%2F..%2fc;x=1/?q=%2F&q=2&e=${method}`;
    await rawRequest(it.gate.url, { method, target, body: `<${method}/>` });
    const seen = it.origin.requests.at(-1);
    assert.equal(seen.method, method);
    assert.equal(seen.target, target);
    assert.equal(seen.body.toString(), `<${method}/>`);
  }
});

test("GET and HEAD with a body, or with a length of 0, pass like any other", async () => {
  for (const method of ["GET", "HEAD"]) {
    for (const [body, headers] of [
      ['{"query":{}}', []],
      [undefined, [["Content-Length", "0"]]],
      ["", []],
    ]) {
      const request = { method, target: "/ledger.json", headers, body };
      const answer = await rawRequest(it.gate.url, request);
      assert.equal(answer.status, 200, `${method} ${JSON.stringify(body)} ${headers}`);
      const seen = it.origin.requests.at(-1);
      assert.equal(seen.method, method);
      assert.equal(seen.body.toString(), body ?? "");
    }
  }
});

test("GET and HEAD on a protected path pass: they are no operation", async () => {
  for (const method of ["GET", "HEAD"]) {
    const headers = [["Authorization", "Bearer demo"]];
    const target = "/v1/payments?reference=og_x";
    const answer = await rawRequest(it.gate.url, { method, target, headers });
    assert.equal(answer.status, 200);
    assert.equal(answer.header("Oncegate-State"), null);
    assert.equal(it.origin.requests.at(-1).method, method);
  }
});

test("the exact status, also one that nobody knows", async () => {
  const statuses = [200, 202, 204, 205, 226, 299, 304, 401, 404, 418, 451, 499, 500, 503, 599];
  for (const status of statuses) {
    const bodiless = status === 204 || status === 205 || status === 304;
    const body = bodiless ? "" : `status ${status}`;
    const made = () => ({ status, headers: [["X-S", "1"]], body });
    const answer = await ask(`/status-${status}`, made);
    assert.deepEqual([answer.status, answer.text(), answer.header("X-S")], [status, body, "1"]);
  }
});

test("redirects are the client's to follow", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const count = it.origin.requests.length;
    const location = `${it.origin.url}/elsewhere-${status}`;
    const answer = await ask(
      `/redirect-${status}`,
      () => ({ status, headers: [["Location", location]], body: "moved" }),
      { method: "POST", body: "x" },
    );
    assert.deepEqual([answer.status, answer.header("Location")], [status, location]);
    assert.equal(answer.text(), "moved");
    assert.equal(it.origin.requests.length, count + 1);
  }
});

test("encoded bodies arrive as the origin encoded them, to the byte", async () => {
  const plain = Buffer.from("the same words, the same words, the same words\n".repeat(200));
  const zstdLike = randomBytes(300);
  for (const [coding, bytes] of [
    ["gzip", gzipSync(plain)],
    ["br", brotliCompressSync(plain)],
    ["zstd", zstdLike],
    ["gzip, gzip", gzipSync(gzipSync(plain))],
  ]) {
    const headers = [
      ["Content-Encoding", coding],
      ["Content-Type", "text/plain"],
      ["ETag", '"coded"'],
    ];
    const answer = await ask("/coded", () => ({ status: 200, headers, body: bytes }), {
      headers: [["Accept-Encoding", coding]],
    });
    assert.equal(answer.header("Content-Encoding"), coding);
    assert.equal(answer.header("ETag"), '"coded"');
    assert.equal(sha256(answer.body), sha256(bytes), coding);
    const length = answer.header("Content-Length");
    assert.ok(length === null || Number(length) === bytes.length, `Content-Length: ${length}`);
  }
});

test("an encoded request body reaches the origin as it was sent", async () => {
  const bytes = gzipSync("hello");
  const headers = [["Content-Encoding", "gzip"]];
  await rawRequest(it.gate.url, { method: "POST", target: "/upload", headers, body: bytes });
  const seen = it.origin.requests.at(-1);
  assert.equal(seen.header("Content-Encoding"), "gzip");
  assert.ok(seen.body.equals(bytes));
});

test("headers that are repeated keep all their values; cookies keep their lines", async () => {
  const cookies = ["a=1; Expires=Mon, 21 Oct 2030 07:28:00 GMT; Path=/", "b=2; HttpOnly"];
  const headers = [
    ["Set-Cookie", cookies[0]],
    ["X-Many", "one"],
    ["Set-Cookie", cookies[1]],
    ["X-Many", "two"],
    ["Vary", "Origin"],
    ["Vary", "Accept"],
  ];
  const answer = await ask("/repeated", () => ({ status: 200, headers, body: "" }), {
    headers: [
      ["X-Mine", "1"],
      ["X-Mine", "2"],
      ["Cookie", "c=3; d=4"],
    ],
  });
  const lines = answer.headers.filter(([name]) => name.toLowerCase() === "set-cookie");
  assert.deepEqual(
    lines.map(([, value]) => value),
    cookies,
  );
  assert.equal(answer.header("X-Many"), "one, two");
  assert.equal(answer.header("Vary"), "Origin, Accept");
  const seen = it.origin.requests.at(-1);
  assert.equal(seen.header("X-Mine"), "1, 2");
  assert.equal(seen.header("Cookie"), "c=3; d=4");
});

test("the gate adds no word of its own, and takes the client's away", async () => {
  const answer = await ask("/silent", () => ({ status: 200, headers: [], body: "x" }), {
    headers: [
      ["Oncegate-Reference", "og_forged"],
      ["Oncegate-Attempt", "7"],
      ["oncegate-anything", "1"],
      ["Idempotency-Key", "k"],
      ["Authorization", "Bearer mine"],
    ],
  });
  const added = answer.headers.filter(([name]) => /^(oncegate|idempot)/i.test(name));
  assert.deepEqual(added, []);
  const seen = it.origin.requests.at(-1);
  assert.deepEqual(
    seen.headers.filter(([name]) => /^oncegate/i.test(name)),
    [],
  );
  assert.equal(seen.header("Idempotency-Key"), "k");
  assert.equal(seen.header("Authorization"), "Bearer mine");
  assert.equal(it.gate.objects().length, 0, "nothing is recorded");
});

test("what belongs to one connection stays there", async () => {
  await ask("/hop", () => ({ status: 200, headers: [], body: "" }), {
    method: "POST",
    body: "x",
    headers: [
      ["Connection", "close, X-Once"],
      ["X-Once", "1"],
      ["TE", "trailers"],
      ["Keep-Alive", "timeout=5"],
      ["Proxy-Authorization", "Basic x"],
      ["X-Kept", "1"],
    ],
  });
  const seen = it.origin.requests.at(-1);
  for (const name of ["X-Once", "TE", "Keep-Alive", "Proxy-Authorization"]) {
    assert.equal(seen.header(name), null, name);
  }
  assert.equal(seen.header("X-Kept"), "1");
});

test("a body that breaks off at the origin breaks off at the client", async () => {
  streams.onRequest = (incoming, response) => {
    incoming.resume();
    response.writeHead(200, { "Content-Length": "100" });
    response.write("half", () => response.socket.destroy());
  };
  const answer = await rawRequest(it.gate.url, { target: "/streams" });
  assert.deepEqual([answer.status, answer.complete], [200, false]);
});

test("a client that leaves ends its pass-through at the origin too", async () => {
  const closed = Promise.withResolvers();
  streams.onRequest = (incoming, response) => {
    incoming.resume();
    response.writeHead(200);
    const ticking = setInterval(() => response.write("tick\n"), 10);
    response.once("close", () => {
      clearInterval(ticking);
      closed.resolve(response.writableFinished);
    });
  };
  const leave = new AbortController();
  const open = await fetch(`${it.gate.url}/streams`, { signal: leave.signal });
  leave.abort();
  await assert.rejects(open.text());
  assert.equal(await closed.promise, false, "its stream was broken off");
});

test("an upgrade to another protocol goes through", async () => {
  const url = new URL(it.gate.url);
  const got = Promise.withResolvers();
  const socket = createConnection(Number(url.port), url.hostname);
  socket.on("data", (data) => got.resolve(data.toString("latin1")));
  socket.on("error", got.reject);
  socket.write(
    `GET /upgrade HTTP/1.1\r\nHost: ${url.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  // The demo origin speaks HTTP only: its plain answer shows that the request came through.
  assert.match(await got.promise, /^HTTP\/1\.1 \d{3} /);
  socket.destroy();
  const seen = await it.origin.nextRequest((request) => request.path === "/upgrade");
  assert.equal(seen.header("Upgrade"), "websocket");
});

test("an origin that is not there is a 502 of the gate, and nothing is recorded", async () => {
  const gone = await startOrigin();
  await gone.close();
  const gate = await startGate({ origin: gone.url });
  try {
    await refusal(gate, await gate.fetch("/anything"), 502, "origin_unreachable");
    assert.equal(gate.objects().length, 0);
  } finally {
    await gate.dispose();
  }
});

test("unmatched refuse: nothing passes but the operations", async () => {
  const policy = policyOf([], { unmatched: "refuse" });
  const gate = await startGate({ origin: it.origin, policy });
  try {
    const count = it.origin.requests.length;
    await refusal(gate, await gate.fetch("/ledger.json"), 404, "target_unmatched");
    assert.equal(it.origin.requests.length, count);
  } finally {
    await gate.dispose();
  }
});
