// Real faults on a real runtime: `npm run test:faults`.
//
//   npm run test:faults [-- --short] [-- --seed N] [-- --seconds N]
//
// Ends with exit code 1 if anything was found. The printed seed plans the same faults again.

import { parseArgs } from "node:util";

import { runCampaign } from "./campaign.mjs";

const LONGEST_S = 480;
const DEFAULT_S = 300;
const SHORT_S = 18;

const { values } = parseArgs({
  options: {
    short: { type: "boolean" },
    seed: { type: "string" },
    seconds: { type: "string" },
  },
});
const seconds = Number(values.seconds ?? (values.short ? SHORT_S : DEFAULT_S));
if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_S) {
  process.stderr.write(`oncegate: --seconds takes a whole number from 1 to ${LONGEST_S}\n`);
  process.exit(2);
}
const seed = values.seed ?? String(Date.now() % 1_000_000);
process.stdout.write(`oncegate: faults for ${seconds} s, seed ${seed}\n`);
const report = await runCampaign({ seed, forMs: seconds * 1000 });
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.stdout.write(
  report.findings.length === 0
    ? `oncegate: ${report.kills.total} kills, ${report.keys} keys: nothing found\n`
    : `oncegate: ${report.findings.length} findings, seed ${seed}\n`,
);
process.exitCode = report.findings.length === 0 ? 0 : 1;
