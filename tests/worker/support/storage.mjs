// What the gate's objects have on disk, read beside the running runtime for assertions.
//
// It only reads. workerd keeps one SQLite file per object under `do/<worker>-<Class>/` and the
// alarms of a class in `metadata.sqlite` beside them. The synchronous key-value API stores its
// pairs in the table `_cf_KV`. A value written by an object is visible here once it is durable,
// which is before anything that depends on it leaves the object.

import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const METADATA = "metadata.sqlite";
const READ_AGAIN = 40;
const READ_AGAIN_MS = 5;
/** Tables in which the runtime keeps its own notes: they hold nothing of a record. */
const RUNTIME_TABLES = /^(sqlite_|_cf_METADATA$)/;

/**
 * Every object that has a file: `{ className, id, path, tables, rows, kv, alarm }`, where `tables`
 * is rows by table name, `rows` their sum (0 = storage empty), `kv` the pairs of the key-value
 * table as `{ key, value: Buffer }` (raw: the object's bytes within V8's serialised form) and
 * `alarm` the time of its alarm as a Date, or null.
 */
export function readObjects(dir) {
  const root = join(dir, "do");
  if (!existsSync(root)) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => readClass(join(root, entry.name)));
}

function readClass(folder) {
  const className = basename(folder).replace(/^.*?-/, "");
  const alarms = readAlarms(join(folder, METADATA));
  return readdirSync(folder)
    .filter((file) => file.endsWith(".sqlite") && file !== METADATA)
    .map((file) => {
      const id = basename(file, ".sqlite");
      const path = join(folder, file);
      return { className, id, path, alarm: alarms.get(id) ?? null, ...readFile(path) };
    });
}

/** An object that is being emptied at this moment cannot be read for an instant. */
function readFile(path) {
  for (let again = READ_AGAIN; ; again -= 1) {
    try {
      return readTables(path);
    } catch (error) {
      if (!existsSync(path)) return { tables: {}, rows: 0, kv: [] };
      if (again === 0 || error.code !== "ERR_SQLITE_ERROR") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READ_AGAIN_MS);
    }
  }
}

function readTables(path) {
  return withDatabase(path, (database) => {
    const names = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .all()
      .map(({ name }) => name)
      .filter((name) => !RUNTIME_TABLES.test(name));
    const tables = Object.fromEntries(names.map((name) => [name, countRows(database, name)]));
    const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
    return { tables, rows, kv: "_cf_KV" in tables ? readPairs(database) : [] };
  });
}

function countRows(database, table) {
  const quoted = `"${table.replaceAll('"', '""')}"`;
  return database.prepare(`SELECT count(*) AS n FROM ${quoted}`).get().n;
}

function readPairs(database) {
  const rows = database.prepare("SELECT key, value FROM _cf_KV ORDER BY key").all();
  return rows.map(({ key, value }) => ({ key, value: Buffer.from(value) }));
}

function readAlarms(path) {
  if (!existsSync(path)) return new Map();
  return withDatabase(path, (database) => {
    // The runtime notes alarm times in nanoseconds: more than a JavaScript number holds.
    const query = "SELECT actor_id AS id, scheduled_time / 1000000 AS ms FROM _cf_ALARM";
    return new Map(database.prepare(query).all().map(({ id, ms }) => [id, new Date(ms)]));
  });
}

function withDatabase(path, read) {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    return read(database);
  } finally {
    database.close();
  }
}
