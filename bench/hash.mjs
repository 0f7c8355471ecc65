// The command hash of the core (Rust, in wasm) beside one written by hand in JavaScript, in one
// isolate of one workerd: time per body, their ratio, and how far the wasm memory grows.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { inRoot } from "../scripts/lib/paths.mjs";
import { HASH_BUILD } from "./hash-worker/build.mjs";
import { body, kinds } from "./hash-worker/corpus.mjs";
import { module, startRuntime } from "./lib/runtime.mjs";
import { median, ratios } from "./lib/stats.mjs";

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

/** Measures every body; `plan` has `hashRounds` and `batchMs`. */
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
    await ask(body("orders", KIB), { memory: 1 });
    const memory = await ask(body("orders", LARGEST), { memory: CALLS });
    const times = [];
    for (const [kind, size] of BODIES) {
      const question = { rounds: plan.hashRounds, batch_ms: plan.batchMs };
      times.push(summary(kind, size, await ask(body(kind, size), question)));
      tell(`hash: ${kind}, ${size / KIB} KiB`);
    }
    return { times, memory: { body: LARGEST, ...memory, ratio: memory.all / LARGEST } };
  } finally {
    await runtime.stop();
  }
}

function summary(kind, size, { rust, javascript }) {
  return {
    kind,
    size,
    rust_ms: median(rust),
    javascript_ms: median(javascript),
    ratio: ratios(rust, javascript),
  };
}
