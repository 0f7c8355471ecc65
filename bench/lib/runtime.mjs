// One workerd with the Workers to compare, each on a socket of its own: nothing stands between a
// Worker and the client, and both have the same kind of storage on the same disk.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";

import { inRoot } from "../../scripts/lib/paths.mjs";
import { withStartLock } from "../../tests/worker/support/lock.mjs";
import { identifyRuntime, runtimeProcess } from "../../tests/worker/support/runtime.mjs";

/** The Worker as it is deployed, under the policy of one operation of money. */
export function gateWorker(origin) {
  const build = inRoot("build");
  if (!existsSync(join(build, "index.js"))) throw new Error("run `npm run build` first");
  const noEnvFiles = { envFiles: [inRoot("bench", "no-such-env-file")] };
  const config = inRoot("wrangler.toml");
  const read = unstable_getMiniflareWorkerOptions(config, undefined, noEnvFiles).workerOptions;
  const { modulesRules: _rules, rootPath: _path, bindings, ...rest } = read;
  const others = Object.entries(bindings).filter(([name]) => !name.startsWith("ONCEGATE"));
  const operation = { name: "create_payment", match: "POST /v1/payments" };
  return {
    ...rest,
    name: "gate",
    modulesRoot: build,
    modules: [module(build, "index.js"), module(build, "index_bg.wasm")],
    bindings: {
      ...Object.fromEntries(others),
      ONCEGATE: { origin },
      ONCEGATE_OP_CREATE_PAYMENT: { ...operation, principal: "authorization" },
    },
  };
}

/** The hand-written gate, on the same compatibility date. */
export function baselineWorker(origin, { compatibilityDate }) {
  const root = inRoot("bench", "baseline");
  return {
    name: "baseline",
    compatibilityDate,
    modulesRoot: root,
    modules: [module(root, "gate.mjs")],
    bindings: { ORIGIN: origin },
    durableObjects: { GATE: { className: "Baseline", useSQLite: true } },
  };
}

/** A module of a Worker, by its ending. */
export function module(folder, file) {
  const type = file.endsWith(".wasm") ? "CompiledWasm" : "ESModule";
  return { type, path: join(folder, file) };
}

/** Starts Workers in one runtime; resolves to `{ pid, urls, stop }`, URLs by the Worker's name. */
export async function startRuntime(workers) {
  const folder = await mkdtemp(join(tmpdir(), "oncegate-bench-"));
  const socket = { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] };
  const settings = {
    host: "127.0.0.1",
    port: 0,
    cf: false,
    log: new Log(LogLevel.ERROR),
    resourcePersistencePath: folder,
    workers: workers.map((worker) => ({ ...worker, ...socket })),
  };
  let miniflare;
  const stop = async () => {
    await miniflare?.dispose();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const loopback = await withStartLock(() =>
      identifyRuntime(async () => {
        miniflare = new Miniflare(convertV4MiniflareOptions(settings));
        await miniflare.ready;
      }),
    );
    const urls = {};
    for (const { name } of workers) urls[name] = (await miniflare.unsafeGetDirectURL(name)).origin;
    return { pid: runtimeProcess(loopback).pid, urls, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
