// Requests to a gate, and what its answers must look like.
//
// It owns the shapes that the tests of the gate repeat: a keyed payment, the gate's own problem
// documents with all their headers, the status route, and "nothing happened". What an origin did
// is never taken from an answer: that is for its ledger to say.

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

import { AUTHORISED, PAYMENT, postTo, problemOf } from "./demo.mjs";
import { rawRequest } from "./http.mjs";

export const PAYMENTS = "/v1/payments";
export const STATUS = "/.well-known/idempotency/status";

/** Creates a payment under a key. */
export function pay(gate, key, headers = {}, value = PAYMENT) {
  return postTo(gate, PAYMENTS, value, { "Idempotency-Key": key, ...headers });
}

/** The same on a raw socket, for statuses that `fetch` would act upon by itself. */
export async function payRaw(gate, key, headers = {}, value = PAYMENT) {
  const all = { ...AUTHORISED, "content-type": "application/json", ...headers };
  const pairs = Object.entries({ ...all, "Idempotency-Key": key });
  const request = { method: "POST", target: PAYMENTS, headers: pairs, body: JSON.stringify(value) };
  return responseOf(await rawRequest(gate.url, request));
}

/** A raw answer as a `Response`. */
export function responseOf({ status, headers, body }) {
  const bodiless = status === 204 || status === 205 || status === 304;
  return new Response(bodiless ? null : body, { status, headers });
}

/** The status of an operation, by key or by `{ reference }`. */
export function statusOf(gate, key, { operation = "create_payment", headers = {} } = {}) {
  const { reference } = key;
  const by = reference === undefined ? { "Idempotency-Key": key } : {};
  const query = reference === undefined ? "" : `?reference=${reference}`;
  const all = { ...AUTHORISED, ...by, ...headers };
  return fetch(`${gate.url}${STATUS}/${operation}${query}`, { headers: all });
}

/** The state that the status route tells, with what else it says. */
export async function stateOf(gate, key, options) {
  const response = await statusOf(gate, key, options);
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** Whether an answer carries the marker of a replay. */
export function isMarked(response) {
  return response.headers.get("Idempotency-Replayed") === "true";
}

/** What of an answer a replay must repeat. */
export async function receiptOf(response) {
  const { status, headers } = response;
  const names = ["Content-Type", "Location", "ETag", "Oncegate-Reference"];
  const kept = Object.fromEntries(names.map((name) => [name, headers.get(name)]));
  return { status, ...kept, body: await response.text() };
}

/** A fresh answer of the origin: passed on, not marked. Returns its receipt. */
export async function executed(response, status = 201) {
  const receipt = await receiptOf(response);
  assert.equal(receipt.status, status, receipt.body);
  assert.equal(response.headers.get("Oncegate-State"), "executed");
  assert.equal(isMarked(response), false);
  assert.equal(response.headers.get("Oncegate-Recorded"), null);
  return receipt;
}

/** A replay of a receipt: equal to it, marked, and never to be cached. */
export async function replayed(response, receipt) {
  assert.deepEqual(await receiptOf(response), receipt);
  assert.equal(response.headers.get("Oncegate-State"), "replayed");
  assert.equal(isMarked(response), true);
  assert.equal(response.headers.get("Cache-Control"), "no-store");
  assert.match(response.headers.get("Oncegate-Recorded"), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
}

/** A pending answer of the default preset. Returns its document. */
export async function pending(gate, response, state) {
  const text = await response.text();
  assert.equal(response.status, 202, text);
  assert.match(response.headers.get("Content-Type"), /^application\/json/);
  assert.equal(response.headers.get("Oncegate-State"), state);
  assert.equal(response.headers.get("Oncegate-Retry"), "same-key");
  assert.equal(response.headers.get("Cache-Control"), "no-store");
  assert.equal(isMarked(response), false);
  const document = JSON.parse(text);
  assert.equal(document.state, state);
  assert.equal(document.reference, response.headers.get("Oncegate-Reference"));
  assert.equal(document.status_url, response.headers.get("Location"));
  assert.ok(document.status_url.startsWith(`${gate.url}${STATUS}/`), document.status_url);
  retryAfter(response);
  return document;
}

/** The hint of an answer: a positive whole number of seconds. */
export function retryAfter(response) {
  const hint = response.headers.get("Retry-After");
  assert.match(hint ?? "", /^[1-9]\d{0,8}$/, `Retry-After: ${hint}`);
  return Number(hint);
}

/** A problem document of the gate's own, with its headers; a raw answer will do. */
export async function refusal(gate, answer, status, code, state = "refused") {
  const response = answer instanceof Response ? answer : responseOf(answer);
  const problem = await problemOf(response, status, code);
  assert.equal(problem.type, `${gate.url}/.well-known/idempotency/problems/${code}`);
  assert.ok(problem.title.length > 0 && problem.detail.length > 0);
  assert.equal(response.headers.get("Oncegate-Retry"), problem.retry);
  assert.equal(response.headers.get("Oncegate-State"), state);
  assert.equal(response.headers.get("Cache-Control"), "no-store");
  assert.equal(problem.reference, response.headers.get("Oncegate-Reference") ?? undefined);
  assert.equal(isMarked(response), false);
  return problem;
}

/** Runs work that must neither reach the origin nor create an object. */
export async function withoutTrace(gate, origin, work) {
  const trace = () => [origin.requests.length, gate.objects().map(({ id }) => id).sort()];
  const before = trace();
  const result = await work();
  assert.deepEqual(trace(), before, "requests at the origin, objects on disk");
  return result;
}

/** What is looked for, as soon as it is there: for what no event tells of. */
export async function eventually(look, { within = 10_000, every = 20 } = {}) {
  const until = Date.now() + within;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > until) throw new Error(`It was not so within ${within} ms: ${look}`);
    await delay(every);
  }
}
