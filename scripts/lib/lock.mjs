// One set-up or build at a time in a work tree: two commands started together wait for each other
// instead of writing the same folders. A lock whose holder died is taken over.

import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { inTools } from "./paths.mjs";
import { say } from "./progress.mjs";

const POLL_MS = 250;

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Takes the lock, or returns the pid that holds it. */
function take(file) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, file); // unlike a write, a link appears with its content or not at all
    return undefined;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return holderOf(file);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** The pid in a lock, 0 where the lock is gone by now or its holder is. */
function holderOf(file) {
  try {
    const holder = Number(readFileSync(file, "utf8"));
    if (alive(holder)) return holder;
    rmSync(file, { force: true });
  } catch {
    // released between the two looks
  }
  return 0;
}

/** Runs `work` alone among all processes that use the same name. */
export async function withLock(name, work) {
  mkdirSync(inTools(), { recursive: true });
  const file = inTools(`${name}.lock`);
  let told = false;
  for (let holder = take(file); holder !== undefined; holder = take(file)) {
    if (!told && holder > 0) {
      say(`waiting for another ${name} in this folder (process ${holder})`);
      told = true;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const release = () => rmSync(file, { force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    process.removeListener("exit", release);
    release();
  }
}
