// How a script ends: with its own exit code, and a failure is told without a stack.

import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { endAll, Failure } from "./proc.mjs";

/** Runs `work(arguments)` if the module of this URL is the command that was started. */
export async function main(url, work) {
  if (realpathSync(process.argv[1]) !== fileURLToPath(url)) return;
  try {
    process.exitCode = (await work(process.argv.slice(2))) ?? 0;
  } catch (error) {
    const text = error instanceof Failure ? error.message : error.stack;
    process.stderr.write(`oncegate: ${text}\n`);
    process.exitCode = error instanceof Failure ? error.code : 1;
  } finally {
    await endAll();
  }
}
