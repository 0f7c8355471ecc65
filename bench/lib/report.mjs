// The results as text. Ratios above 1 mean that the gate's side takes longer.

const number = (value, digits = 2) =>
  value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);

const ratio = ({ median, min, max }) =>
  Number.isNaN(median) ? "-" : `${number(median)} (${number(min)}-${number(max)})`;

/** Columns as wide as their widest cell, the first one to the left. */
function table(head, rows) {
  const all = [head, ...rows];
  const widths = head.map((_, n) => Math.max(...all.map((row) => row[n].length)));
  const line = (row) =>
    row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]) : cell.padStart(widths[n]))).join("  ");
  return all.map((row) => line(row).trimEnd()).join("\n");
}

const LOADS = { new: "new keys", replay: "replays", pass: "pass-through" };

function requestTable(cells) {
  const head = ["ms a request", "gate", "base", "gate / base", "of processor time"];
  head.push("p50 gate", "base", "p95 gate", "base");
  const rows = cells.map(({ load, parallel, gate, baseline, ...all }) => [
    `${LOADS[load]}, ${parallel === 1 ? "one at a time" : `${parallel} at once`}`,
    number(gate.each_ms),
    number(baseline.each_ms),
    ratio(all.ratio),
    ratio(all.cpu_ratio),
    number(gate.p50_ms),
    number(baseline.p50_ms),
    number(gate.p95_ms),
    number(baseline.p95_ms),
  ]);
  return table(head, rows);
}

function replyTable(cells) {
  const head = ["ms a replay", "gate", "base", "gate / base", "of processor time"];
  head.push("MiB/s gate", "base", "MiB more at the peak, gate", "base");
  const mib = ({ peak_bytes: bytes }) => number(bytes / 2 ** 20, 0);
  const rows = cells.map(({ size, parallel, gate, baseline, ...all }) => [
    `${size / 1024} KiB, ${parallel === 1 ? "one at a time" : `${parallel} at once`}`,
    number(gate.each_ms),
    number(baseline.each_ms),
    ratio(all.ratio),
    ratio(all.cpu_ratio),
    number(gate.mib_per_s, 0),
    number(baseline.mib_per_s, 0),
    mib(gate),
    mib(baseline),
  ]);
  return table(head, rows);
}

function hashTable({ times, memory }) {
  const head = ["ms a body", "rust", "javascript", "rust / javascript", "of processor time"];
  const rows = times.map(({ rust, javascript, ...each }) => [
    `${each.kind}, ${each.size / 1024} KiB`,
    number(rust.each_ms, 4),
    number(javascript.each_ms, 4),
    ratio(each.ratio),
    ratio(each.cpu_ratio),
  ]);
  const size = `${memory.body / 2 ** 20} MiB`;
  const grown = `${number(memory.all / 2 ** 20)} MiB`;
  const note = `wasm memory for ${size}: +${grown}, ${number(memory.ratio)} x the body`;
  return `${table(head, rows)}\n${note}`;
}

/** All results. */
export function report({ rounds, requests, replyRounds, replies, hash }) {
  const parts = [];
  if (requests) {
    parts.push(`Requests: the gate and a hand-written one (base), medians of ${rounds} rounds`);
    parts.push(requestTable(requests), "");
  }
  if (replies) {
    parts.push(`Replays by the length of the reply, medians of ${replyRounds} rounds`);
    parts.push(replyTable(replies), "");
  }
  if (hash) parts.push("Command hash: canonical form and SHA-256", hashTable(hash), "");
  return parts.join("\n");
}
