// `wrangler deploy` of the production environment; wrangler calls the build by itself. Arguments
// go on to wrangler. Refuses an origin that cannot be meant, so that a deploy by accident does not
// take a live name to nowhere, and a policy that is not valid or changes the identity of a key.

import { readConfig } from "./lib/config.mjs";
import { oncegate } from "./lib/host.mjs";
import { main } from "./lib/main.mjs";
import { inModules } from "./lib/paths.mjs";
import { Failure, show } from "./lib/proc.mjs";
import { setup } from "./setup.mjs";

const PRODUCTION = "production";
export const PLACEHOLDER = "https://api.example.com";

const named = (args) => args.some((arg) => /^(-e|--env)(=|$)/.test(arg));

/** The value of an option of wrangler, in any of its spellings. */
function valueOf(args, long, short) {
  const at = args.findIndex((arg) => arg === long || arg === short);
  if (at >= 0) return args[at + 1];
  const joined = args.find((arg) => arg.startsWith(`${long}=`) || arg.startsWith(`${short}=`));
  return joined?.slice(joined.indexOf("=") + 1);
}

/** The check of what is about to be deployed; it writes nothing. */
async function checkPolicy(args) {
  const environment = valueOf(args, "--env", "-e") ?? PRODUCTION;
  const config = valueOf(args, "--config", "-c");
  const where = ["--env", environment, ...(config === undefined ? [] : ["--config", config])];
  if ((await oncegate("policy", "--locked", ...where)) !== 0) {
    throw new Failure("nothing was deployed: the policy check failed, as shown above");
  }
}

await main(import.meta.url, async (args) => {
  const environment = named(args) ? [] : ["--env", PRODUCTION];
  const { origin } = (await readConfig()).env[PRODUCTION].vars.ONCEGATE;
  if (environment.length > 0 && origin === PLACEHOLDER && !args.includes("--dry-run")) {
    throw new Failure(
      `the origin of [env.${PRODUCTION}.vars.ONCEGATE] in wrangler.toml is still ${PLACEHOLDER}: ` +
        "write your own, then deploy again",
    );
  }
  await checkPolicy(args);
  await setup();
  const wrangler = inModules("wrangler", "bin", "wrangler.js");
  await show(process.execPath, [wrangler, "deploy", ...environment, ...args], {
    env: { ...process.env, WRANGLER_SEND_METRICS: process.env.WRANGLER_SEND_METRICS ?? "false" },
  });
});
