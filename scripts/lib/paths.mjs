// Where things are. Every script may be started from any directory.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export const inRoot = (...parts) => join(ROOT, ...parts);
export const inTools = (...parts) => inRoot(".tools", ...parts);
export const inModules = (...parts) => inRoot("node_modules", ...parts);

/** The Node that npm installed for this project. */
export const NODE_BIN = inModules("node", "bin", "node");

/** PATH without this project's own commands: what the user's shell would find. */
export function outerPath(path = process.env.PATH ?? "") {
  return path
    .split(":")
    .filter((entry) => !entry.includes("node_modules"))
    .join(":");
}
