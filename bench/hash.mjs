// The command hash of the core (Rust, in wasm) beside one written by hand in JavaScript, in one
// isolate of one workerd: time per body, their ratio, and how far the wasm memory grows.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { inRoot } from "../scripts/lib/paths.mjs";
import { HASH_BUILD } from "./hash-worker/build.mjs";
import { body, kinds } from "./hash-worker/corpus.mjs";
import { busiestSince, cpuOf } from "./lib/cpu.mjs";
import { module, startRuntime } from "./lib/runtime.mjs";
import { median, ratios } from "./lib/stats.mjs";

const SIDES = ["rust", "javascript"];
const KIB = 1024;
const LARGEST = 1024 * KIB;
/** Bodies of the kind that people send, then one of each other kind, which say where time goes. */
const BODIES = [
  ...[KIB, 64 * KIB, LARGEST].map((size) => ["orders", size]),
  ...kinds.filter((kind) => kind !== "orders").map((kind) => [kind, 64 * KIB]),
];
/** Calls after which the memory must not have grown any further. */
const CALLS = 20;

function hashWorker() {
  const root = inRoot("bench", "hash-worker");
  const beside = (file) => ({
    type: "ESModule",
    path: join(HASH_BUILD, file),
    contents: readFileSync(join(root, file), "utf8"),
  });
  const built = ["index.js", "index_bg.wasm"].map((file) => module(HASH_BUILD, file));
  return {
    name: "hash",
    compatibilityDate: "2026-11-01",
    modulesRoot: HASH_BUILD,
    modules: [beside("worker.mjs"), beside("javascript.mjs"), ...built],
  };
}

/** Measures every body; `plan` has `hashRounds`, `batchMs` and `hashBudgetMs`, for one body. */
export async function measureHash(plan, tell) {
  const runtime = await startRuntime([hashWorker()]);
  const ask = async (bytes, question) => {
    const url = `${runtime.urls.hash}/?${new URLSearchParams(question)}`;
    const answer = await fetch(url, { method: "POST", body: bytes });
    if (answer.status !== 200) throw new Error(`the hash failed: ${await answer.text()}`);
    return answer.json();
  };
  try {
    // First of all, on an instance that has seen nothing large; a small body warms it up.
    await ask(body("orders", KIB), { task: "memory", calls: 1 });
    const memory = await ask(body("orders", LARGEST), { task: "memory", calls: CALLS });
    const times = [];
    for (const [kind, size] of BODIES) {
      const bytes = body(kind, size);
      const samples = await rounds(plan, runtime.pid, (question) => ask(bytes, question));
      times.push(summary(kind, size, samples));
      tell(`hash: ${kind}, ${size / KIB} KiB`);
    }
    return { times, memory: { body: LARGEST, ...memory, ratio: memory.all / LARGEST } };
  } finally {
    await runtime.stop();
  }
}

/** Batches of both sides in turns: the time of a call on the wall and of the processor (ms). */
async function rounds(plan, pid, ask) {
  const samples = {};
  const calls = {};
  for (const side of SIDES) {
    samples[side] = { wall: [], cpu: [] };
    calls[side] = await ask({ task: "calls", side, batch_ms: plan.batchMs });
  }
  const until = performance.now() + plan.hashBudgetMs;
  for (let round = 0; round < plan.hashRounds; round += 1) {
    // In pairs, so that each side begins equally often.
    if (round > 2 && round % 2 === 0 && performance.now() > until) break;
    for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
      const before = cpuOf(pid);
      const elapsed = await ask({ task: "batch", side, calls: calls[side] });
      samples[side].wall.push(elapsed / calls[side]);
      samples[side].cpu.push(busiestSince(before, pid) / calls[side]);
    }
  }
  return samples;
}

function summary(kind, size, { rust, javascript }) {
  const times = ({ wall, cpu }) => ({ each_ms: median(wall), cpu_ms: median(cpu) });
  return {
    kind,
    size,
    rust: times(rust),
    javascript: times(javascript),
    ratio: ratios(rust.wall, javascript.wall),
    cpu_ratio: ratios(rust.cpu, javascript.cpu),
  };
}
