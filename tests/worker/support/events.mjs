// Where a gate's events go in the tests: a recorder, and the Workers between it and the gate.
//
// It owns the recorder (an HTTP server that keeps what it gets, and refuses or holds on demand) and
// two ways to it. "queue" is the real thing: a Cloudflare Queue with a consumer Worker. It takes
// every message, so it cannot show a sink that refuses; "direct" binds a Worker with the same
// method `send` instead, which fails or hangs as the recorder says. It never looks at an event.

import { createServer } from "node:http";

const BINDING = "ONCEGATE_EVENTS";
const QUEUE = "oncegate-events";
const WORKER = "oncegate-events";

const CONSUMER = `export default {
  async queue(batch, env) {
    for (const message of batch.messages) {
      const body = JSON.stringify(message.body);
      const response = await fetch(env.RECORDER, { method: "POST", body });
      if (response.ok) message.ack();
      else message.retry();
    }
  },
};`;

const SINK = `import { WorkerEntrypoint } from "cloudflare:workers";
export class Sink extends WorkerEntrypoint {
  async send(message) {
    const body = JSON.stringify(message);
    const response = await fetch(this.env.RECORDER, { method: "POST", body });
    if (!response.ok) throw new Error("the sink is down");
  }
}
export default {};`;

/**
 * What a gate's Worker and its runtime need to send events to a recorder: `{ bound, workers }`.
 *
 * @param {object} [events]
 * @param {{url: string}} events.recorder
 * @param {"queue"|"direct"} [events.by]
 */
export function eventPath(events, compatibilityDate) {
  if (events === undefined) return { bound: {}, workers: [] };
  const { recorder, by = "queue" } = events;
  const worker = {
    name: WORKER,
    compatibilityDate,
    modules: true,
    bindings: { RECORDER: recorder.url },
  };
  if (by === "direct") {
    const bound = { serviceBindings: { [BINDING]: { name: WORKER, entrypoint: "Sink" } } };
    return { bound, workers: [{ ...worker, script: SINK }] };
  }
  const bound = { queueProducers: { [BINDING]: { queueName: QUEUE } } };
  const consumer = { maxBatchSize: 100, maxBatchTimeout: 0, maxRetries: 100 };
  const queueConsumers = { [QUEUE]: consumer };
  return { bound, workers: [{ ...worker, script: CONSUMER, queueConsumers }] };
}

/** Starts a recorder on 127.0.0.1. */
export async function startRecorder() {
  const recorder = new Recorder();
  await recorder.start();
  return recorder;
}

class Recorder {
  #server = createServer((request, response) => this.#serve(request, response));
  #mode = "take";
  #waiting = [];
  #held = [];

  url;
  /** What was taken, oldest first. */
  events = [];
  /** What was offered while it refused or held, oldest first. */
  refused = [];

  async start() {
    const { promise, resolve } = Promise.withResolvers();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    this.url = `http://127.0.0.1:${this.#server.address().port}/`;
  }

  /** From now on: "take", "refuse", or "hold" (no answer until it takes or refuses again). */
  set mode(mode) {
    this.#mode = mode;
    if (mode === "hold") return;
    for (const { event, response } of this.#held.splice(0)) this.#answer(event, response);
  }

  async #serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const event = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (this.#mode === "hold") {
      this.#held.push({ event, response });
      this.refused.push(event);
      this.#tell();
    } else {
      this.#answer(event, response);
    }
  }

  #answer(event, response) {
    const taken = this.#mode === "take";
    (taken ? this.events : this.refused).push(event);
    response.writeHead(taken ? 204 : 503).end();
    this.#tell();
  }

  #tell() {
    for (const look of [...this.#waiting]) look();
  }

  /** The events about a reference, oldest first. */
  about(reference) {
    return this.events.filter((event) => event.reference === reference);
  }

  /** Resolves once `look(recorder)` finds something, with what it finds. */
  until(look) {
    const { promise, resolve } = Promise.withResolvers();
    const again = () => {
      const found = look(this);
      if (!found) return;
      this.#waiting = this.#waiting.filter((it) => it !== again);
      resolve(found);
    };
    this.#waiting.push(again);
    again();
    return promise;
  }

  async close() {
    this.#server.closeAllConnections();
    const { promise, resolve } = Promise.withResolvers();
    this.#server.close(resolve);
    await promise;
  }
}
