// The measurements in bench/, on a Worker that is built and up to date.

import { build } from "./build.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { show } from "./lib/proc.mjs";

await main(import.meta.url, async (args) => {
  await build();
  await show(process.execPath, [inRoot("bench", "run.mjs"), ...args]);
});
