// The world of a fault run: the policy, and the origin that misbehaves.
//
// Three kinds of payments: "asked" (the origin is asked what became of them), "held" (nobody asks:
// they may stay unknown), and "brief" (asked and soon forgotten, so that alarms end lifetimes while
// the runtime dies). The origin's look-up fails now and then, and keeps its promise when it says
// that something is not there (demo/fence.mjs). Nothing of the origin de-duplicates.

import { FencedBank } from "../../demo/fence.mjs";
import { startOrigin } from "../../demo/origin.mjs";
import { operation, policyOf } from "../worker/support/policy.mjs";
import { between, choose } from "./random.mjs";

const TIMES = { lease: "1200ms", origin_timeout: "600ms" };
/** Longer than any client is away, so that no retry finds a key that is forgotten. */
const TOMBSTONE_MS = 15_000;

export const KINDS = {
  asked: { operation: "create_payment", path: "/v1/payments" },
  brief: { operation: "brief_payment", path: "/v1/brief" },
  held: { operation: "held_payment", path: "/v1/held" },
};

export const kindOf = (name) => Object.keys(KINDS).find((kind) => KINDS[kind].operation === name);

const RECOVERY = {
  then: "reconcile",
  probe: "GET /v1/operations?reference={reference}",
  confirm: { "/data/0/reference": "{reference}" },
  verdicts: [
    { status: 200, pointer: "/data", length: 0, verdict: "not_applied" },
    { status: 200, pointer: "/data/0/result", verdict: "applied" },
  ],
  settle_after: "300ms",
  schedule: ["50ms", "100ms", "200ms", "400ms"],
  escalate_after: "1h",
  reply_pointer: "/data/0/result",
  reply_status: 201,
};

export const POLICY = policyOf([
  operation("create_payment", { ...TIMES, recovery: RECOVERY }),
  operation("brief_payment", {
    ...TIMES,
    match: "POST /v1/brief",
    recovery: RECOVERY,
    keep: { for: "400ms", tombstone: `${TOMBSTONE_MS}ms` },
  }),
  operation("held_payment", { ...TIMES, match: "POST /v1/held" }),
]);

export const VARS = { ONCEGATE_PROBE_AUTHORIZATION: "Bearer the-gate" };
export const LONGEST_LIFE_MS = TOMBSTONE_MS;

/** What an origin does to a command, by weight; times are drawn. */
const MISDEEDS = [
  [30, () => ({})],
  [8, () => ({ "Demo-Reset": "before" })],
  [10, () => ({ "Demo-Reset": "after" })],
  [8, (random) => ({ "Demo-Cut": String(between(random, 0, 60)) })],
  [9, (random) => ({ "Demo-Delay": slow(random) })],
  [8, (random) => ({ "Demo-Delay-Before": slow(random) })],
  [8, () => ({ "Demo-Fail": "after:500" })],
  [6, () => ({ "Demo-Fail": "before:503" })],
  [7, (random) => ({ "Demo-Late": slow(random) })],
  [3, () => ({ "Demo-Hang": "after" })],
  [3, () => ({ "Demo-Hang": "before" })],
];

/** Shorter than the time-out, longer than it, and longer than the lease. */
const slow = (random) => `${between(random, 50, 2500)}ms`;

/** The switches of one request; late tries are spared, so that every key comes to an end. */
export function misdeeds(random, tries) {
  return tries > 12 ? {} : choose(random, MISDEEDS)(random);
}

/** Payments under three names. */
class Payments extends FencedBank {
  constructor() {
    super();
    const route = this.payments.route.bind(this.payments);
    const paths = Object.values(KINDS).map(({ path }) => path);
    this.payments.route = (call) =>
      route(paths.includes(call.path) ? { ...call, path: "/v1/payments" } : call);
  }
}

/** Starts the origin. `counts.probes` and `counts.spoilt` tell of its look-ups. */
export async function startWorld(random) {
  const counts = { probes: 0, spoilt: 0 };
  const handler = (request, response) => {
    if (request.path !== "/v1/operations") return undefined;
    counts.probes += 1;
    const fate = choose(random, [[84, "true"], [8, "busy"], [5, "broken"], [3, "silent"]]);
    if (fate === "true") return undefined;
    counts.spoilt += 1;
    if (fate === "busy") return { status: 503, body: "" };
    if (fate === "broken") response.socket.destroy();
    return true;
  };
  const origin = await startOrigin({ bank: new Payments(), handler, remember: 0 });
  return Object.assign(origin, { counts });
}
