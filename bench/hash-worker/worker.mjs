// The measuring Worker: both hashes in one isolate, in turns, over a body that comes with the
// request. The clock of the local runtime moves while code runs, by whole milliseconds; batches
// are long enough for that.

import { CommandHash } from "./index.js";
import * as javascript from "./javascript.mjs";

// Its methods need no instance; taken once, because the class stands behind a proxy.
const { fingerprint, memory } = CommandHash;

const SIDES = {
  rust: (body) => fingerprint(body),
  javascript: (body) => javascript.fingerprint(body),
};

const pages = () => memory().buffer.byteLength;

export default {
  async fetch(request) {
    const body = new Uint8Array(await request.arrayBuffer());
    const plan = Object.fromEntries(new URL(request.url).searchParams);
    if (plan.memory !== undefined) return Response.json(memoryFor(body, Number(plan.memory)));
    return Response.json(await times(body, Number(plan.rounds), Number(plan.batch_ms)));
  },
};

/** How the wasm memory grows with the first call and with all of them. */
function memoryFor(body, calls) {
  const before = pages();
  fingerprint(body);
  const first = pages() - before;
  for (let call = 1; call < calls; call += 1) fingerprint(body);
  return { before, first, all: pages() - before };
}

async function times(body, rounds, batchMs) {
  const counts = {};
  for (const [side, hash] of Object.entries(SIDES)) counts[side] = await calls(hash, body, batchMs);
  const result = { rust: [], javascript: [], counts };
  for (let round = 0; round < rounds; round += 1) {
    const order = Object.keys(SIDES);
    for (const side of round % 2 === 0 ? order : order.reverse()) {
      const elapsed = await batch(SIDES[side], body, counts[side]);
      result[side].push(elapsed / counts[side]);
    }
  }
  return result;
}

/** How many calls fill a batch, after twice that long for the compilers to do their best. */
async function calls(hash, body, batchMs) {
  let count = 1;
  let elapsed = 0;
  let spent = 0;
  while (spent < 2 * batchMs || elapsed < batchMs / 2) {
    elapsed = await batch(hash, body, count);
    spent += elapsed;
    if (elapsed < batchMs / 2) count *= 2;
    if (spent > 10 * batchMs) break;
  }
  // Of the slowest bodies several too: one call is too few for a clock of whole milliseconds.
  return Math.max(4, Math.round((count * batchMs) / Math.max(elapsed, 1)));
}

async function batch(hash, body, count) {
  const start = performance.now();
  for (let call = 0; call < count; call += 1) {
    const digest = await hash(body);
    if (digest.length !== 32) throw new Error("that is no digest");
  }
  return performance.now() - start;
}
