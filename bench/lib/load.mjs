// The client of the measurements: keeps a number of requests open for a while and notes how long
// each took. Every answer is checked, because a fast wrong answer is no result.

import { Agent, request as open } from "node:http";

import { allSince, cpuOf } from "./cpu.mjs";

/** A client with connections of its own that stay open. */
export class Client {
  #agent;
  #target;

  constructor(url) {
    const { hostname, port } = new URL(url);
    this.#agent = new Agent({ keepAlive: true });
    this.#target = { hostname, port, agent: this.#agent };
  }

  /** Sends one request, reads its answer to the end: `{ status, headers, length }`. */
  send({ method, path, headers, body }) {
    const { promise, resolve, reject } = Promise.withResolvers();
    const sent = open({ ...this.#target, method, path, headers }, (answer) => {
      answer.on("error", reject);
      let length = 0;
      answer.on("data", (bytes) => {
        length += bytes.length;
      });
      answer.on("end", () => {
        resolve({ status: answer.statusCode, headers: answer.headers, length });
      });
    });
    sent.on("error", reject);
    sent.end(body);
    return promise;
  }

  close() {
    this.#agent.destroy();
  }
}

/**
 * Sends what `next()` gives, `parallel` requests at a time, for `ms`. Resolves to the number of
 * requests, the time of each and of all together (ms), and the processor time (ms) that the
 * process `pid` took.
 */
export async function slice({ client, next, check, parallel, ms, pid }) {
  const times = [];
  const cpu = cpuOf(pid);
  const start = performance.now();
  const lane = async () => {
    for (let begun = start; begun - start < ms; ) {
      const request = next();
      const answer = await client.send(request);
      const ended = performance.now();
      times.push(ended - begun);
      begun = ended;
      check(answer, request);
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane));
  const elapsed = performance.now() - start;
  return { requests: times.length, times, elapsed, cpu: allSince(cpu, pid) };
}
