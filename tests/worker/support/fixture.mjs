// A gate and its origin for all tests of one file.
//
// It owns their start before the first test and their end after the last, in that order whatever
// fails. Tests of one file share them, and keep apart by their keys.

import { after, before } from "node:test";

import { startOrigin } from "../../../demo/origin.mjs";
import { startGate } from "./gate.mjs";

/**
 * @param {object} [options] of `startGate`
 * @param {object} [originOptions] of `startOrigin`
 * @returns {{origin: object, gate: object}} filled before the first test
 */
export function gateForTests(options = {}, originOptions = {}) {
  const it = {};
  before(async () => {
    it.origin = await startOrigin(originOptions);
    it.gate = await startGate({ origin: it.origin, ...options });
  });
  after(async () => {
    await it.gate?.dispose();
    await it.origin?.close();
  });
  return it;
}
