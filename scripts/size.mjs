// The size of the Worker as it is uploaded: wasm and JavaScript, each under gzip -9.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "./build.mjs";
import { main } from "./lib/main.mjs";
import { Failure } from "./lib/proc.mjs";

const LIMIT = 350 * 1024;
const FILES = ["index_bg.wasm", "index.js"];

const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`;

/** The size of the files of a build in bytes, plain and under gzip. */
export function sizesOf(folder) {
  return FILES.map((name) => {
    const bytes = readFileSync(join(folder, name));
    return { name, plain: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length };
  });
}

/** Prints the size of the Worker; fails where it is over the limit. */
export async function size() {
  const sizes = sizesOf(await build());
  for (const { name, plain, gzip } of sizes) {
    process.stdout.write(`  ${name.padEnd(14)} ${kib(plain)}, gzip ${kib(gzip)}\n`);
  }
  const total = sizes.reduce((sum, { gzip }) => sum + gzip, 0);
  process.stdout.write(`  the Worker     gzip ${kib(total)} of at most ${kib(LIMIT)}\n`);
  if (total > LIMIT) {
    throw new Failure(`the Worker is ${kib(total - LIMIT)} over its limit under gzip`);
  }
}

await main(import.meta.url, size);
