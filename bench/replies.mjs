// Replays by the length of their reply, through the gate and through the hand-written one: 1 KiB,
// 64 KiB and 4 MiB, one at a time and several at once.
//
// Each side has a runtime of its own, so that memory can be told apart: what a slice adds at its
// peak to what the runtime had when the slice began. The sides take turns as they do for requests.
// Every answer is checked for its length and its marker, and the origin must have run each command
// once.

import { Client, slice } from "./lib/load.mjs";
import { peakOf, resetPeak } from "./lib/memory.mjs";
import { startOrigin } from "./lib/origin.mjs";
import { baselineWorker, gateWorker, startRuntime } from "./lib/runtime.mjs";
import { median, ratios } from "./lib/stats.mjs";

const KIB = 1024;
const SIZES = [KIB, 64 * KIB, 4096 * KIB];
const PARALLEL = [1, 4];
/** Keys that the replays of one length choose from. */
const KEYS = 8;

/** A payment whose reply has so many bytes. */
function payment(size, key) {
  const body = JSON.stringify({ amount: 1000 + key, currency: "EUR" });
  const headers = {
    authorization: "Bearer bench",
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "idempotency-key": `bench-${size}-${key}`,
    "bench-reply": size,
  };
  return { method: "POST", path: "/v1/payments", headers, body };
}

function expect(answer, size, replayed) {
  const { status, headers, length } = answer;
  const right = status === 201 && length === size;
  if (right && headers["idempotency-replayed"] === replayed) return;
  const marker = headers["idempotency-replayed"];
  throw new Error(`an answer is ${status} with ${length} of ${size} bytes, replayed: ${marker}`);
}

/** One side: its runtime, and its client. */
class Side {
  #turn = 0;

  static async start(name, worker) {
    const side = new Side();
    side.name = name;
    side.runtime = await startRuntime([worker]);
    side.client = new Client(side.runtime.urls[name]);
    return side;
  }

  /** Makes the replies that are replayed. */
  async seed() {
    for (const size of SIZES) {
      for (let key = 0; key < KEYS; key += 1) {
        expect(await this.client.send(payment(size, key)), size, undefined);
      }
    }
  }

  async slice({ size, parallel }, ms) {
    const { pid } = this.runtime;
    const before = resetPeak(pid);
    const next = () => payment(size, this.#turn++ % KEYS);
    const check = (answer) => expect(answer, size, "true");
    const done = await slice({ client: this.client, next, check, parallel, ms, pid });
    return { ...done, memory: peakOf(pid) - before };
  }

  async stop() {
    this.client.close();
    await this.runtime.stop();
  }
}

/** Runs the rounds; resolves to `{ replyRounds, replies }`. */
export async function measureReplies(plan, tell) {
  const origin = await startOrigin();
  const sides = [];
  try {
    const gate = gateWorker(origin.url);
    sides.push(await Side.start("gate", gate));
    sides.push(await Side.start("baseline", baselineWorker(origin.url, gate)));
    for (const side of sides) await side.seed();
    const cells = await rounds(plan, sides, tell);
    const expected = sides.length * SIZES.length * KEYS;
    const effects = await origin.effects();
    if (effects !== expected) {
      throw new Error(`the origin ran ${effects} commands where ${expected} were sent`);
    }
    return { replyRounds: cells[0].gate.length, replies: cells.map(summary) };
  } finally {
    for (const side of sides) await side.stop();
    await origin.stop();
  }
}

async function rounds({ replyRounds, replyBudgetMs, sliceMs, warmUpMs }, sides, tell) {
  const until = performance.now() + replyBudgetMs;
  const cells = SIZES.flatMap((size) =>
    PARALLEL.map((parallel) => ({ size, parallel, gate: [], baseline: [] })),
  );
  for (const cell of cells) {
    for (const side of sides) await side.slice(cell, warmUpMs);
  }
  for (let round = 1; round <= replyRounds; round += 1) {
    // In pairs, so that each side begins equally often.
    if (round > 2 && round % 2 === 1 && performance.now() > until) break;
    const order = round % 2 === 0 ? sides : sides.toReversed();
    for (const cell of cells) {
      for (const side of order) cell[side.name].push(await side.slice(cell, sliceMs));
    }
    tell(`replies: round ${round} of ${replyRounds}`);
  }
  return cells;
}

function summary({ size, parallel, ...slices }) {
  const per = (side, field) => slices[side].map((each) => each[field] / each.requests);
  const sideOf = (side) => {
    const each = median(per(side, "elapsed"));
    return {
      requests: slices[side].reduce((sum, { requests }) => sum + requests, 0),
      each_ms: each,
      cpu_ms: median(per(side, "cpu")),
      mib_per_s: (size / KIB / KIB / each) * 1000,
      peak_bytes: Math.max(...slices[side].map(({ memory }) => memory)),
    };
  };
  return {
    size,
    parallel,
    gate: sideOf("gate"),
    baseline: sideOf("baseline"),
    ratio: ratios(per("gate", "elapsed"), per("baseline", "elapsed")),
    cpu_ratio: ratios(per("gate", "cpu"), per("baseline", "cpu")),
  };
}
