// Stamps: a hash of everything a result depends on, kept beside nothing else in .tools/stamps.
// A stamp is written after the result, so an interrupted step counts as not done.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inTools, ROOT } from "./paths.mjs";

const fileOf = (name) => inTools("stamps", `${name}.json`);

/** The files below a path, sorted: the path itself where it is a file, nothing where it is not. */
function filesBelow(path) {
  const full = join(ROOT, path);
  if (!existsSync(full)) return [];
  try {
    return readdirSync(full, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .sort();
  } catch {
    return [full];
  }
}

/** One hash over values and over the names and bytes of the files below `paths`. */
export function hashOf(values, paths = []) {
  const hash = createHash("sha256");
  hash.update(JSON.stringify(values));
  for (const file of paths.flatMap(filesBelow)) {
    const bytes = readFileSync(file);
    hash.update(`\n${file.slice(ROOT.length)} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

/** What was stamped under a name, or undefined. */
export function readStamp(name) {
  try {
    return JSON.parse(readFileSync(fileOf(name), "utf8"));
  } catch {
    return undefined;
  }
}

export function writeStamp(name, value) {
  mkdirSync(inTools("stamps"), { recursive: true });
  writeFileSync(fileOf(name), `${JSON.stringify(value, null, 2)}\n`);
}

export const dropStamp = (name) => rmSync(fileOf(name), { force: true });
