// Calls to the demo origin, straight or through a gate, and what they left in its ledger.
//
// It owns the shapes that the tests repeat: an authorised JSON request, a problem document, and
// the entries that a piece of work added. `server` is anything with a `url`: an origin or a gate.

import assert from "node:assert/strict";

export const AUTHORISED = { authorization: "Bearer demo" };
export const PAYMENT = { amount: 1000, currency: "EUR" };

/** An authorised POST of a JSON value, or of nothing. */
export function postTo(server, path, value, headers = {}) {
  const body = value === undefined ? undefined : JSON.stringify(value);
  const type = value === undefined ? {} : { "content-type": "application/json" };
  const all = { ...AUTHORISED, ...type, ...headers };
  return fetch(server.url + path, { method: "POST", headers: all, body, redirect: "manual" });
}

/** A GET, authorised unless other headers are given. */
export function getFrom(server, path, headers = AUTHORISED) {
  return fetch(server.url + path, { headers, redirect: "manual" });
}

/** The problem document of an answer, which must have this status and code. */
export async function problemOf(response, status, code) {
  assert.equal(response.status, status);
  assert.match(response.headers.get("content-type"), /^application\/problem\+json/);
  const problem = await response.json();
  assert.equal(problem.status, status);
  assert.equal(problem.code, code);
  return problem;
}

/** The result of `work` and the ledger entries that it added. */
export async function effectsIn(origin, work) {
  const known = origin.ledger.count();
  const result = await work();
  return { result, effects: origin.ledger.entries.slice(known) };
}
