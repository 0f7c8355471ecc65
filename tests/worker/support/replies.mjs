// Replies to the byte: an origin that answers exactly what a test says, and what an answer of the
// gate must have in common with it.
//
// It owns the scripting of replies by idempotency key, with one entry in the ledger for each run,
// and the rules of a faithful answer: its bytes decode to what was sent, its length and digests
// are those of its own bytes, and a strong entity tag stands for the very bytes that it was given
// for. It never decodes by itself on the way: answers are read from a raw socket.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { brotliCompressSync, brotliDecompressSync, constants, deflateSync } from "node:zlib";
import { gunzipSync, gzipSync, inflateSync } from "node:zlib";

import { AUTHORISED, PAYMENT } from "./demo.mjs";
import { PAYMENTS } from "./gated.mjs";
import { rawRequest } from "./http.mjs";

export const MIB = 1024 * 1024;

/** Real brotli, though not its slowest. */
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** The codings: how a body is put into each of them, and got out of it. */
export const CODINGS = {
  identity: [(bytes) => bytes, (bytes) => bytes],
  gzip: [gzipSync, gunzipSync],
  br: [(bytes) => brotliCompressSync(bytes, QUICK), brotliDecompressSync],
  deflate: [deflateSync, inflateSync],
};

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** A digest field (RFC 9530) of some bytes. */
export const digestField = (bytes) =>
  `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;

const made = new Map();

/** Bytes that do not repeat by the block, so that a part sent twice or left out shows. */
export function bytesOf(size, seed = size) {
  const known = made.get(`${size} ${seed}`);
  if (known !== undefined) return known;
  const bytes = Buffer.alloc(size, seed & 0xff);
  for (let n = 0, x = seed; n + 4 <= size; n += 4) {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0;
    bytes.writeUInt32LE(x, n);
  }
  made.set(`${size} ${seed}`, bytes);
  return bytes;
}

/**
 * An origin's replies by key: `answers[key]` is `{ status, headers, body }`, or a function
 * `(response, request, origin)` that answers by itself. `handler` is for `startOrigin`; what has
 * no reply of its own is the demo's.
 */
export function scripted() {
  const answers = {};
  const handler = (request, response, _body, origin) => {
    const key = request.header("Idempotency-Key");
    const answer = answers[key];
    if (answer === undefined) return undefined;
    origin.ledger.record({ operation: "create_payment", subject: key, amount: 1 }, {});
    if (typeof answer !== "function") return answer;
    return answer(response, request, origin) ?? true;
  };
  return { answers, handler };
}

/** How often the origin ran the command of a key. */
export function runs(origin, key) {
  return origin.ledger.entries.filter(({ subject }) => subject === key).length;
}

/** A payment under a key, raw: the answer has its headers as they came, its bytes as they are. */
export function ask(gate, key, headers = {}, options = {}) {
  const all = { ...AUTHORISED, "Content-Type": "application/json", "Idempotency-Key": key };
  return rawRequest(gate.url, {
    method: "POST",
    target: PAYMENTS,
    headers: Object.entries({ ...all, ...headers }),
    body: JSON.stringify(PAYMENT),
    ...options,
  });
}

/** All values of a header, one per line of the answer. */
export function lines(answer, name) {
  const lower = name.toLowerCase();
  return answer.headers.filter(([it]) => it.toLowerCase() === lower).map(([, value]) => value);
}

/** An answer holds this body, in whatever coding, and says nothing of it that is not so. */
export function fits(answer, plain, sent = plain) {
  assert.equal(answer.complete, true, "the answer is whole");
  const coding = answer.header("Content-Encoding");
  const [, decode] = CODINGS[coding ?? "identity"];
  const decoded = decode(answer.body);
  assert.deepEqual([decoded.length, sha256(decoded)], [plain.length, sha256(plain)]);
  const length = answer.header("Content-Length");
  assert.ok(length === null || Number(length) === answer.body.length, `length: ${length}`);
  for (const name of ["Content-Digest", "Repr-Digest"]) {
    const digest = answer.header(name);
    assert.ok(digest === null || digest === digestField(answer.body), `${name}: ${digest}`);
  }
  const tag = answer.header("ETag");
  const same = answer.body.equals(sent);
  assert.ok(tag === null || tag.startsWith("W/") || same, `${tag} is for other bytes`);
}

/** An answer is the stored reply, marked so. */
export function isReplay(answer, status) {
  assert.equal(answer.status, status, answer.text().slice(0, 500));
  const marks = ["Oncegate-State", "Idempotency-Replayed"].map((name) => answer.header(name));
  assert.deepEqual(marks, ["replayed", "true"]);
}

/** An answer is a fresh one of the origin. */
export function isFirst(answer, status) {
  assert.equal(answer.status, status, answer.text().slice(0, 500));
  const marks = ["Oncegate-State", "Idempotency-Replayed"].map((name) => answer.header(name));
  assert.deepEqual(marks, ["executed", null]);
}
