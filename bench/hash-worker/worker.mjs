// The measuring Worker: both hashes in one isolate, over the body of the request. The clock of the
// local runtime moves while code runs, by whole milliseconds; batches are long enough for that.

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
    const question = new URL(request.url).searchParams;
    const { task, side, calls, batch_ms: ms } = Object.fromEntries(question);
    const tasks = {
      memory: () => memoryFor(body, Number(calls)),
      calls: () => callsFor(SIDES[side], body, Number(ms)),
      batch: () => batch(SIDES[side], body, Number(calls)),
    };
    return Response.json(await tasks[task]());
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

/** How many calls fill a batch, after twice that long for the compilers to do their best. */
async function callsFor(hash, body, batchMs) {
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

/** The time of that many calls (ms). */
async function batch(hash, body, count) {
  const start = performance.now();
  for (let call = 0; call < count; call += 1) {
    const digest = await hash(body);
    if (digest.length !== 32) throw new Error("that is no digest");
  }
  return performance.now() - start;
}
