// The demo of a payment in four steps, through a gate that dies at each of them, on a Worker that
// is built and up to date.

import { build } from "./build.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { show } from "./lib/proc.mjs";
import { setup } from "./setup.mjs";

await main(import.meta.url, async () => {
  await setup();
  await build();
  await show(process.execPath, [inRoot("demo", "chain.mjs")]);
});
