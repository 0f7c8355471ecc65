// Every kind of reply, first and again: statuses, content types, codings, what the client accepts
// and what the retry accepts. Bytes are compared with what the origin sent, by their SHA-256.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gateForTests } from "./support/fixture.mjs";
import { ask, bytesOf, CODINGS, digestField, fits } from "./support/replies.mjs";
import { isFirst, isReplay, lines, runs, scripted } from "./support/replies.mjs";

const { answers, handler } = scripted();
const it = gateForTests({}, { handler });

const TEXT = "Zahlung über 10,00 €, с благодарностью\n".repeat(40);
const KINDS = {
  json: ["application/json", Buffer.from(`{"id": "pay_1", "note": ${JSON.stringify(TEXT)}}`)],
  binary: ["application/octet-stream", bytesOf(70_001)],
  text: ["text/plain; charset=utf-8", Buffer.from(TEXT)],
  empty: ["application/json", Buffer.alloc(0)],
};
const COOKIES = ["sid=1; Path=/; Expires=Wed, 09 Jun 2031 10:18:14 GMT", "csrf=a,b; HttpOnly"];
/** What describes the reply and is the same on a replay. */
const LASTING = {
  "Content-Language": "de, en",
  "Content-Disposition": `attachment; filename="r.json"; filename*=UTF-8''%C3%BCber.json`,
  "Content-Location": "/v1/payments/pay_1",
  "Last-Modified": "Mon, 21 Oct 2030 07:28:00 GMT",
  Link: '</v1/payments/pay_1>; rel="self", </v1>; rel="up"',
};
/** What was true of the first answer only. */
const PASSING = {
  Server: "demo",
  "Retry-After": "7",
  "X-RateLimit-Remaining": "3",
  "RateLimit-Policy": '"a";q=10',
  "Access-Control-Allow-Origin": "https://first.example",
  Age: "12",
};

/** A reply of this kind in this coding, with validators and digests of its very bytes. */
function reply(status, kind, coding) {
  const [type, plain] = KINDS[kind];
  const body = CODINGS[coding][0](plain);
  const headers = [
    ["Content-Type", type],
    ["ETag", '"v1"'],
    ["Content-Digest", digestField(body)],
    ["Repr-Digest", digestField(body)],
    ...Object.entries({ ...LASTING, ...PASSING }),
    ...COOKIES.map((cookie) => ["Set-Cookie", cookie]),
  ];
  if (status === 201 || status === 303) headers.push(["Location", "/v1/payments/pay_1"]);
  if (coding !== "identity") headers.push(["Content-Encoding", coding]);
  return { status, headers, body };
}

function sentHeader({ headers }, name) {
  return headers.find(([it]) => it === name)?.[1] ?? null;
}

/** What both answers must have of what was sent. */
function isFaithful(answer, sent, kind) {
  fits(answer, KINDS[kind][1], sent.body);
  for (const name of ["Content-Type", "Location", ...Object.keys(LASTING)]) {
    assert.equal(answer.header(name), sentHeader(sent, name), name);
  }
  const tag = answer.header("ETag");
  assert.ok(tag === '"v1"' || tag === 'W/"v1"', `ETag: ${tag}`);
}

/** A reply that needs no decoding on the way keeps all that was said of its bytes. */
function isUntouched(answer, sent) {
  assert.ok(answer.body.equals(sent.body));
  for (const name of ["Content-Encoding", "ETag", "Content-Digest", "Repr-Digest"]) {
    assert.equal(answer.header(name), sentHeader(sent, name), name);
  }
}

/** Whether a client that accepts this may get this coding. */
function mayGet(answer, accept) {
  const coding = answer.header("Content-Encoding");
  assert.ok(coding === null || (accept ?? "").includes(coding), `${coding} for ${accept}`);
}

async function firstAndAgain(key, sent, kind, accepts) {
  answers[key] = sent;
  const [accept, acceptAgain] = accepts;
  const named = (value) => (value === null ? {} : { "Accept-Encoding": value });
  const first = await ask(it.gate, key, named(accept));
  isFirst(first, sent.status);
  isFaithful(first, sent, kind);
  assert.deepEqual(lines(first, "Set-Cookie"), COOKIES);
  for (const [name, value] of Object.entries(PASSING)) assert.equal(first.header(name), value);

  const again = await ask(it.gate, key, named(acceptAgain));
  isReplay(again, sent.status);
  isFaithful(again, sent, kind);
  for (const name of ["Set-Cookie", ...Object.keys(PASSING)]) {
    assert.equal(again.header(name), null, name);
  }
  assert.equal(again.header("Cache-Control"), "no-store");
  assert.equal(runs(it.origin, key), 1);
  return [first, again];
}

const ACCEPTS = [
  [null, "gzip"],
  ["gzip", null],
  ["br", "gzip, deflate"],
  ["gzip, deflate, br", "br"],
];

const STATUSES = [200, 201, 202, 303, 402, 404, 422];

/** All cases of a status; beside 201, each type and coding with one pair of clients, in turns. */
function casesOf(status) {
  const turn = STATUSES.indexOf(status);
  return Object.keys(KINDS).flatMap((kind, k) =>
    ["identity", "gzip", "br"].flatMap((coding, c) =>
      ACCEPTS.map((accepts, pair) => ({ kind, coding, accepts, pair })).filter(
        ({ pair }) => status === 201 || pair === (turn + k + c) % ACCEPTS.length,
      ),
    ),
  );
}

for (const status of STATUSES) {
  test(`${status}: all types and codings, whatever the two clients accept`, async () => {
    const work = async ({ kind, coding, accepts, pair }) => {
      const sent = reply(status, kind, coding);
      const both = await firstAndAgain(`${status}-${kind}-${coding}-${pair}`, sent, kind, accepts);
      both.forEach((answer, n) => mayGet(answer, accepts[n]));
      if (coding === "identity") both.forEach((answer) => isUntouched(answer, sent));
    };
    await Promise.all(casesOf(status).map(work));
  });
}

test("a coding that the runtime cannot decode stays on, with all that was said of it", async () => {
  const cases = Object.keys(KINDS).map(async (kind) => {
    const sent = reply(200, kind, "deflate");
    const accepts = ["deflate", "gzip, deflate"];
    const both = await firstAndAgain(`deflate-${kind}`, sent, kind, accepts);
    both.forEach((answer) => isUntouched(answer, sent));
  });
  await Promise.all(cases);
});

for (const status of [204, 205]) {
  test(`${status} has its headers and no body, first and again`, async () => {
    const headers = [
      ["ETag", '"v1"'],
      ["Location", "/v1/payments/pay_1"],
      ["Link", LASTING.Link],
      ...COOKIES.map((cookie) => ["Set-Cookie", cookie]),
    ];
    const key = `empty-${status}`;
    answers[key] = { status, headers, body: "" };
    const first = await ask(it.gate, key);
    isFirst(first, status);
    assert.deepEqual(lines(first, "Set-Cookie"), COOKIES);
    const again = await ask(it.gate, key);
    isReplay(again, status);
    assert.deepEqual(lines(again, "Set-Cookie"), []);
    for (const answer of [first, again]) {
      assert.equal(answer.body.length, 0);
      assert.equal(answer.header("Content-Type"), null);
      for (const [name, value] of headers.slice(0, 3)) assert.equal(answer.header(name), value);
    }
    assert.equal(runs(it.origin, key), 1);
  });
}

test("a 304 to a command leaves the outcome unknown, and passes as it is", async () => {
  answers.unchanged = { status: 304, headers: [["ETag", '"v1"']], body: "" };
  const first = await ask(it.gate, "unchanged", { "If-None-Match": '"v1"' });
  assert.deepEqual([first.status, first.body.length, first.header("ETag")], [304, 0, '"v1"']);
  assert.equal(first.header("Oncegate-State"), "unknown");
  const again = await ask(it.gate, "unchanged", { "If-None-Match": '"v1"' });
  assert.deepEqual([again.status, again.header("Oncegate-State")], [202, "unknown"]);
  assert.equal(runs(it.origin, "unchanged"), 1);
});

test("trailers of the origin are left out, first and again, the body is whole", async () => {
  const plain = bytesOf(30_000);
  answers.trailers = (response) => {
    response.writeHead(200, { "Content-Type": "application/octet-stream", Trailer: "X-Sum, ETag" });
    response.write(plain.subarray(0, 10_000));
    response.addTrailers({ "X-Sum": "1", ETag: '"late"' });
    response.end(plain.subarray(10_000));
  };
  const first = await ask(it.gate, "trailers", { TE: "trailers" });
  isFirst(first, 200);
  const again = await ask(it.gate, "trailers", { TE: "trailers" });
  isReplay(again, 200);
  for (const answer of [first, again]) {
    fits(answer, plain);
    for (const name of ["Trailer", "X-Sum", "ETag"]) assert.equal(answer.header(name), null, name);
  }
});

test("a body in many small pieces is the same reply as in one", async () => {
  const plain = bytesOf(5_000);
  answers.pieces = async (response) => {
    response.writeHead(200, { "Content-Type": "application/octet-stream" });
    for (let at = 0; at < plain.length; at += 100) {
      await new Promise((resolve) => response.write(plain.subarray(at, at + 100), resolve));
    }
    response.end();
    return true;
  };
  const first = await ask(it.gate, "pieces");
  isFirst(first, 200);
  fits(first, plain);
  const again = await ask(it.gate, "pieces");
  isReplay(again, 200);
  fits(again, plain);
});

test("a gzip body that is not gzip is no reply: the operation is done, and runs once", async () => {
  const headers = [["Content-Encoding", "gzip"], ["Location", "/v1/payments/pay_1"]];
  answers.spoilt = { status: 201, headers, body: Buffer.from("this was never compressed") };
  const first = await ask(it.gate, "spoilt");
  assert.deepEqual([first.status, first.json().code], [502, "reply_unavailable"]);
  const again = await ask(it.gate, "spoilt");
  assert.deepEqual([again.status, again.json().code], [409, "reply_unavailable"]);
  const { original_status: status, location } = again.json();
  assert.deepEqual([status, location], [201, "/v1/payments/pay_1"]);
  assert.equal(runs(it.origin, "spoilt"), 1);
});
