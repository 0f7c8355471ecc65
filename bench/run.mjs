// Runs the measurements on Workers that are built, prints a table, and writes the numbers as JSON
// where asked. Everything happens on this machine's loopback.

import { cpus } from "node:os";
import { writeFileSync } from "node:fs";

import { main } from "../scripts/lib/main.mjs";
import { measureHash } from "./hash.mjs";
import { optionsOf } from "./lib/options.mjs";
import { report } from "./lib/report.mjs";
import { measureReplies } from "./replies.mjs";
import { measureRequests } from "./requests.mjs";

/** Progress in one line that is overwritten; nothing where nobody watches. */
function tell(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

await main(import.meta.url, async (args) => {
  const { plan, requests, replies, hash, json } = optionsOf(args);
  const results = { at: new Date().toISOString(), processors: cpus().length, plan };
  if (hash) results.hash = await measureHash(plan, tell);
  if (requests) Object.assign(results, await measureRequests(plan, tell));
  if (replies) Object.assign(results, await measureReplies(plan, tell));
  tell("");
  process.stdout.write(report(results));
  if (json) writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
});
