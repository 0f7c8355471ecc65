// Deaths: the runtime is killed with SIGKILL, at random instants and at chosen ones, and comes up
// again on the same folder.
//
// The chosen instants: a command has just reached the origin (the claim is stored, or should be);
// an answer has just left it (between answer and record); a probe is out; an alarm is due. An
// instant that does not come within two seconds becomes a random one.

import { setTimeout as delay } from "node:timers/promises";

import { between, choose } from "./random.mjs";

const PATIENCE_MS = 2000;

const WHEN = [
  [3, "at random"],
  [3, "command at the origin"],
  [3, "answer on its way"],
  [2, "probe out"],
  [2, "alarm due"],
];

/** Kills a gate again and again until it is stopped. */
export class Killer {
  #gate;
  #origin;
  #random;
  #ended = new AbortController();
  /** How often, by instant. */
  kills = new Map();
  /** The longest time from a death until requests were taken again. */
  longestMs = 0;

  constructor(gate, origin, random) {
    this.#gate = gate;
    this.#origin = origin;
    this.#random = random;
  }

  stop() {
    this.#ended.abort();
  }

  async run() {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await delay(between(this.#random, 100, 1500));
      const when = choose(this.#random, WHEN);
      const came = await this.#instant(when);
      if (signal.aborted) return;
      const started = Date.now();
      await this.#gate.kill();
      this.longestMs = Math.max(this.longestMs, Date.now() - started);
      const name = came ? when : "at random";
      this.kills.set(name, (this.kills.get(name) ?? 0) + 1);
    }
  }

  /** Waits for an instant; false if it did not come. */
  async #instant(when) {
    const late = delay(PATIENCE_MS, false);
    const command = (it) => it.method === "POST";
    if (when === "command at the origin") {
      return Promise.race([late, this.#seen(command, between(this.#random, 0, 15))]);
    }
    if (when === "answer on its way") {
      const answered = this.#origin.nextRequest(command).then(({ ended }) => ended);
      return Promise.race([late, answered.then(() => true, () => false)]);
    }
    if (when === "probe out") {
      const probe = (it) => it.path === "/v1/operations";
      return Promise.race([late, this.#seen(probe, between(this.#random, 0, 5))]);
    }
    if (when === "alarm due") return this.#alarm();
    return true;
  }

  async #seen(filter, after) {
    const seen = await this.#origin.nextRequest(filter).then(() => true, () => false);
    if (seen && after > 0) await delay(after);
    return seen;
  }

  async #alarm() {
    const now = Date.now();
    const due = this.#gate
      .objects()
      .map(({ alarm }) => alarm - now)
      .filter((ms) => ms > 0 && ms < PATIENCE_MS);
    if (due.length === 0) return false;
    await delay(Math.min(...due) + between(this.#random, 0, 30));
    return true;
  }
}
