// The origin of the measurements: an HTTP server that does next to nothing, on a thread of its own
// so that it takes no time from the client that measures.
//
// It only counts: `effects()` tells how often a command reached it, which is how a run proves that
// every side did its job. The header `bench-reply` asks for a reply of so many bytes.

import { createServer } from "node:http";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const RECEIPT = JSON.stringify({ id: "pay_1", status: "created", amount: 1999, currency: "EUR" });

/** Starts the origin and resolves to `{ url, effects, stop }`. */
export async function startOrigin() {
  const thread = new Worker(new URL(import.meta.url));
  const ask = (question) => {
    const { promise, resolve, reject } = Promise.withResolvers();
    thread.once("error", reject);
    thread.once("message", (answer) => {
      thread.off("error", reject);
      resolve(answer);
    });
    if (question) thread.postMessage(question);
    return promise;
  };
  const port = await ask();
  return {
    url: `http://127.0.0.1:${port}`,
    effects: () => ask("effects"),
    stop: () => thread.terminate(),
  };
}

const made = new Map();

/** The receipt, or as many bytes as were asked for. */
function replyTo({ headers }) {
  const size = Number(headers["bench-reply"] ?? 0);
  if (size === 0) return RECEIPT;
  if (!made.has(size)) made.set(size, Buffer.alloc(size, '{"id":"pay_1","status":"created"},'));
  return made.get(size);
}

function serve() {
  let effects = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const created = request.method === "POST";
      if (created) effects += 1;
      const reply = replyTo(request);
      response.writeHead(created ? 201 : 200, {
        "content-type": "application/json",
        "content-length": reply.length,
      });
      response.end(reply);
    });
  });
  // A connection that the server closes while it is idle would look like a lost answer.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
  parentPort.on("message", () => parentPort.postMessage(effects));
}

if (!isMainThread) serve();
