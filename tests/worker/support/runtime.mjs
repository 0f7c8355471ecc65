// The workerd processes that Miniflare starts: which one belongs to which instance.
//
// It owns the list of children and the finding of the living one. Miniflare keeps its child to
// itself, but Node tells of every child process that is created; the address of an instance's own
// loopback server on the command line says whose it is, and stays the same over restarts.

import diagnostics from "node:diagnostics_channel";

const children = new Set();
const known = new Set();

diagnostics.subscribe("child_process", ({ process: child }) => {
  queueMicrotask(() => {
    if (loopbackOf(child) === undefined) return;
    children.add(child);
    child.once("exit", () => children.delete(child));
  });
});

/**
 * Runs `start` and returns the loopback address of the runtime that it started. Call it under the
 * start lock; restarts of other instances meanwhile do no harm, their addresses are known.
 */
export async function identifyRuntime(start) {
  await start();
  const fresh = new Set([...children].map(loopbackOf).filter((address) => !known.has(address)));
  if (fresh.size !== 1) throw new Error(`Expected one new workerd process, found ${fresh.size}.`);
  const [loopback] = fresh;
  known.add(loopback);
  return loopback;
}

/** The living workerd process of an instance. */
export function runtimeProcess(loopback) {
  const found = [...children].find((child) => loopbackOf(child) === loopback);
  if (found === undefined) throw new Error("This gate's workerd process is not running.");
  return found;
}

function loopbackOf(child) {
  const found = child.spawnargs?.find((argument) => argument.startsWith("--external-addr="));
  return found?.slice("--external-addr=".length);
}
