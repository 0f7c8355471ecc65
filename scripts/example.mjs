// `npm run example -- NAME`: one of the examples, on a Worker that is built and up to date.

import { existsSync, readdirSync } from "node:fs";
import { build } from "./build.mjs";
import { main } from "./lib/main.mjs";
import { inRoot } from "./lib/paths.mjs";
import { Failure } from "./lib/proc.mjs";
import { setup } from "./setup.mjs";

/** The names of the examples. */
export function examples() {
  const names = readdirSync(inRoot("examples"));
  return names.filter((name) => existsSync(inRoot("examples", name, "run.mjs"))).sort();
}

await main(import.meta.url, async ([name, ...more]) => {
  const known = examples();
  if (name === undefined) {
    process.stdout.write(`Examples: npm run example -- NAME\n  ${known.join("\n  ")}\n`);
    return 0;
  }
  if (!known.includes(name) || more.length > 0) {
    const wrong = known.includes(name) ? `unknown argument ${more[0]}` : `no example ${name}`;
    throw new Failure(`${wrong}: there are ${known.join(", ")}`);
  }
  await setup();
  await build();
  const { run } = await import(inRoot("examples", name, "run.mjs"));
  try {
    await run();
  } catch (error) {
    throw new Failure(`the example shows something else than it says: ${error.message}`);
  }
  return 0;
});
