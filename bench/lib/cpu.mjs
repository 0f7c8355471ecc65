// The processor time of another process, by thread, as Linux counts it (in nanoseconds). Unlike
// the clock on the wall it does not grow while others have the processor.

import { readdirSync, readFileSync } from "node:fs";

/** The time of every thread by its id (ms); none where the system does not tell. */
export function cpuOf(pid) {
  const folder = `/proc/${pid}/task`;
  try {
    return new Map(readdirSync(folder).map((thread) => [thread, timeOf(`${folder}/${thread}`)]));
  } catch {
    return new Map();
  }
}

function timeOf(thread) {
  try {
    return Number(readFileSync(`${thread}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
  } catch {
    return 0; // it ended meanwhile
  }
}

function since(before, pid) {
  return [...cpuOf(pid)].map(([thread, time]) => time - (before.get(thread) ?? 0));
}

/** What all threads took since `before`; NaN where the system does not tell. */
export const allSince = (before, pid) =>
  before.size === 0 ? NaN : since(before, pid).reduce((sum, time) => sum + Math.max(time, 0), 0);

/** What the busiest thread took since `before`: the one that ran the Worker. */
export const busiestSince = (before, pid) =>
  before.size === 0 ? NaN : Math.max(...since(before, pid));
