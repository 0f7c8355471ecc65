// The shapes of the demo origin's answers: plain values that the server writes out later.
//
// An answer is `{ status, headers: [[name, value], ...], body: Buffer }`. Nothing here touches a
// socket, so a switch can still delay, cut or replace an answer after its effect was applied.

const TITLES = new Map([
  [400, "Bad request"],
  [401, "Unauthorised"],
  [404, "Not found"],
  [405, "Method not allowed"],
  [409, "Conflict"],
  [413, "Body too large"],
  [415, "Unsupported media type"],
  [422, "Unprocessable"],
  [500, "Internal error"],
  [503, "Unavailable"],
]);

/** A JSON answer with further headers. */
export function json(status, value, headers = []) {
  return {
    status,
    headers: [["Content-Type", "application/json"], ...headers],
    body: Buffer.from(`${JSON.stringify(value)}\n`),
  };
}

/** An RFC 9457 problem document. */
export function problem(status, code, detail, headers = []) {
  const title = TITLES.get(status) ?? `Status ${status}`;
  return {
    status,
    headers: [["Content-Type", "application/problem+json"], ...headers],
    body: Buffer.from(`${JSON.stringify({ type: "about:blank", title, status, detail, code })}\n`),
  };
}

/** A page for people. */
export function html(text) {
  return {
    status: 200,
    headers: [["Content-Type", "text/html; charset=utf-8"], ["Cache-Control", "no-store"]],
    body: Buffer.from(text),
  };
}
