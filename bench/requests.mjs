// Requests through the gate and through the hand-written one, side by side: new keys, replays and
// pass-through, one at a time (latency) and many at once (throughput).
//
// Both run in one workerd and take turns in short slices; a round has a slice of every kind for
// each side, and the side that begins changes with every round. So whatever else the machine does
// meets both alike, and the ratio of a round means more than any of its times.

import { Client, slice } from "./lib/load.mjs";
import { startOrigin } from "./lib/origin.mjs";
import { mustKeepPromises } from "./lib/promises.mjs";
import { baselineWorker, gateWorker, startRuntime } from "./lib/runtime.mjs";
import { median, quantile, ratios } from "./lib/stats.mjs";

const SIDES = ["gate", "baseline"];
const PARALLEL = [1, 16];
/** Keys that replays choose from, per side. */
const REPLAYED = 64;

const PAYMENT = {
  reference: "order-2041",
  amount: 1999,
  currency: "EUR",
  customer: { id: "cus_81", email: "buyer@example.com", address: { city: "Graz", zip: "8010" } },
  items: [
    { sku: "A-100", quantity: 2, price: 7.5 },
    { sku: "B-220", quantity: 1, price: 4.99 },
  ],
};

/** A payment under a key; its amount follows from the key, so a repeat is the same command. */
function payment(key, changes = {}) {
  const body = JSON.stringify({ ...PAYMENT, amount: 1000 + key, ...changes });
  const headers = {
    authorization: "Bearer bench",
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "idempotency-key": `bench-${key}`,
  };
  return { method: "POST", path: "/v1/payments", headers, body };
}

/** What is sent to one side, and what a right answer is. */
class Side {
  #newest = REPLAYED;
  #turn = 0;
  /** How many commands the origin must have seen from this side. */
  commands = 0;

  constructor(name, url) {
    this.name = name;
    this.client = new Client(url);
    this.loads = {
      new: {
        next: () => this.#first(this.#newest++),
        check: (answer) => expect(answer, 201, undefined),
      },
      replay: {
        next: () => payment(this.#turn++ % REPLAYED),
        check: (answer) => expect(answer, 201, "true"),
      },
      pass: {
        next: () => ({ method: "GET", path: "/v1/rates", headers: {} }),
        check: (answer) => expect(answer, 200, undefined),
      },
    };
  }

  #first(key) {
    this.commands += 1;
    return payment(key);
  }

  /** Shows that it is a gate, and makes the keys that are replayed, of which 0 is the first. */
  async seed(origin) {
    this.commands += 1;
    await mustKeepPromises({ name: this.name, client: this.client, payment }, origin);
    for (let key = 1; key < REPLAYED; key += 1) {
      expect(await this.client.send(this.#first(key)), 201, undefined);
    }
  }
}

function expect({ status, headers }, wanted, replayed) {
  if (status === wanted && headers["idempotency-replayed"] === replayed) return;
  throw new Error(`an answer is ${status}, replayed: ${headers["idempotency-replayed"]}`);
}

/**
 * Runs the rounds; resolves to `{ rounds, requests }`. `plan` has `rounds`, `warmUpMs`, `sliceMs`,
 * and `budgetMs`, after which no further pair of rounds begins.
 */
export async function measureRequests(plan, tell) {
  const origin = await startOrigin();
  let runtime;
  try {
    const gate = gateWorker(origin.url);
    runtime = await startRuntime([gate, baselineWorker(origin.url, gate)]);
    const sides = SIDES.map((name) => new Side(name, runtime.urls[name]));
    try {
      for (const side of sides) await side.seed(origin);
      const cells = await rounds(plan, sides, runtime.pid, tell);
      const expected = sides.reduce((sum, side) => sum + side.commands, 0);
      const effects = await origin.effects();
      if (effects !== expected) {
        throw new Error(`the origin ran ${effects} commands where ${expected} were sent`);
      }
      return { rounds: cells[0].gate.length, requests: cells.map(summary) };
    } finally {
      for (const side of sides) side.client.close();
    }
  } finally {
    await runtime?.stop();
    await origin.stop();
  }
}

async function rounds(plan, sides, pid, tell) {
  const until = performance.now() + plan.budgetMs;
  const loads = Object.keys(sides[0].loads);
  const cells = PARALLEL.flatMap((parallel) =>
    loads.map((load) => ({ load, parallel, gate: [], baseline: [] })),
  );
  const run = ({ load, parallel }, side, ms) =>
    slice({ ...side.loads[load], client: side.client, parallel, ms, pid });
  for (const cell of cells) {
    for (const side of sides) await run(cell, side, plan.warmUpMs);
  }
  for (let round = 1; round <= plan.rounds; round += 1) {
    // In pairs, so that each side begins equally often.
    if (round > 2 && round % 2 === 1 && performance.now() > until) break;
    const order = round % 2 === 0 ? sides : sides.toReversed();
    for (const cell of cells) {
      for (const side of order) cell[side.name].push(await run(cell, side, plan.sliceMs));
    }
    tell(`requests: round ${round} of ${plan.rounds}`);
  }
  return cells;
}

function summary({ load, parallel, ...slices }) {
  const per = (side, field) => slices[side].map((each) => each[field] / each.requests);
  const sideOf = (side) => {
    const times = slices[side].flatMap((each) => each.times);
    return {
      requests: times.length,
      each_ms: median(per(side, "elapsed")),
      cpu_ms: median(per(side, "cpu")),
      p50_ms: median(times),
      p95_ms: quantile(times, 0.95),
    };
  };
  return {
    load,
    parallel,
    gate: sideOf("gate"),
    baseline: sideOf("baseline"),
    ratio: ratios(per("gate", "elapsed"), per("baseline", "elapsed")),
    cpu_ratio: ratios(per("gate", "cpu"), per("baseline", "cpu")),
  };
}
