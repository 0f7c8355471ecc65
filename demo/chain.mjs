// One payment in four steps, under one business key, through a gate that is killed at each step.
//
//   npm run demo:chain
//
// create, authorise, capture and settle are four operations, so one key is four records. At every
// step the gate dies without warning while the command is at the origin; the client does what any
// client would: it sends the same request again, with the same key, until it has an answer. What
// the gate does not know it asks the origin (GET /v1/operations?reference=...). At the end the
// ledger shows each step once. Nothing here checks anything: chain.test.mjs does.

import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";

import { operation, policyOf, startGate } from "../tests/worker/support/gate.mjs";
import { startOrigin } from "./origin.mjs";

const PAYMENT = { amount: 4200, currency: "EUR" };

/** The steps of a payment, in their order. */
export const STEPS = [
  { name: "create", operation: "create_payment", path: () => "/v1/payments", body: PAYMENT },
  ...["authorise", "capture", "settle"].map((name) => ({
    name,
    operation: `${name}_payment`,
    path: (id) => `/v1/payments/${id}/${name}`,
  })),
];

/** What the origin is asked when nobody knows what became of a step. */
const recovery = (reply_status) => ({
  then: "reconcile",
  probe: "GET /v1/operations?reference={reference}",
  confirm: { "/data/0/reference": "{reference}" },
  verdicts: [
    { status: 200, pointer: "/data", length: 0, verdict: "not_applied" },
    { status: 200, pointer: "/data/0/result", verdict: "applied" },
  ],
  settle_after: "500ms",
  schedule: ["100ms", "200ms", "500ms"],
  reply_pointer: "/data/0/result",
  reply_status,
});

export const POLICY = policyOf(
  STEPS.map(({ operation: name }) => {
    const status = name === "create_payment" ? 201 : 200;
    return operation(name, { lease: "1s", origin_timeout: "800ms", recovery: recovery(status) });
  }),
);

/** What the gate may ask the demo origin with. */
export const VARS = { ONCEGATE_PROBE_AUTHORIZATION: "Bearer the-gate" };

/**
 * Goes through all steps. `disturb(step, send)` makes the first request of a step and may let
 * anything happen to it; `say` takes a line of the story. Returns the answers, by step.
 */
export async function runChain({ gate, key, disturb, say = () => {}, hurry = Infinity }) {
  const answers = {};
  let id;
  for (const step of STEPS) {
    const path = step.path(id);
    say(`${step.name.padEnd(10)} POST ${path}`);
    const send = () => post(gate, path, step.body, key);
    const answer = await untilAnswered(send, await disturb(step, send), say, hurry);
    answers[step.name] = answer;
    id = answer.body.id;
    const { status, state, body } = answer;
    say(`           ${status} ${state}: ${body.id} is ${body.status}`);
  }
  return answers;
}

async function post(gate, path, value, key) {
  const headers = { authorization: "Bearer demo", "idempotency-key": key };
  const body = value && JSON.stringify(value);
  if (body) headers["content-type"] = "application/json";
  const response = await fetch(gate.url + path, { method: "POST", headers, body });
  return {
    status: response.status,
    state: response.headers.get("oncegate-state"),
    retry: response.headers.get("oncegate-retry"),
    after: Number(response.headers.get("retry-after") ?? 1),
    reference: response.headers.get("oncegate-reference"),
    body: await response.json(),
  };
}

/** The client: the same request again, with the same key, until the answer is final. */
async function untilAnswered(send, first, say, hurry) {
  let answer = first;
  for (;;) {
    if (answer?.status < 400 && answer.status !== 202) return answer;
    const told = answer === undefined ? "the connection broke" : `${answer.status} ${answer.state}`;
    if (answer !== undefined && answer.retry !== "same-key" && answer.state !== "executed") {
      throw new Error(`The chain ends here: ${told} ${JSON.stringify(answer.body)}`);
    }
    const pause = Math.min((answer?.after ?? 1) * 1000, hurry);
    say(`           ${told}; the same again in ${pause / 1000} s`);
    await delay(pause);
    answer = await send().catch(() => undefined);
  }
}

/** Kills the gate while a step is at the origin, which has done it ("after") or not ("before"). */
export function killing({ gate, origin, when = "after", say = () => {} }) {
  return async (step, send) => {
    const path = new RegExp(`^/v1/payments(/[^/]+/${step.name})?$`);
    const hold = origin.hold((it) => it.method === "POST" && path.test(it.path), { when });
    const client = send().catch(() => undefined);
    const attempt = (await hold.reached).header("Oncegate-Attempt");
    const done = when === "after" ? "has done it" : "has not done it yet";
    say(`           attempt ${attempt} is at the origin, which ${done}; kill -9 of the gate`);
    await gate.kill();
    hold.drop();
    return client;
  };
}

async function main() {
  const say = (line) => process.stdout.write(`${line}\n`);
  const origin = await startOrigin();
  const gate = await startGate({ origin, policy: POLICY, vars: VARS });
  try {
    const key = `order-${Date.now().toString(36)}`;
    say(`One payment in four steps, all under the key ${key}. The gate dies at each of them.\n`);
    const turns = ["after", "before"];
    const disturb = (step, send) => {
      turns.push(turns.shift());
      return killing({ gate, origin, say, when: turns.at(-1) })(step, send);
    };
    await runChain({ gate, key, disturb, say });
    say("\nThe ledger of the origin:");
    for (const { n, operation: name, subject, attempt } of origin.ledger.entries) {
      say(`  ${n}  ${name.padEnd(18)} ${subject}  by attempt ${attempt}`);
    }
  } finally {
    await gate.dispose();
    await origin.close();
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await main();
}
