// Checks the policy in wrangler.toml and its identity lock, and puts the policy in words. Arguments
// go to the command line of the crate: `npm run policy -- --help` has them all.

import { oncegate } from "./lib/host.mjs";
import { main } from "./lib/main.mjs";

await main(import.meta.url, async (args) => oncegate("policy", ...args));
