// The measurements in bench/, on Workers that are built and up to date.

import { buildHash } from "../bench/hash-worker/build.mjs";
import { optionsOf } from "../bench/lib/options.mjs";
import { build } from "./build.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { show } from "./lib/proc.mjs";

await main(import.meta.url, async (args) => {
  const { requests, replies, hash } = optionsOf(args);
  if (requests || replies) await build();
  if (hash) await buildHash();
  await show(process.execPath, [inRoot("bench", "run.mjs"), ...args]);
});
