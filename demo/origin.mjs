// The demo origin: a small payments API with a ledger, behind a real HTTP server.
//
//   node demo/origin.mjs [--port 8788]
//
//   POST /v1/payments                            {"amount": 1000, "currency": "EUR"} -> 201
//   POST /v1/payments/{id}/authorise             then capture, then settle
//   POST /v1/refunds                             {"payment": "pay_...", "amount": 500} -> 201
//   GET  /v1/payments/{id}, /v1/refunds/{id}
//   GET  /v1/payments?reference=og_...           look-up: {"data": [...]}, at most one
//   GET  /v1/operations?reference=og_...         the same for any operation, from the ledger,
//                                                with what the command answered
//   POST /v1/payment_intents, GET /v1/payment_intents/{id}      form-encoded, Stripe-shaped
//   GET  /ledger, /ledger.json                   what was really done
//
// Everything under /v1 needs an Authorization header (any value). Request headers make it
// misbehave on purpose: see switches.mjs. This module owns the server, the order in which a
// request passes authorisation, switches and effect, and the writing of answers. It never
// de-duplicates anything: its ledger is the oracle of the tests.

import { realpathSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { html, json, problem } from "./answers.mjs";
import { Ledger } from "./ledger.mjs";
import { ledgerPage } from "./pages.mjs";
import { notAllowed, Payments } from "./payments.mjs";
import { PaymentIntents, stripeError } from "./stripe.mjs";
import { readSwitches } from "./switches.mjs";
import { SeenRequest, Watch } from "./watch.mjs";

const DEFAULT_PORT = 8788;
const LARGEST_BODY = 16 * 1024 * 1024;
/** Longer than any client keeps an idle connection: a stale one would look like a lost answer. */
const KEEP_ALIVE_MS = 10 * 60_000;

/** What the origin knows: payments, PaymentIntents and the ledger. It may outlive a server. */
export class Bank {
  ledger = new Ledger();
  payments = new Payments(this.ledger);
  intents = new PaymentIntents(this.ledger);
}

/**
 * Starts an origin on 127.0.0.1.
 *
 * @param {object} [options]
 * @param {number} [options.port] 0 takes a free one
 * @param {Bank} [options.bank] the books of an earlier origin, to go on with
 * @param {Function} [options.handler] `(request, response, body, origin)`: returns true when it
 *   answered by itself, an answer `{ status, headers, body }` to have it sent, else nothing
 * @param {Function} [options.stream] `(incoming, response, origin)`: the same before the body is
 *   read; a request that it takes is not recorded
 * @param {number} [options.remember] how many requests `requests` keeps (all of them)
 */
export async function startOrigin(options = {}) {
  const { port = 0, bank = new Bank(), handler, stream, remember = Infinity } = options;
  const watch = new Watch(remember);
  const closing = new AbortController();
  const context = { bank, watch, handler, stream, signal: closing.signal };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, response) => {
    response.on("error", () => response.destroy());
    serve(context, incoming, response).catch((error) => failed(context, response, error));
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers();
  server.once("error", reject);
  server.listen(port, "127.0.0.1", resolve);
  await listening;
  const bound = server.address().port;
  context.origin = {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    bank,
    ledger: bank.ledger,
    requests: watch.requests,
    /** What went wrong inside a test's own handler. */
    errors: [],
    nextRequest: (filter) => watch.nextRequest(filter),
    hold: (filter, how) => watch.hold(filter, how),
    arm: (switches, how) => watch.arm(switches, how),
    /** Stops at once: whatever is still open is broken off, the port refuses from then on. */
    close: () => close(server, watch, closing),
    [Symbol.asyncDispose]: () => close(server, watch, closing),
  };
  return context.origin;
}

async function close(server, watch, closing) {
  if (closing.signal.aborted) return;
  closing.abort();
  watch.close();
  const { promise, resolve } = Promise.withResolvers();
  server.close(resolve);
  server.closeAllConnections();
  await promise;
}

async function serve(context, incoming, response) {
  const { watch, handler, stream, origin } = context;
  if (await send(response, await stream?.(incoming, response, origin))) return;
  const ended = new Promise((resolve) => {
    response.once("close", () => resolve(response.writableFinished ? "answered" : "aborted"));
  });
  const { body, tooLarge } = await readBody(incoming);
  if (tooLarge) {
    const detail = `A body may have ${LARGEST_BODY} bytes.`;
    await send(response, problem(413, "body_too_large", detail, [["Connection", "close"]]));
    return;
  }
  if (body === undefined) return;
  const request = new SeenRequest(incoming, body, ended);
  watch.received(request);
  const held = await watch.passHolds(request, "before");
  if (held.drop) return void response.socket?.destroy();
  if (await send(response, held.answer)) return;
  const taken = await handler?.(request, response, body, origin);
  if (taken === true) return;
  await perform(context, request, response, taken);
}

/** Applies a request under its switches and answers it. */
async function perform(context, request, response, scripted) {
  const { watch } = context;
  const read = readSwitches([...request.headers, ...watch.takeArmed(request)]);
  if (read.error !== undefined) {
    await send(response, problem(400, "switch_invalid", read.error));
    return;
  }
  const { switches } = read;
  if (!(await pause(context, switches.delayBeforeMs))) return;
  if (switches.lateMs !== undefined) return applyLate(context, request, response, switches.lateMs);
  if (misbehave(switches, "before", response)) return;
  const spoilt = switches.fail && failure(request, switches.fail);
  const before = switches.fail?.when === "before";
  const result = before ? spoilt : (scripted ?? apply(context, request));
  if (!(await pause(context, switches.delayMs))) return;
  const held = await watch.passHolds(request, "after");
  if (held.drop) return void response.socket?.destroy();
  if (misbehave(switches, "after", response)) return;
  const answer = held.answer ?? spoilt ?? result;
  const headers = [...pairs(answer.headers)];
  if (switches.outcome !== undefined) headers.push(["Oncegate-Outcome", switches.outcome]);
  await send(response, { ...answer, headers }, switches.cut);
}

/** As behind a proxy that gave up: it answers 504, and the server behind it goes on. */
async function applyLate(context, request, response, ms) {
  await send(response, failure(request, { when: "later", status: 504 }));
  if (await pause(context, ms)) apply(context, request);
}

/** Hangs or breaks the connection where the switches say so; the request is then dealt with. */
function misbehave(switches, when, response) {
  if (switches.reset === when) response.socket?.destroy();
  return switches.reset === when || switches.hang === when;
}

/** Waits; false when the origin is closed meanwhile. A client that left makes no difference. */
async function pause({ signal }, ms) {
  if (ms === undefined) return true;
  try {
    await delay(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

const FAILED = {
  before: "Nothing was applied.",
  after: "The effect was applied.",
  later: "The effect is yet to be applied.",
};

function failure(request, { when, status }) {
  const detail = FAILED[when];
  if (PaymentIntents.owns(request.path)) return stripeError(status, `Failed on demand. ${detail}`);
  return problem(status, "failed_on_demand", detail);
}

/** The API itself: synchronous, so that an effect is applied at once or not at all. */
function apply({ bank }, request) {
  const { method, path } = request;
  if (path === "/ledger" || path === "/ledger.json" || path === "/") {
    if (method !== "GET" && method !== "HEAD") return notAllowed("GET");
    if (path === "/") return { status: 303, headers: [["Location", "/ledger"]], body: "" };
    const { entries } = bank.ledger;
    if (path === "/ledger") return html(ledgerPage(entries));
    return json(200, { count: entries.length, entries }, [["Cache-Control", "no-store"]]);
  }
  if (path.startsWith("/v1/")) {
    if (request.header("Authorization") === null) return unauthorised(path);
    const call = callOf(request);
    const answer = bank.intents.route(call) ?? bank.payments.route(call);
    if (answer !== undefined) return answer;
  }
  return problem(404, "not_found", `There is nothing at ${method} ${path}.`);
}

function callOf(request) {
  const attempt = request.header("Oncegate-Attempt");
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    contentType: request.header("Content-Type") ?? "",
    body: request.body,
    by: {
      reference: request.header("Oncegate-Reference"),
      attempt: attempt !== null && /^\d{1,15}$/.test(attempt) ? Number(attempt) : attempt,
      idempotencyKey: request.header("Idempotency-Key"),
    },
  };
}

function unauthorised(path) {
  const challenge = ["WWW-Authenticate", 'Bearer realm="demo origin"'];
  const detail = "Send an Authorization header; any value will do.";
  if (!PaymentIntents.owns(path)) return problem(401, "unauthorised", detail, [challenge]);
  const answer = stripeError(401, detail);
  return { ...answer, headers: [...answer.headers, challenge] };
}

/** The whole body; `{}` when the client broke off, `{ tooLarge }` past the bound. */
async function readBody(incoming) {
  const chunks = [];
  let size = 0;
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      size += chunk.length;
      if (size > LARGEST_BODY) return { tooLarge: true };
      chunks.push(chunk);
    }
  } catch {
    return {};
  }
  return { body: Buffer.concat(chunks) };
}

/**
 * Writes an answer `{ status, headers, body }`; true when there was one (or `true` itself: the
 * hook has answered). With `cut`, the head is true, the body ends after that many bytes, at
 * least one short, and the connection breaks.
 */
async function send(response, answer, cut) {
  if (answer === undefined || answer === null || answer === false) return false;
  if (answer === true || response.destroyed) return true;
  const body = Buffer.from(answer.body ?? "");
  const bodiless = answer.status === 204 || answer.status === 304;
  const headers = [...pairs(answer.headers)];
  const sized = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  if (!bodiless && !sized) headers.push(["Content-Length", String(body.length)]);
  response.writeHead(answer.status, headers.flat());
  if (cut === undefined) {
    response.end(bodiless ? undefined : body);
    return true;
  }
  const part = body.subarray(0, Math.min(cut, body.length - 1));
  response.flushHeaders();
  response.write(part.length > 0 ? part : "", () => response.socket?.destroy());
  return true;
}

function pairs(headers = []) {
  return Array.isArray(headers) ? headers : Object.entries(headers);
}

/** A fault of a test's handler must be seen by the test and must not stop the origin. */
async function failed(context, response, error) {
  context.origin.errors.push(error);
  if (response.headersSent) response.destroy();
  else await send(response, problem(500, "origin_fault", String(error)));
}

async function main() {
  const { values } = parseArgs({
    options: { port: { type: "string", default: String(DEFAULT_PORT) } },
  });
  const port = Number(values.port);
  if (!/^\d{1,5}$/.test(values.port) || port > 65_535) {
    throw new Error(`--port must be a number from 0 to 65535, not ${values.port}`);
  }
  const origin = await startOrigin({ port, remember: 0 });
  process.stdout.write(`demo origin listening on ${origin.url}\n`);
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => origin.close().then(() => process.exit(0)));
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main().catch((error) => {
    process.stderr.write(`demo origin: ${error.message}\n`);
    process.exit(1);
  });
}
