// `wrangler deploy` of the production environment; wrangler calls the build by itself. Arguments
// go on to wrangler. Refuses an origin that cannot be meant, so that a deploy by accident does not
// take a live name to nowhere.

import { readConfig } from "./lib/config.mjs";
import { main } from "./lib/main.mjs";
import { inModules } from "./lib/paths.mjs";
import { Failure, show } from "./lib/proc.mjs";
import { setup } from "./setup.mjs";

const PRODUCTION = "production";
export const PLACEHOLDER = "https://api.example.com";

const named = (args) => args.some((arg) => /^(-e|--env)(=|$)/.test(arg));

await main(import.meta.url, async (args) => {
  const environment = named(args) ? [] : ["--env", PRODUCTION];
  const { origin } = (await readConfig()).env[PRODUCTION].vars.ONCEGATE;
  if (environment.length > 0 && origin === PLACEHOLDER && !args.includes("--dry-run")) {
    throw new Failure(
      `the origin of [env.${PRODUCTION}.vars.ONCEGATE] in wrangler.toml is still ${PLACEHOLDER}: ` +
        "write your own, then deploy again",
    );
  }
  await setup();
  const wrangler = inModules("wrangler", "bin", "wrangler.js");
  await show(process.execPath, [wrangler, "deploy", ...environment, ...args], {
    env: { ...process.env, WRANGLER_SEND_METRICS: process.env.WRANGLER_SEND_METRICS ?? "false" },
  });
});
