// A build of the Worker that tells of every call to its objects' storage.
//
// It owns the making of that build: the built module as it is, with the exported `Gate` wrapped so
// that the state it is given counts. Nothing within the Worker changes. Each call is one line on
// the console, in order; rows are counted as the platform bills them: a put or a set alarm is one
// row written, a get is one row read, and what `deleteAll` removes is what had been written.

import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BUILD = fileURLToPath(new URL("../../../build", import.meta.url));
const MARK = "storage-call ";

/** The wrapper: `TARGET` stands for the class as the built module names it. */
const WRAPPER = `
const countedGate = new Proxy(TARGET, {
  construct(target, [state, env], newTarget) {
    const { name } = state.id;
    const tell = (call) => console.log("${MARK}" + JSON.stringify({ name, ...call }));
    const watched = (object, prefix, inner = {}) =>
      new Proxy(object, {
        get(of, name) {
          if (name in inner) return inner[name](of[name]);
          const value = of[name];
          if (typeof value !== "function") return value;
          return (...args) => {
            if (prefix !== undefined) {
              const plain = typeof args[0] === "string" || typeof args[0] === "number";
              tell({ call: prefix + name, on: plain ? args[0] : null });
            }
            return value.apply(of, args);
          };
        },
      });
    const storage = (real) =>
      watched(real, "", { kv: (kv) => watched(kv, "kv."), sql: (sql) => watched(sql, "sql.") });
    return Reflect.construct(target, [watched(state, undefined, { storage }), env], newTarget);
  },
});
`;

/** Makes the build in a folder of its own. */
export async function countedBuild() {
  const folder = await mkdtemp(join(tmpdir(), "oncegate-counted-"));
  await cp(BUILD, folder, { recursive: true });
  const path = join(folder, "index.js");
  const module = await readFile(path, "utf8");
  const found = [...module.matchAll(/([\w$]+) as Gate\b/g)];
  assert.equal(found.length, 1, "the built module exports one Gate");
  const renamed = module.replace(/[\w$]+ as Gate\b/, "countedGate as Gate");
  await writeFile(path, renamed + WRAPPER.replace("TARGET", found[0][1]));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** The calls that a gate on such a build has told of: `{ name, call, on }`, by object name. */
export function callsOf(gate) {
  return gate.logs
    .filter(({ message }) => message.startsWith(MARK))
    .map(({ message }) => JSON.parse(message.slice(MARK.length)));
}

const READS = new Set(["kv.get", "kv.list", "getAlarm", "get", "list"]);
const WRITES = new Set(["kv.put", "setAlarm", "put"]);

/** The rows that some calls read and write; any call that is not known here is a fault. */
export function rowsOf(calls) {
  const rows = { read: 0, written: 0, emptied: 0 };
  for (const { call } of calls) {
    if (READS.has(call)) rows.read += 1;
    else if (WRITES.has(call)) rows.written += 1;
    else if (call === "deleteAll") rows.emptied += 1;
    else assert.fail(`${call} is not counted`);
  }
  return rows;
}
