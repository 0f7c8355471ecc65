// What must be true after a fault run, whatever has happened: the findings are the faults found.
//
// The ledger is the only witness of effects, the stored records the only one of states. A record
// may only be unknown at the end where nobody may ask about it.

import { recordsOf, stateName } from "../worker/support/records.mjs";
import { kindOf } from "./world.mjs";

const SETTLED = new Set(["completed", "failed_replayable", "failed_retryable", "expired"]);

/** Whether nothing is left to happen but the ends of lifetimes. */
export function isQuiet(gate) {
  return recordsOf(gate).every(({ record }) => {
    const state = stateName(record);
    return SETTLED.has(state) || (state === "unknown" && kindOf(record.operation) === "held");
  });
}

/** Effects against references and keys. */
export function checkEffects(ledger, told, findings) {
  const count = (by) => {
    const counts = new Map();
    for (const entry of ledger.entries) {
      counts.set(entry[by], (counts.get(entry[by]) ?? 0) + 1);
    }
    return counts;
  };
  for (const by of ["reference", "idempotency_key"]) {
    for (const [name, effects] of count(by)) {
      if (effects > 1) findings.push(`${effects} effects for the ${by} ${name}`);
    }
  }
  const byKey = count("idempotency_key");
  for (const { key, end } of told.values()) {
    const effects = byKey.get(key) ?? 0;
    const done = end === "done" || end === "receipt lost" || end === "expired";
    if (done && effects !== 1) findings.push(`${key} was told ${end}, with ${effects} effects`);
    if (end === "stuck") findings.push(`${key} never got a final answer`);
    if (end?.startsWith("refused")) findings.push(`${key} was ${end}`);
  }
}

/** Every receipt of a key is the same receipt, and names the effect. */
export function checkReceipts(ledger, told, findings) {
  const effects = new Map(ledger.entries.map((entry) => [entry.idempotency_key, entry]));
  for (const { key, receipts } of told.values()) {
    const [first, ...others] = receipts.map(receiptOf);
    if (first === undefined) continue;
    for (const other of others) {
      if (other !== first) findings.push(`${key} got two receipts: ${first} and ${other}`);
    }
    const { id } = JSON.parse(receipts[0].body);
    if (id !== effects.get(key)?.subject) findings.push(`${key} got the receipt of ${id}`);
  }
}

const receiptOf = ({ status, type, location, reference, body }) =>
  JSON.stringify([status, type, location, reference, body]);

/** No record is stuck, and each tells what the ledger tells. Returns the states, counted. */
export function checkRecords(gate, ledger, findings) {
  const states = new Map();
  const effects = new Map(ledger.entries.map((entry) => [entry.reference, entry]));
  for (const { record, alarm } of recordsOf(gate)) {
    const state = stateName(record);
    const kind = kindOf(record.operation);
    const what = `${kind} ${state}`;
    states.set(what, (states.get(what) ?? 0) + 1);
    const named = [...effects.keys()].find((it) => it.endsWith(`.${record.nonce}`));
    const waits = kind === "held" && state === "unknown";
    if (!SETTLED.has(state) && !waits) findings.push(`a record is ${what} at the end`);
    if (alarm === null && !waits) findings.push(`a record (${what}) has no alarm`);
    if (state === "completed" && named === undefined) findings.push(`${what} without an effect`);
    if (state.startsWith("failed_") && named !== undefined) findings.push(`${what} with an effect`);
  }
  return states;
}
