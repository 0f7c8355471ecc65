// Tells what the gate makes of a raw HTTP request in a file, and whether a second one is its retry.
// Arguments go to the command line of the crate: `npm run explain -- --help` has them all.

import { oncegate } from "./lib/host.mjs";
import { main } from "./lib/main.mjs";

await main(import.meta.url, async (args) => oncegate("explain", ...args));
