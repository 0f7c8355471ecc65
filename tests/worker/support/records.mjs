// The records of a gate as they are stored, for what must happen without any client looking.
//
// It reads the document within the stored bytes (one byte of format, four of length, JSON). It
// never asks the gate: a look at the status route would be an event for the record.

import assert from "node:assert/strict";

import { eventually } from "./gated.mjs";

const FORMAT = 1;
/** The row of a record, not of the chunks of its body. */
const RECORD = /^record\/\d+$/;
const START = Buffer.from('{"operation":');

/** All stored records: `{ id, alarm, rows, record }`; an object may hold several. */
export function recordsOf(gate) {
  return gate
    .objects()
    .filter(({ className }) => className === "Gate")
    .flatMap(({ id, alarm, rows, kv }) =>
      kv
        .filter(({ key }) => RECORD.test(key))
        .map(({ value }) => ({ id, alarm, rows, record: decode(value) })),
    );
}

function decode(value) {
  const start = value.indexOf(START);
  assert.ok(start >= 5 && value[start - 5] === FORMAT, "the stored form is known");
  const length = value.readUInt32BE(start - 4);
  return JSON.parse(value.subarray(start, start + length).toString("utf8"));
}

/** The name of a record's state, as the status route tells it. */
export function stateName({ state }) {
  return typeof state === "string" ? state : Object.keys(state)[0];
}

/** The record of a reference, or undefined. */
export function recordOf(gate, reference) {
  const nonce = reference.slice(reference.lastIndexOf(".") + 1);
  return recordsOf(gate).find(({ record }) => nonceOf(record) === nonce);
}

function nonceOf({ nonce }) {
  return typeof nonce === "string" ? nonce : nonce.toString(16).padStart(16, "0");
}

/** The record of a reference, once it is stored in a state; nobody asks the gate meanwhile. */
export function storedAs(gate, reference, state, options) {
  return eventually(() => {
    const found = recordOf(gate, reference);
    return found !== undefined && stateName(found.record) === state && found;
  }, options);
}

/** The only record there is. */
export function onlyRecord(gate) {
  const records = recordsOf(gate);
  assert.equal(records.length, 1, "there is one record");
  return records[0];
}
