// A tiny HTTP server for the origins of the examples.
//
// It owns sockets and bodies, and nothing of what an origin does. A handler gets
// `{ method, path, query, headers, json }` and gives `{ status, json, headers }`; one that gives
// nothing breaks the connection, as an origin does that dies after its work.

import { createServer } from "node:http";

/** Starts a server on a free port of this machine. */
export async function serve(handler) {
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { pathname, searchParams } = new URL(request.url, "http://origin");
    const answer = await handler({
      method: request.method,
      path: pathname,
      query: searchParams,
      headers: request.headers,
      json: text === "" ? undefined : JSON.parse(text),
      text,
    });
    if (answer === undefined) {
      request.socket.destroy();
      return;
    }
    const { status, json, headers = {} } = answer;
    const type = json === undefined ? {} : { "content-type": "application/json" };
    response.writeHead(status, { ...type, ...headers });
    response.end(json === undefined ? "" : JSON.stringify(json));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
