// A plain HTTP/1.1 client on a raw socket, for what `fetch` will not send.
//
// It sends exactly what it is told: a target that is no tidy path, a header twice, bytes that are
// not ASCII, any method, a body in chunks, a wrong Content-Length, a hang-up half-way. One request
// per connection. It adds `Host`, `Connection: close` and the framing of the body, each only
// where the caller gave no header of that name; it never retries and follows nothing.

import { connect } from "node:net";

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * Sends one request and reads its answer.
 *
 * @param {string} url base of the server, of which only host and port are used
 * @param {object} [request]
 * @param {string} [request.method] sent as it is
 * @param {string} [request.target] sent as it is
 * @param {Array<[string, string|Buffer]>} [request.headers] text goes out as Latin-1 bytes
 * @param {string|Buffer|Iterable|AsyncIterable} [request.body] text and bytes go with a
 *   Content-Length, an iterable goes in chunks, one per item
 * @param {number|Promise} [request.hangUp] breaks the connection that many milliseconds after the
 *   request was sent, or when the promise resolves; the answer is then `{ hungUp: true }`
 * @param {number} [request.timeout] milliseconds until the call rejects
 * @returns {Promise<{status: number, reason: string, headers: Array<[string, string]>,
 *   body: Buffer, complete: boolean, header: Function, json: Function, text: Function}>} header
 *   names as received; `complete` is false when the body broke off
 */
export async function rawRequest(url, request = {}) {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const { promise, resolve, reject } = Promise.withResolvers();
  const chunks = [];
  const finish = () => {
    try {
      resolve(parseAnswer(Buffer.concat(chunks), request.method ?? "GET"));
    } catch (error) {
      reject(error);
    }
  };
  const limit = request.timeout ?? DEFAULT_TIMEOUT_MS;
  const timer = setTimeout(() => reject(new Error(`No answer within ${limit} ms.`)), limit);
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.once("end", finish);
  socket.once("error", (error) => (chunks.length > 0 ? finish() : reject(error)));
  socket.once("close", finish);
  try {
    send(socket, request, host).then(
      () => hangUpLater(request.hangUp, resolve),
      (error) => socket.destroyed || reject(error),
    );
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

function hangUpLater(hangUp, resolve) {
  if (hangUp === undefined) return;
  const leave = () => resolve({ hungUp: true });
  if (typeof hangUp === "number") setTimeout(leave, hangUp).unref();
  else hangUp.then(leave, leave);
}

/** Writes the request; a server that answers early and closes is no fault of the request. */
async function send(socket, { method = "GET", target = "/", headers = [], body }, host) {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const framed = names.has("content-length") || names.has("transfer-encoding");
  const chunked = isChunked(body);
  const whole = body === undefined || chunked ? undefined : Buffer.from(body);
  const lines = [`${method} ${target} HTTP/1.1\r\n`];
  if (!names.has("host")) lines.push(`Host: ${host}\r\n`);
  for (const [name, value] of headers) lines.push(`${name}: `, value, "\r\n");
  if (!names.has("connection")) lines.push("Connection: close\r\n");
  if (!framed && chunked) lines.push("Transfer-Encoding: chunked\r\n");
  if (!framed && whole !== undefined) lines.push(`Content-Length: ${whole.length}\r\n`);
  lines.push("\r\n");
  const head = lines.map((it) => (typeof it === "string" ? Buffer.from(it, "latin1") : it));
  await write(socket, Buffer.concat([...head, whole ?? Buffer.alloc(0)]));
  if (!chunked) return;
  for await (const item of body) {
    const bytes = Buffer.from(item);
    if (bytes.length === 0) continue;
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
    await write(socket, Buffer.concat([size, bytes, Buffer.from("\r\n")]));
  }
  await write(socket, Buffer.from("0\r\n\r\n"));
}

function isChunked(body) {
  if (body === undefined || typeof body === "string" || Buffer.isBuffer(body)) return false;
  return !(body instanceof Uint8Array);
}

function write(socket, bytes) {
  const { promise, resolve, reject } = Promise.withResolvers();
  socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  return promise;
}

/** Everything up to the end of the connection is one answer, after any 1xx ones. */
function parseAnswer(bytes, method) {
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) throw new Error("The connection ended before the head of an answer.");
    const [first, ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n");
    const match = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(first);
    if (match === null) throw new Error(`No status line: ${JSON.stringify(first)}`);
    rest = rest.subarray(end + 4);
    const status = Number(match[1]);
    if (status < 200) continue;
    const headers = lines.map(headerPair);
    const header = (name) => valueOf(headers, name);
    const { body, complete } = readBody(rest, { method, status, header });
    const text = () => body.toString("utf8");
    const json = () => JSON.parse(text());
    return { status, reason: match[2], headers, body, complete, header, text, json };
  }
}

function headerPair(line) {
  const colon = line.indexOf(":");
  if (colon <= 0) throw new Error(`No header line: ${JSON.stringify(line)}`);
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

/** The values of a header joined by ", ", or null. */
function valueOf(headers, name) {
  const lower = name.toLowerCase();
  const values = headers.filter(([it]) => it.toLowerCase() === lower).map(([, value]) => value);
  return values.length === 0 ? null : values.join(", ");
}

function readBody(rest, { method, status, header }) {
  if (method === "HEAD" || status === 204 || status === 304) {
    return { body: rest, complete: rest.length === 0 };
  }
  if (/\bchunked\b/i.test(header("Transfer-Encoding") ?? "")) return joinChunks(rest);
  const length = header("Content-Length");
  if (length === null) return { body: rest, complete: true };
  return { body: rest, complete: rest.length === Number(length) };
}

function joinChunks(bytes) {
  const parts = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf("\r\n");
    const size = end < 0 ? NaN : Number.parseInt(rest.subarray(0, end).toString("latin1"), 16);
    if (size === 0) return { body: Buffer.concat(parts), complete: true };
    const whole = Number.isInteger(size) && rest.length >= end + 2 + size + 2;
    if (Number.isInteger(size)) parts.push(rest.subarray(end + 2, end + 2 + size));
    if (!whole) return { body: Buffer.concat(parts), complete: false };
    rest = rest.subarray(end + 2 + size + 2);
  }
}
