// What every example stands on: a gate with the example's policy before the example's origin, and
// the telling of what happens.
//
// It owns the reading of `policy.toml`, the start and the end of both servers, and the lines that
// are printed. Whatever an example says of an answer is checked before it is printed: an example
// that shows something else than it claims fails.

import assert from "node:assert/strict";
import { join } from "node:path";

import { experimental_readRawConfig } from "wrangler";

import { startGate } from "../../tests/worker/support/gate.mjs";

/** The variables of a policy file, as wrangler reads them. */
export function policyOf(folder) {
  return experimental_readRawConfig({ config: join(folder, "policy.toml") }).rawConfig.vars;
}

/**
 * Opens the stage of an example.
 *
 * @param {string} folder of the example
 * @param {{url: string, ledger: Array, close: Function}} origin that has been started
 * @param {{tell?: Function, vars?: object}} [options] where lines go, and secrets of the Worker
 */
export async function openStage(folder, origin, { tell = print, vars } = {}) {
  const { ONCEGATE, ...operations } = policyOf(folder);
  // The policy names the example's usual address; here the origin is wherever a port was free.
  const policy = { ...operations, ONCEGATE: { ...ONCEGATE, origin: origin.url } };
  const gate = await startGate({ policy, vars });
  return new Stage(gate, origin, tell);
}

class Stage {
  constructor(gate, origin, tell) {
    Object.assign(this, { gate, origin, tell });
  }

  /** One step of the story. */
  step(text) {
    this.tell(`\n${text}`);
  }

  /** Sends a request; resolves with its answer, or with nothing if the client gave up. */
  async send(method, path, { headers = {}, json, expect } = {}) {
    const body = json === undefined ? undefined : (json.text ?? JSON.stringify(json));
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const shown = Object.entries(headers).filter(([name]) => !/^authorization$/i.test(name));
    const named = shown.map(([name, value]) => `  ${name}: ${value}`).join("");
    this.tell(`  > ${method} ${path}${named}${body === undefined ? "" : `  ${body}`}`);
    const response = await this.gate.fetch(path, { method, headers: { ...type, ...headers }, body });
    const text = await response.text();
    const answer = {
      status: response.status,
      state: response.headers.get("Oncegate-State"),
      marked: response.headers.get("Idempotency-Replayed") === "true",
      reference: response.headers.get("Oncegate-Reference"),
      headers: response.headers,
      text,
    };
    const marker = answer.marked ? "  Idempotency-Replayed: true" : "";
    this.tell(`  < ${answer.status}  Oncegate-State: ${answer.state}${marker}  ${short(text)}`);
    for (const [name, value] of Object.entries(expect ?? {})) {
      assert.equal(answer[name], value, `${name} of the answer to ${method} ${path}: ${text}`);
    }
    return answer;
  }

  /** A claim in words; false fails the example. */
  claim(text, holds) {
    assert.ok(holds, `claimed and not so: ${text}`);
    this.tell(`  ✓ ${text}`);
  }

  /** The ledger of the origin, which must have these entries. */
  ledger(expected) {
    const { ledger } = this.origin;
    this.tell("\nThe ledger of the origin: what was really done");
    for (const entry of ledger) this.tell(`  ${JSON.stringify(entry)}`);
    assert.deepEqual(ledger, expected);
    this.tell(`  ✓ ${ledger.length} ${ledger.length === 1 ? "entry" : "entries"}, none of them twice`);
  }

  async [Symbol.asyncDispose]() {
    await this.gate.dispose();
    await this.origin.close();
  }
}

function print(line) {
  process.stdout.write(`${line}\n`);
}

/** A document as one line, without the addresses that are different every time. */
function short(text) {
  const line = text.replaceAll(/\s+/g, " ");
  if (!line.startsWith("{")) return line;
  const { code, detail, state, ...rest } = JSON.parse(line);
  if (code !== undefined) return `${code}: ${detail}`;
  return state === undefined ? line : JSON.stringify({ state, ...rest, status_url: undefined });
}
