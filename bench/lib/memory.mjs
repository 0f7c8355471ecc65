// The resident memory of another process, as Linux counts it (in bytes): what it has, and the most
// that it had since its peak was last reset. NaN where the system does not tell.

import { readFileSync, writeFileSync } from "node:fs";

/** Lets the peak of a process begin again at what it has now, and tells that. */
export function resetPeak(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    return NaN;
  }
  return read(pid, "VmRSS");
}

/** The most that a process has had since its peak was reset. */
export const peakOf = (pid) => read(pid, "VmHWM");

function read(pid, field) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)[1]) * 1024;
  } catch {
    return NaN;
  }
}
