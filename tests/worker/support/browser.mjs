// A headless Chromium for the tests, by its DevTools protocol over the WebSocket of Node.
//
// It owns the process and its profile. `page.run(script)` evaluates an expression in a page and
// gives what its promise resolves with; nothing else of the protocol is used.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--remote-debugging-port=0",
];
const START_MS = 60_000;

/** Starts a browser; `path` is its executable. */
export async function startBrowser(path) {
  const profile = await mkdtemp(join(tmpdir(), "oncegate-browser-"));
  const child = spawn(path, [...FLAGS, `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const close = async () => {
    // It has children of its own: the group ends as one.
    if (child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const socket = new WebSocket(await address(child));
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error("the browser takes no connection"));
    });
    return { close, open: (url) => open(caller(socket), url) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The address that the browser announces. */
function address(child) {
  const { promise, resolve, reject } = Promise.withResolvers();
  let said = "";
  const timer = setTimeout(() => reject(new Error(`no browser: ${said}`)), START_MS);
  child.stderr.on("data", (chunk) => {
    said += chunk;
    const found = /DevTools listening on (ws:\S+)/.exec(said);
    if (found) resolve(found[1]);
  });
  child.once("close", () => reject(new Error(`the browser ended: ${said}`)));
  return promise.finally(() => clearTimeout(timer));
}

/** Calls of the protocol, by number. */
function caller(socket) {
  const open = new Map();
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, result, error } = JSON.parse(data);
    const call = open.get(id);
    open.delete(id);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result);
  });
  return (method, params, sessionId) => {
    const { promise, resolve, reject } = Promise.withResolvers();
    last += 1;
    open.set(last, { resolve, reject });
    socket.send(JSON.stringify({ id: last, method, params, sessionId }));
    return promise;
  };
}

async function open(call, url) {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  await call("Page.navigate", { url }, sessionId);
  const run = async (expression) => {
    const params = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await call("Runtime.evaluate", params, sessionId);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? "it threw");
    return result.value;
  };
  // A navigation resolves when it is committed; the page itself is there a moment later.
  await run('new Promise((go) => document.readyState === "complete" ? go() : (onload = go))');
  return { run };
}
