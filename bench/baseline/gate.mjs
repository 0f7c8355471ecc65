// The other side of the comparison: an idempotency gate as one would write it by hand in
// JavaScript, with one Durable Object per key and nothing that the job does not need.
//
// It promises what a minimal gate can: the claim is stored before the origin is called (the output
// gate holds the call until the write is durable), one command per key and caller, the same key
// with another command is refused, a repeat meanwhile waits, a repeat afterwards gets the stored
// answer, and what may have happened is never run again. It has no policy, no canonical form of a
// body, no fence, no recovery and one row less to write: its lease is looked at, not woken for.

import { DurableObject } from "cloudflare:workers";

const PROTECTED = "/v1/payments";
const MAX_BODY = 1 << 20;
const MAX_REPLY = 4 << 20;
/** Below what the platform stores in one value. */
const CHUNK = 1 << 20;
const LEASE_MS = 60_000;
const WAIT_MS = 10_000;
const KEEP_MS = 86_400_000;
const KEPT_HEADERS = ["content-type", "location", "etag", "link", "content-language"];
const HOP_BY_HOP = ["connection", "keep-alive", "te", "trailer", "upgrade", "expect"];

export default {
  async fetch(request, env) {
    const { pathname, search } = new URL(request.url);
    if (request.method !== "POST" || pathname !== PROTECTED) {
      return fetch(new Request(env.ORIGIN + pathname + search, request), { redirect: "manual" });
    }
    const key = request.headers.get("idempotency-key");
    const principal = request.headers.get("authorization");
    if (!key || key.length > 255) return problem(400, "key_missing");
    if (!principal) return problem(401, "principal_missing");
    if (Number(request.headers.get("content-length")) > MAX_BODY) {
      return problem(413, "body_too_large");
    }
    const scoped = new TextEncoder().encode(JSON.stringify([principal, key]));
    const name = hex(await crypto.subtle.digest("SHA-256", scoped));
    return env.GATE.getByName(name).fetch(request);
  },
};

export class Baseline extends DurableObject {
  #waiting = [];
  #calling = false;

  async fetch(request) {
    const body = await request.arrayBuffer();
    if (body.byteLength > MAX_BODY) return problem(413, "body_too_large");
    const { pathname, search } = new URL(request.url);
    const target = pathname + search;
    const command = `${target} ${hex(await crypto.subtle.digest("SHA-256", body))}`;
    const record = this.ctx.storage.kv.get("record");
    if (record === undefined) return this.#run(request, target, body, command);
    if (record.command !== command) return problem(409, "key_reused");
    return this.#repeat(record);
  }

  async #run(request, target, body, command) {
    const claim = { state: "in_progress", command, until: Date.now() + LEASE_MS };
    this.ctx.storage.kv.put("record", claim);
    this.#calling = true;
    try {
      const headers = new Headers(request.headers);
      for (const header of HOP_BY_HOP) headers.delete(header);
      const init = { method: request.method, headers, body, redirect: "manual" };
      const answer = await fetch(this.env.ORIGIN + target, init);
      const bytes = await answer.arrayBuffer();
      this.#record(claim, answer, bytes);
      return new Response(nullBody(answer.status) ? null : bytes, answer);
    } catch {
      this.ctx.storage.kv.put("record", { ...claim, state: "unknown" });
      return problem(502, "origin_unreachable");
    } finally {
      this.#calling = false;
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }

  #record({ command }, { status, headers }, body) {
    const { storage } = this.ctx;
    if (status >= 500 || status === 408) {
      storage.kv.put("record", { state: "unknown", command });
      return;
    }
    const kept = [...headers].filter(([name]) => KEPT_HEADERS.includes(name));
    const record = { state: "completed", command, status, headers: kept };
    const length = body.byteLength;
    if (length <= CHUNK) {
      storage.kv.put("record", { ...record, body });
    } else if (length > MAX_REPLY) {
      storage.kv.put("record", record);
    } else {
      storage.kv.put("record", { ...record, length });
      for (let at = 0; at < length; at += CHUNK) {
        storage.kv.put(`body/${at / CHUNK}`, body.slice(at, at + CHUNK));
      }
    }
    storage.setAlarm(Date.now() + KEEP_MS);
  }

  /** The body of a completed record; nothing if it was too long to be kept. */
  #bodyOf({ body, length }) {
    if (length === undefined) return body;
    const whole = new Uint8Array(length);
    for (let at = 0; at < length; at += CHUNK) {
      whole.set(new Uint8Array(this.ctx.storage.kv.get(`body/${at / CHUNK}`)), at);
    }
    return whole;
  }

  async #repeat(record) {
    let now = record;
    if (now.state === "in_progress" && this.#calling) {
      const { promise, resolve } = Promise.withResolvers();
      this.#waiting.push(resolve);
      const timer = setTimeout(resolve, WAIT_MS);
      await promise;
      clearTimeout(timer);
      now = this.ctx.storage.kv.get("record") ?? record;
    }
    if (now.state === "completed") {
      const body = this.#bodyOf(now);
      if (body === undefined) return problem(409, "reply_unavailable");
      const headers = [...now.headers, ["idempotency-replayed", "true"]];
      return new Response(nullBody(now.status) ? null : body, { status: now.status, headers });
    }
    const running = now.state === "in_progress" && now.until > Date.now();
    return problem(409, running ? "in_progress" : "outcome_unknown");
  }

  alarm() {
    return this.ctx.storage.deleteAll();
  }
}

const nullBody = (status) => status === 204 || status === 205 || status === 304;

const hex = (buffer) => new Uint8Array(buffer).toHex();

function problem(status, code) {
  const headers = { "content-type": "application/problem+json" };
  return new Response(JSON.stringify({ status, code }), { status, headers });
}
