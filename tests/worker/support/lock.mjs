// One start of a runtime at a time, over all test processes of a user.
//
// Several runtimes that start together on a small machine run into each other's time limits. The
// lock is a write transaction on a file in the temporary folder: the kernel gives it up when its
// holder dies, so a killed test leaves nothing to clean. Waiting asks again and again, because
// the holder is another process and nothing tells when it lets go.

import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

const ASK_AGAIN_MS = 20;
const GIVE_UP_MS = 120_000;
const SQLITE_BUSY = 5;

/** Runs `work` while holding the lock. */
export async function withStartLock(work) {
  const file = join(tmpdir(), `oncegate-test-start-${userInfo().username}.sqlite`);
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    await take(database);
    return await work();
  } finally {
    database.close();
  }
}

async function take(database) {
  const until = Date.now() + GIVE_UP_MS;
  for (;;) {
    try {
      database.exec("BEGIN EXCLUSIVE");
      return;
    } catch (error) {
      if (error.errcode !== SQLITE_BUSY || Date.now() > until) throw error;
      await delay(ASK_AGAIN_MS);
    }
  }
}
