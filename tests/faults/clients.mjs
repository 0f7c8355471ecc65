// The clients of a fault run: each takes a new key, sends its payment until it has a final answer,
// and comes back later to see that the answer stays the same.
//
// A client knows nothing of deaths: a broken connection, a 202, a 5xx mean "the same again". It
// writes down every final answer it was given; check.mjs compares them with the ledger.

import { setTimeout as delay } from "node:timers/promises";

import { between, choose, randomFor } from "./random.mjs";
import { KINDS, misdeeds } from "./world.mjs";

/** A client gives up on an outcome that is held after so many answers that say so. */
const HELD_IS_HELD = 4;
/** The same for a receipt that is not filled in. */
const LOST_IS_LOST = 20;
const PATIENCE_MS = 45_000;
const LONGEST_PAUSE_MS = 300;
const PAYMENT = JSON.stringify({ amount: 1000, currency: "EUR" });

/** The clients of one run, and what they were told. */
export class Clients {
  #gate;
  #seed;
  #ended = false;
  #next = 0;
  /** By key: `{ key, kind, tries, lost, receipts, end }`. */
  told = new Map();
  /** How often which answer came. */
  answers = new Map();

  constructor(gate, seed) {
    this.#gate = gate;
    this.#seed = seed;
  }

  /** Runs so many clients side by side until `stop`. */
  async run(count) {
    await Promise.all(Array.from({ length: count }, () => this.#one()));
  }

  /** No client takes a new key from now on. */
  stop() {
    this.#ended = true;
  }

  async #one() {
    while (!this.#ended) {
      this.#next += 1;
      const key = `${this.#seed}-${this.#next}`;
      const random = randomFor(this.#seed, key);
      const kind = choose(random, [[6, "asked"], [2, "brief"], [2, "held"]]);
      const story = { key, kind, tries: 0, lost: 0, receipts: [], end: undefined };
      this.told.set(key, story);
      await this.#settle(story, random);
      const repeats = kind === "asked" && story.end === "done" ? between(random, 0, 3) : 0;
      for (let n = 0; n < repeats; n += 1) {
        await delay(between(random, 0, 200));
        await this.#send(story, {});
      }
    }
  }

  /** The same request again until it is over for this client. */
  async #settle(story, random) {
    const until = Date.now() + PATIENCE_MS;
    let unknown = 0;
    while (story.end === undefined) {
      const answer = await this.#send(story, misdeeds(random, story.tries));
      if (answer?.state === "unknown") unknown += 1;
      if (story.kind === "held" && unknown >= HELD_IS_HELD) story.end = "held";
      else if (Date.now() > until) story.end = "stuck";
      else if (story.end === undefined) await delay(between(random, 5, LONGEST_PAUSE_MS));
    }
  }

  /** One request; its answer is written down where it is final. */
  async #send(story, switches) {
    story.tries += 1;
    const headers = {
      Authorization: "Bearer demo",
      "Content-Type": "application/json",
      "Idempotency-Key": story.key,
      ...switches,
    };
    const url = this.#gate.url + KINDS[story.kind].path;
    try {
      const signal = AbortSignal.timeout(15_000);
      const response = await fetch(url, { method: "POST", headers, body: PAYMENT, signal });
      const answer = await read(response);
      this.#note(story, answer);
      return answer;
    } catch {
      this.#count("connection broke");
      return undefined;
    }
  }

  #note(story, answer) {
    this.#count(`${answer.status} ${answer.state}${answer.code ? ` ${answer.code}` : ""}`);
    const { status, state, code } = answer;
    if (status >= 200 && status < 300 && (state === "executed" || state === "replayed")) {
      story.receipts.push(answer);
      story.end ??= "done";
    } else if (code === "reply_unavailable") {
      // Done, and the receipt is lost for now: a repeat may get one that was filled in, but the
      // origin is not asked for ever for a receipt alone.
      story.lost += 1;
      if (story.kind !== "asked" || story.lost >= LOST_IS_LOST) story.end ??= "receipt lost";
    } else if (code === "key_expired") {
      story.end ??= "expired";
    } else if (status >= 400 && status < 500 && state === "refused") {
      story.end ??= `refused: ${code}`;
    }
  }

  #count(what) {
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1);
  }

  /** The answer of a key now, from the record alone. */
  async repeat(key) {
    const story = this.told.get(key);
    const before = story.receipts.length;
    await this.#send(story, {});
    return story.receipts.at(before);
  }
}

async function read(response) {
  const { status, headers } = response;
  const body = await response.text();
  const problem = /problem\+json/.test(headers.get("content-type") ?? "");
  return {
    status,
    state: headers.get("oncegate-state"),
    reference: headers.get("oncegate-reference"),
    location: headers.get("location"),
    type: headers.get("content-type"),
    code: problem ? JSON.parse(body).code : undefined,
    body,
  };
}
