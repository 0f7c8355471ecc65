// A fault run: clients at work, an origin that misbehaves, a runtime that dies; then quiet, and
// what must be true.
//
// It owns the order: everything at once for a while, an end of the deaths, an end of the clients, a
// time for the alarms to settle what is left without anybody asking, one last death, the checks.

import { setTimeout as delay } from "node:timers/promises";

import { eventually } from "../worker/support/gated.mjs";
import { startGate } from "../worker/support/gate.mjs";
import { checkEffects, checkReceipts, checkRecords, isQuiet } from "./check.mjs";
import { Clients } from "./clients.mjs";
import { Killer } from "./killer.mjs";
import { randomFor } from "./random.mjs";
import { LONGEST_LIFE_MS, POLICY, startWorld, VARS } from "./world.mjs";

const MOST_REPEATS = 400;
const SETTLE_MS = 60_000;

/**
 * Runs a campaign and returns its report; `findings` is empty if everything held.
 *
 * @param {object} options
 * @param {string|number} options.seed decides what is done to which key
 * @param {number} options.forMs how long faults happen
 * @param {number} [options.clients] how many work side by side
 */
export async function runCampaign({ seed, forMs, clients: count = 8 }) {
  const started = Date.now();
  const origin = await startWorld(randomFor(seed, "origin"));
  const gate = await startGate({ origin, policy: POLICY, vars: VARS });
  try {
    const clients = new Clients(gate, seed);
    const killer = new Killer(gate, origin, randomFor(seed, "killer"));
    const working = clients.run(count);
    const killing = killer.run();
    await Promise.race([delay(forMs), killing, working]);
    killer.stop();
    clients.stop();
    await killing;
    await working;
    const findings = await settle(gate, origin, clients);
    return report({ seed, started, origin, clients, killer, ...findings });
  } finally {
    await gate.dispose();
    await origin.close();
  }
}

/** Nobody asks any more: what is left is for the alarms. Then everything is looked at. */
async function settle(gate, origin, clients) {
  const findings = origin.errors.map((error) => `the origin itself failed: ${error}`);
  const forgotten = () =>
    gate.objects().filter(({ rows }) => rows > 0).length <= clientsThatStay(clients);
  await eventually(() => isQuiet(gate), { within: SETTLE_MS, every: 100 }).catch(() => {});
  const states = checkRecords(gate, origin.ledger, findings);
  await gate.kill();
  const acknowledged = [...clients.told.values()].filter(
    ({ kind, receipts }) => kind !== "brief" && receipts.length > 0,
  );
  // By key: what another command sets off late is not the effect of a repeat.
  const effectsOf = (key) =>
    origin.ledger.entries.filter((entry) => entry.idempotency_key === key).length;
  for (const { key } of acknowledged.slice(-MOST_REPEATS)) {
    const effects = effectsOf(key);
    const receipt = await clients.repeat(key);
    if (receipt === undefined) findings.push(`${key} was acknowledged and is not replayed`);
    else if (receipt.state !== "replayed") findings.push(`${key} was ${receipt.state} again`);
    if (effectsOf(key) !== effects) findings.push(`a repeat of ${key} at the end had an effect`);
  }
  checkEffects(origin.ledger, clients.told, findings);
  checkReceipts(origin.ledger, clients.told, findings);
  const within = LONGEST_LIFE_MS + 10_000;
  await eventually(forgotten, { within, every: 200 }).catch(() => {
    findings.push("objects of keys that are over were not emptied");
  });
  return { findings, states, repeated: Math.min(acknowledged.length, MOST_REPEATS) };
}

/** How many objects may have rows when all brief ones are forgotten. */
function clientsThatStay({ told }) {
  return [...told.values()].filter(({ kind }) => kind !== "brief").length;
}

function report({ seed, started, origin, clients, killer, findings, states, repeated }) {
  const ends = new Map();
  for (const { kind, end } of clients.told.values()) {
    ends.set(`${kind}: ${end}`, (ends.get(`${kind}: ${end}`) ?? 0) + 1);
  }
  const sum = (counts) => [...counts.values()].reduce((total, n) => total + n, 0);
  return {
    seed,
    seconds: Math.round((Date.now() - started) / 1000),
    kills: { total: sum(killer.kills), ...sorted(killer.kills) },
    longest_restart_ms: killer.longestMs,
    keys: clients.told.size,
    requests: sum(clients.answers),
    answers: sorted(clients.answers),
    outcomes: sorted(ends),
    records: sorted(states),
    effects: origin.ledger.count(),
    effects_by_later_attempts: origin.ledger.entries.filter(({ attempt }) => attempt > 1).length,
    too_late_commands_refused: origin.bank.refused,
    probes: origin.counts.probes,
    probes_spoilt: origin.counts.spoilt,
    receipts_repeated_after_the_last_kill: repeated,
    findings,
  };
}

const sorted = (counts) => Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));

