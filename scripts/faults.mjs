// Real faults on a real runtime, on a Worker that is built and up to date. Arguments go on to
// tests/faults/run.mjs.

import { build } from "./build.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { show } from "./lib/proc.mjs";
import { setup } from "./setup.mjs";

await main(import.meta.url, async (args) => {
  await setup();
  await build();
  await show(process.execPath, [inRoot("tests", "faults", "run.mjs"), ...args]);
});
