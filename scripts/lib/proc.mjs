// Child processes: started in a group of their own, so that an end of this process ends them all.
// Never leaves a child behind on SIGINT, SIGTERM or SIGHUP.

import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { constants } from "node:os";
import { inTools, ROOT } from "./paths.mjs";

const groups = new Set();
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
const GRACE_MS = 4000;
let ending = false;

/** True once this process was told to end: what stops from then on has been stopped. */
export const isEnding = () => ending;

/** Sends a signal to a child and to everything it started. */
function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
    return true;
  } catch {
    return false; // already gone
  }
}

/**
 * Starts a command in its own process group. The caller owns its end, or `endAll` does. `grace`
 * (ms) is its time to end politely: longer where it has children of its own to end.
 */
export function start(command, args, { grace = GRACE_MS, ...options } = {}) {
  if (ending) throw new Failure(`ending: ${command} is not started`);
  const child = spawn(command, args, { cwd: ROOT, ...options, detached: true });
  child.grace = grace;
  groups.add(child);
  return child;
}

/** Ends one child with all that it started: first politely, then by force. */
export async function end(child) {
  if (!groups.has(child)) return;
  const deadline = Date.now() + child.grace;
  signalGroup(child, "SIGTERM");
  // Signal 0 asks whether any process of the group is left, so a grandchild counts too.
  while (signalGroup(child, 0)) {
    if (Date.now() > deadline) signalGroup(child, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  groups.delete(child);
}

/** Ends every child that this process started. */
export const endAll = () => Promise.all([...groups].map(end));

for (const signal of SIGNALS) {
  process.on(signal, async () => {
    if (ending) return;
    ending = true;
    await endAll();
    process.exit(128 + constants.signals[signal]);
  });
}

/**
 * Runs a command to its end and resolves to { code, output }. `log` names a file below
 * .tools/log that receives the output, `timeout` (ms) ends the command, `inherit` shows it.
 */
export function run(command, args, { log, timeout, inherit = false, onLine, ...options } = {}) {
  return new Promise((resolve) => {
    const stdio = ["ignore", inherit ? "inherit" : "pipe", inherit ? "inherit" : "pipe"];
    const child = start(command, args, { stdio, ...options });
    let file;
    if (log) {
      mkdirSync(inTools("log"), { recursive: true });
      file = createWriteStream(inTools("log", `${log}.log`));
    }
    let output = "";
    const take = (chunk) => {
      output = (output + chunk).slice(-200_000);
      file?.write(chunk);
      const line = String(chunk).trim().split("\n").pop();
      if (line) onLine?.(line);
    };
    child.stdout?.on("data", take);
    child.stderr?.on("data", take);
    const timer =
      timeout &&
      setTimeout(() => {
        take(`\nno end after ${timeout / 1000} s: stopped\n`);
        end(child);
      }, timeout);
    let settled = false;
    const finish = (code) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      groups.delete(child);
      file?.end();
      resolve({ code, output });
    };
    child.on("error", (error) => {
      take(`${command}: ${error.message}\n`);
      finish(127);
    });
    child.on("close", (code, signal) => finish(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/** The trimmed output of a command, or undefined if it fails. */
export async function read(command, args, options = {}) {
  const { code, output } = await run(command, args, { timeout: 30_000, ...options });
  return code === 0 ? output.trim() : undefined;
}

/** Runs a command in sight of the user; throws if it fails. */
export async function show(command, args, options = {}) {
  const { code } = await run(command, args, { inherit: true, ...options });
  if (code !== 0) throw new Failure(`${command} ${args.join(" ")} failed (exit ${code})`, code);
}

/** An error that is told to the user as it is, without a stack. */
export class Failure extends Error {
  constructor(message, code = 1) {
    super(message);
    this.code = code;
  }
}
