// npm packages: installed from the lockfile when they are absent or other than it says.
// Runs on any Node that npm itself runs on; everything after it runs on the pinned one.

import { existsSync, readFileSync } from "node:fs";
import { inModules, inRoot, NODE_BIN, outerPath } from "./paths.mjs";
import { Failure, run } from "./proc.mjs";
import { step } from "./progress.mjs";

const packagesOf = (file) => JSON.parse(readFileSync(file, "utf8")).packages;

/** True where what is installed is what the lockfile says, without starting any process. */
export function modulesAreFresh() {
  if (!existsSync(NODE_BIN) || !existsSync(inModules(".package-lock.json"))) return false;
  const have = packagesOf(inModules(".package-lock.json"));
  return Object.entries(packagesOf(inRoot("package-lock.json"))).every(
    ([path, { version, optional }]) =>
      path === "" || have[path]?.version === version || (optional && !have[path]),
  );
}

/** Installs the npm packages where needed. */
export async function ensureModules() {
  if (modulesAreFresh()) return;
  await step("npm packages (about 15 s)", async (onLine) => {
    // The commands inside node_modules vanish while npm works: it must not run on them.
    const env = { ...process.env, PATH: outerPath() };
    const { code, output } = await run("npm", ["ci", "--loglevel=error"], {
      env,
      onLine,
      log: "npm",
    });
    if (code !== 0) throw new Failure(`npm ci failed:\n${output}`);
  });
  if (!existsSync(NODE_BIN)) {
    throw new Failure(
      "npm installed the packages but not their programs: the install scripts of `node`, " +
        "`workerd` and `esbuild` were not run. Allow them (npm ci --ignore-scripts=false) " +
        "and start again.",
    );
  }
}
