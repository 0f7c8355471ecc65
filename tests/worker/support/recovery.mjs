// Recovery in the tests: a policy that asks the origin, and an origin whose look-up says what a
// test wants.
//
// The probe names the idempotency key, so that a test scripts the answers for a key before it is
// used. What is not scripted is the truth: the demo origin's own look-up by reference.

import { startOrigin } from "../../../demo/origin.mjs";
import { eventually, pay } from "./gated.mjs";
import { operation, policyOf } from "./policy.mjs";

export const PROBE_SECRET = { ONCEGATE_PROBE_AUTHORIZATION: "Bearer gate-asks" };

export const NOT_FOUND = { status: 404, body: "" };
export const NOTHING = { status: 200, body: '{"data":[]}' };

/** A recovery table that asks the look-up of `startLookup`, quickly. */
export function reconcile(fields = {}) {
  return {
    then: "reconcile",
    probe: "GET /lookup/{key}?reference={reference}",
    confirm: { "/data/0/reference": "{reference}" },
    verdicts: [
      { status: 200, pointer: "/data", length: 0, verdict: "not_applied" },
      { status: 200, pointer: "/data/0/status", equals: "refused", verdict: "failed" },
      { status: 200, pointer: "/data/0/status", equals: "working", verdict: "pending" },
      { status: 200, pointer: "/data/0/id", verdict: "applied" },
      { status: 404, verdict: "not_applied" },
    ],
    settle_after: "1ms",
    schedule: ["50ms"],
    reply_pointer: "/data/0",
    reply_status: 201,
    ...fields,
  };
}

/** The policy of payments whose unknown outcomes are asked about. */
export function reconciling(recovery = {}, fields = {}) {
  const times = { lease: "2s", origin_timeout: "1s" };
  return policyOf([
    operation("create_payment", { ...times, recovery: reconcile(recovery), ...fields }),
  ]);
}

/**
 * The demo origin with a look-up `GET /lookup/KEY?reference=...`.
 *
 * `script(key, ...answers)` sets what the next look-ups of a key get: an answer, or a function that
 * takes the response and answers by itself. `probes(key)` lists the look-ups that came.
 */
export async function startLookup(options = {}) {
  const scripts = new Map();
  const origin = await startOrigin({
    ...options,
    handler: (request, response, body, origin) => {
      const key = keyOf(request);
      if (key === undefined) return options.handler?.(request, response, body, origin);
      const answer = scripts.get(key)?.shift() ?? truth(origin, request);
      return typeof answer === "function" ? answer(response, request) : answer;
    },
  });
  origin.script = (key, ...answers) => scripts.set(key, answers);
  origin.probes = (key) => origin.requests.filter((it) => keyOf(it) === key);
  origin.nextProbe = (key) => origin.nextRequest((it) => keyOf(it) === key);
  origin.holdProbes = (key, how) => origin.hold((it) => keyOf(it) === key, how);
  return origin;
}

function keyOf(request) {
  const key = /^\/lookup\/([^/]+)$/.exec(request.path)?.[1];
  return key === undefined ? undefined : decodeURIComponent(key);
}

function truth(origin, { query }) {
  return origin.bank.payments.route({ method: "GET", path: "/v1/payments", query });
}

/** The document that the demo's look-up gives for a payment under a reference. */
export function found(reference, payment = {}) {
  const one = { id: "pay_1", status: "created", amount: 1000, currency: "EUR", reference };
  return { status: 200, body: JSON.stringify({ data: [{ ...one, ...payment }] }) };
}

/** The answer of a client that comes back until it is told something final. */
export function settledAnswer(gate, key, headers) {
  return eventually(async () => {
    const response = await pay(gate, key, headers);
    if (response.status !== 202) return response;
    await response.arrayBuffer();
    return undefined;
  });
}
