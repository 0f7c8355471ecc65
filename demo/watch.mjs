// What a test can see of the demo origin, and where it can stop it: requests, holds and armed
// switches.
//
// It owns the record of received requests and the promises that tell of them, so that a test waits
// for an event and never for a time. It never answers a request and never applies an effect.

import { createHash } from "node:crypto";

/** One request as it arrived, after its last byte. */
export class SeenRequest {
  constructor(incoming, body, ended) {
    this.method = incoming.method;
    /** The request target exactly as sent. */
    this.target = incoming.url;
    /** Header pairs in order, names as sent, values as Latin-1 text. */
    this.headers = pairsOf(incoming.rawHeaders);
    this.body = body;
    this.sha256 = createHash("sha256").update(body).digest("hex");
    this.at = Date.now();
    /** Resolves to "answered", or to "aborted" when the connection broke before the answer. */
    this.ended = ended;
  }

  get path() {
    return this.target.split("?", 1)[0];
  }

  get query() {
    return new URLSearchParams(this.target.slice(this.path.length + 1));
  }

  /** The values of a header joined by ", ", or null. */
  header(name) {
    const lower = name.toLowerCase();
    const values = this.headers.filter(([it]) => it.toLowerCase() === lower).map(([, it]) => it);
    return values.length === 0 ? null : values.join(", ");
  }
}

/** Requests seen, waiting tests, holds and armed switches of one origin. */
export class Watch {
  requests = [];
  #remember;
  #handedOut = new WeakSet();
  #waiters = [];
  #holds = new Set();
  #armed = [];
  #closed = false;

  /** `remember`: how many requests are kept; older ones are forgotten. */
  constructor(remember) {
    this.#remember = remember;
  }

  /** Takes note of a request and tells the first test that waits for one like it. */
  received(request) {
    if (this.#remember > 0) this.requests.push(request);
    if (this.requests.length > this.#remember) this.requests.shift();
    const index = this.#waiters.findIndex((waiter) => waiter.matches(request));
    if (index < 0) return;
    this.#handedOut.add(request);
    this.#waiters.splice(index, 1)[0].resolve(request);
  }

  /**
   * The first matching request that no earlier call has handed out, whether it was received
   * already or is yet to come. Rejects when the origin is closed first.
   */
  nextRequest(filter) {
    const matches = matcher(filter);
    const seen = this.requests.find((it) => !this.#handedOut.has(it) && matches(it));
    if (seen !== undefined) {
      this.#handedOut.add(seen);
      return Promise.resolve(seen);
    }
    if (this.#closed) return quiet(Promise.reject(closedError()));
    const { promise, resolve, reject } = Promise.withResolvers();
    this.#waiters.push({ matches, resolve, reject });
    return quiet(promise);
  }

  /**
   * Stops every matching request until it is released: `when: "after"` (default) after the effect
   * was applied and before its answer is sent, `when: "before"` before anything is done.
   * `reached` resolves with the first request stopped; `requests` lists all of them.
   * `release()` lets them go on, `release(answer)` answers `{ status, headers, body }` instead,
   * `drop()` breaks their connections. Later requests are not stopped any more.
   */
  hold(filter, { when = "after" } = {}) {
    const first = Promise.withResolvers();
    const going = Promise.withResolvers();
    const stopped = [];
    const hold = { matches: matcher(filter), when, going };
    hold.stop = (request) => {
      stopped.push(request);
      first.resolve(request);
      return going.promise;
    };
    const end = (verdict) => {
      this.#holds.delete(hold);
      going.resolve(verdict);
    };
    this.#holds.add(hold);
    return {
      reached: first.promise,
      requests: stopped,
      release: (answer) => end({ answer }),
      drop: () => end({ drop: true }),
    };
  }

  /** Waits where a hold stops this request; the verdict is `{}`, `{ answer }` or `{ drop }`. */
  async passHolds(request, when) {
    for (const hold of this.#holds) {
      if (hold.when === when && hold.matches(request)) return hold.stop(request);
    }
    return {};
  }

  /**
   * Sets switches for the next `times` matching requests, for clients that cannot send headers:
   * `arm({ "Demo-Fail": "after:500" }, { filter: "POST /v1/payments", times: 2 })`.
   */
  arm(switches, { filter, times = 1 } = {}) {
    this.#armed.push({ pairs: Object.entries(switches), matches: matcher(filter), left: times });
  }

  /** The header pairs armed for this request; each use counts. */
  takeArmed(request) {
    const found = this.#armed.find((it) => it.left > 0 && it.matches(request));
    if (found === undefined) return [];
    found.left -= 1;
    return found.pairs;
  }

  close() {
    this.#closed = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(closedError());
    for (const hold of this.#holds) hold.going.resolve({ drop: true });
    this.#holds.clear();
  }
}

/** Raw header lists hold names and values in turn. */
function pairsOf(raw) {
  const pairs = [];
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([raw[i], raw[i + 1]]);
  return pairs;
}

/** A filter is nothing, a predicate on the request, or "METHOD /path" without the query. */
function matcher(filter) {
  if (filter === undefined) return () => true;
  if (typeof filter === "function") return filter;
  if (/^[A-Z]+ \/\S*$/.test(filter)) return (it) => `${it.method} ${it.path}` === filter;
  throw new TypeError(`A filter is a function or "METHOD /path", not ${JSON.stringify(filter)}.`);
}

/** A test that no longer waits must not fail on the rejection that nobody reads. */
function quiet(promise) {
  promise.catch(() => {});
  return promise;
}

function closedError() {
  return new Error("The demo origin was closed before such a request arrived.");
}
