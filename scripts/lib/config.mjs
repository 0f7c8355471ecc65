// wrangler.toml as wrangler reads it, and the copy of it that the local gate runs with.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { inRoot, ROOT } from "./paths.mjs";

export const CONFIG = inRoot("wrangler.toml");

/** wrangler.toml as data, nothing filled in. */
export async function readConfig() {
  // Loading wrangler takes over a second: only who reads the configuration pays it.
  const { experimental_readRawConfig } = await import("wrangler");
  return experimental_readRawConfig({ config: CONFIG }).rawConfig;
}

/**
 * Writes a configuration for this machine: the top-level one with another origin, and with paths
 * that hold where the copy lies.
 */
export async function writeLocalConfig(file, origin) {
  const { env: _elsewhere, vars, build, main, ...rest } = await readConfig();
  const local = {
    ...rest,
    main: resolve(ROOT, main),
    build: { ...build, cwd: ROOT, watch_dir: resolve(ROOT, build.watch_dir) },
    vars: { ...vars, ONCEGATE: { ...vars.ONCEGATE, origin } },
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(local, null, 2));
}
