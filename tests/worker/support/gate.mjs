// A gate on a real workerd for the tests: started, killed, evicted, looked into and disposed of.
//
// It owns the Miniflare instance and its persistence folder. Bindings come from the project's
// wrangler.toml, read by wrangler itself, so that tests run with what is deployed; only the policy
// (`ONCEGATE*`) is replaced, and neither `.dev.vars` nor `.env` is read. Requests go straight to a
// socket of the Worker: no proxy changes or delays them.

import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";

import { eventPath } from "./events.mjs";
import { withStartLock } from "./lock.mjs";
import { payments } from "./policy.mjs";
import { identifyRuntime, runtimeProcess } from "./runtime.mjs";
import { readObjects } from "./storage.mjs";

export { operation, payments, policyOf } from "./policy.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const WORKER = "oncegate";
/** A file that does not exist: naming one keeps wrangler from reading `.dev.vars` and `.env`. */
const NO_ENV_FILES = { envFiles: [join(ROOT, "tests", "no-such-env-file")] };

/**
 * Starts a gate.
 *
 * @param {object} [options]
 * @param {string|{url: string}} [options.origin] fills `ONCEGATE.origin` where the policy has none
 * @param {object} [options.policy] `{ ONCEGATE: {...}, ONCEGATE_OP_X: {...} }`; the demo operations
 * @param {object} [options.vars] further variables and secrets
 * @param {{recorder: object, by?: string}} [options.events] where its events go; see events.mjs
 * @param {object} [options.bound] further bindings, as Miniflare's options of a worker
 * @param {string} [options.build] folder of the built Worker
 * @param {string} [options.dir] persistence folder to go on with; the caller removes it
 * @param {string} [options.root] project folder with the wrangler.toml
 */
export async function startGate(options = {}) {
  const owned = options.dir === undefined;
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "oncegate-test-")));
  return started(new Gate(options, dir, owned));
}

/** A gate that does not come up leaves nothing behind. */
async function started(gate) {
  try {
    await gate.start();
  } catch (error) {
    await gate.dispose().catch(() => {});
    throw error;
  }
  return gate;
}

class Gate {
  #options;
  #owned;
  #miniflare;
  #loopback;
  #restart;
  #waiting = [];

  /** The persistence folder. */
  dir;
  /** Base URL of the Worker's own socket; changes with `kill`. */
  url;
  /** What the Worker wrote to the console: `{ level, message }`, oldest first. */
  logs = [];

  constructor(options, dir, owned) {
    this.#options = options;
    this.#owned = owned;
    this.dir = dir;
  }

  async start() {
    const settings = await this.#settings();
    await withStartLock(async () => {
      this.#loopback = await identifyRuntime(async () => {
        this.#miniflare = new Miniflare(convertV4MiniflareOptions(settings));
        await this.#miniflare.ready;
      });
    });
    await this.#findUrl();
  }

  async #settings() {
    const root = this.#options.root ?? ROOT;
    const build = resolve(root, this.#options.build ?? "build");
    if (!existsSync(join(build, "index.js"))) {
      throw new Error(`There is no built Worker in ${build}: run "npm run build" first.`);
    }
    const worker = this.#worker(join(root, "wrangler.toml"), await modulesOf(build), build);
    const { bound, workers } = eventPath(this.#options.events, worker.compatibilityDate);
    return {
      host: "127.0.0.1",
      port: 0,
      cf: false,
      log: new Log(LogLevel.NONE),
      resourcePersistencePath: this.dir,
      handleStructuredLogs: (line) => this.#noteLog(line),
      unsafeHandleRuntimeRestart: () => this.#restart?.resolve(),
      workers: [{ ...worker, ...bound, ...this.#options.bound }, ...workers],
    };
  }

  #worker(config, modules, modulesRoot) {
    const read = unstable_getMiniflareWorkerOptions(config, undefined, NO_ENV_FILES);
    const { modulesRules: _rules, rootPath: _path, bindings, ...rest } = read.workerOptions;
    const kept = Object.entries(bindings).filter(([name]) => !name.startsWith("ONCEGATE"));
    return {
      ...rest,
      name: WORKER,
      modulesRoot,
      modules,
      bindings: { ...Object.fromEntries(kept), ...this.#policy(), ...this.#options.vars },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    };
  }

  #policy() {
    const { origin, policy = payments() } = this.#options;
    const url = typeof origin === "string" ? origin : origin?.url;
    const globals = policy.ONCEGATE;
    if (url === undefined || typeof globals !== "object" || "origin" in globals) return policy;
    return { ...policy, ONCEGATE: { ...globals, origin: url } };
  }

  async #findUrl() {
    this.url = (await this.#miniflare.unsafeGetDirectURL(WORKER)).origin;
  }

  #noteLog({ level, message }) {
    const line = { level, message };
    this.logs.push(line);
    if (process.env.ONCEGATE_TEST_LOGS) process.stderr.write(`[${level}] ${message}\n`);
    this.#waiting = this.#waiting.filter(({ pattern, resolve: found }) => {
      if (!pattern.test(message)) return true;
      found(line);
      return false;
    });
  }

  /** Resolves with the first console line that matches, written already or yet to come. */
  log(pattern) {
    const seen = this.logs.find(({ message }) => pattern.test(message));
    if (seen !== undefined) return Promise.resolve(seen);
    const { promise, resolve: found } = Promise.withResolvers();
    this.#waiting.push({ pattern, resolve: found });
    return promise;
  }

  /** `fetch` on a path of the gate; redirects are not followed. */
  fetch(path, init = {}) {
    return fetch(new URL(path, this.url), { redirect: "manual", ...init });
  }

  /**
   * The runtime dies at once, as in a crash, and comes up again on the same folder. Resolves when
   * it is up; `url` is fresh then, and requests that were open have failed.
   */
  async kill() {
    this.#restart = Promise.withResolvers();
    runtimeProcess(this.#loopback).kill("SIGKILL");
    await this.#restart.promise;
    this.#restart = undefined;
    await this.#findUrl();
  }

  /**
   * Objects lose their memory and keep their storage: those of these names, which must be in
   * memory, or all that are. Only idle objects can be evicted: one with a request open makes this
   * fail. Returns how many were evicted.
   */
  async evict(names, className = "Gate") {
    if (names !== undefined) {
      for (const name of [names].flat()) await this.#evictOne(className, { name });
      return [names].flat().length;
    }
    let evicted = 0;
    for (const { className: each, id } of this.objects()) {
      try {
        await this.#evictOne(each, { id });
        evicted += 1;
      } catch (error) {
        if (!/not currently running/.test(error.message)) throw error;
      }
    }
    return evicted;
  }

  #evictOne(className, which) {
    return this.#miniflare.unsafeEvictDurableObject(WORKER, className, which);
  }

  /** What the objects have on disk; see storage.mjs. */
  objects() {
    return readObjects(this.dir);
  }

  /** The same folder under a new runtime, with other options where given; this gate is over. */
  async restart(changes = {}) {
    await this.#stop();
    const next = new Gate({ ...this.#options, ...changes }, this.dir, this.#owned);
    this.#owned = false;
    return started(next);
  }

  /** Ends the runtime (by SIGKILL) and removes the folder, unless it was given or is kept. */
  async dispose({ keep = false } = {}) {
    try {
      await this.#stop();
    } finally {
      if (this.#owned && !keep) await rm(this.dir, { recursive: true, force: true });
    }
  }

  async #stop() {
    const miniflare = this.#miniflare;
    this.#miniflare = undefined;
    await miniflare?.dispose();
  }

  [Symbol.asyncDispose]() {
    return this.dispose();
  }
}

async function modulesOf(build) {
  const files = await readdir(build);
  const wasm = files.filter((file) => file.endsWith(".wasm")).sort();
  return [
    { type: "ESModule", path: join(build, "index.js") },
    ...wasm.map((file) => ({ type: "CompiledWasm", path: join(build, file) })),
  ];
}
