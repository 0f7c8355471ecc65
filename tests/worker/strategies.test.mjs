// Every strategy in every state: what the same and another command get, and whether the origin runs.
//
// One operation for each combination of on_mismatch and on_repeat. A past is made for a fresh key
// (the first command, and what became of it), then one request arrives. The table below is what a
// person reads; the oracle is how often the origin ran a command of that key.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { eventually, statusOf } from "./support/gated.mjs";
import { policyOf, startGate } from "./support/gate.mjs";

/** The answer of the origin to the first command of each past. */
const PASTS = {
  in_progress: undefined,
  completed: 201,
  failed_replayable: 422,
  failed_retryable: 429,
  unknown: 500,
  expired: 201,
};

// What an arrival gets: status, Oncegate-State, what else. "ran" stands for: it ran, once more.
const RAN = "201 executed";
const REUSED = "409 refused key_reused";
const EXPIRED = "409 expired key_expired";
const PENDING = ["202 in-progress", "202 unknown"];
const UNAVAILABLE = ["503 in-progress in_progress", "503 unknown outcome_unknown"];

/** The same command, by on_repeat, in the order of PASTS. */
const SAME = {
  replay: [PENDING[0], "201 replayed", "422 replayed", RAN, PENDING[1], EXPIRED],
  refuse: [PENDING[0], "409 refused duplicate", RAN, RAN, PENDING[1], undefined],
  acknowledge: [UNAVAILABLE[0], "201 acknowledged", RAN, RAN, UNAVAILABLE[1], undefined],
};

/** Another command, by on_mismatch and on_repeat. */
const OTHER = {
  refuse: {
    replay: [REUSED, REUSED, REUSED, REUSED, REUSED, EXPIRED],
    refuse: [REUSED, REUSED, REUSED, REUSED, REUSED, undefined],
    acknowledge: [REUSED, REUSED, REUSED, REUSED, REUSED, undefined],
  },
  replay: {
    replay: ["202 in-progress !", "201 replayed !", "422 replayed !", REUSED, REUSED, EXPIRED],
    refuse: ["202 in-progress !", "409 refused duplicate !", REUSED, REUSED, REUSED, undefined],
    acknowledge: [`${UNAVAILABLE[0]} !`, "201 acknowledged !", REUSED, REUSED, REUSED, undefined],
  },
  ignore: { refuse: SAME.refuse, acknowledge: SAME.acknowledge },
  separate: {
    replay: [RAN, RAN, RAN, RAN, RAN, RAN],
    refuse: [RAN, RAN, RAN, RAN, RAN, undefined],
    acknowledge: [RAN, RAN, RAN, RAN, RAN, undefined],
  },
};

const FIRST = '{"amount":1}';
const ANOTHER = '{"amount":2}';
const rows = Object.entries(OTHER).flatMap(([mismatch, by]) =>
  Object.entries(by).map(([repeat, others]) => ({ mismatch, repeat, others })),
);

let origin;
let gate;
const held = new Map();
before(async () => {
  origin = await startOrigin({
    handler: async (request) => {
      const key = request.header("Idempotency-Key");
      const past = key.split(".")[1];
      const runs = runsOf(key);
      origin.ledger.record({ operation: "run", subject: key, amount: 1 }, {});
      const first = runs === 0;
      if (first && past === "in_progress") await held.get(key);
      const status = first ? (PASTS[past] ?? 201) : 201;
      return { status, body: JSON.stringify({ run: runs + 1 }) };
    },
  });
  const operations = rows.map(({ mismatch, repeat }) => ({
    name: `${mismatch}_${repeat}`,
    match: `POST /${mismatch}/${repeat}`,
    principal: "authorization",
    on_mismatch: mismatch,
    on_repeat: repeat,
    while_running: "pending",
    lease: "60s",
    origin_timeout: "50s",
    recovery: { then: "hold" },
  }));
  const short = operations.map((it) => ({
    ...it,
    name: `short_${it.name}`,
    match: it.match.replace("/", "/short/"),
    keep: { ...(it.on_repeat === "replay" ? {} : { reply: "none" }), for: "50ms", tombstone: "1h" },
  }));
  gate = await startGate({ origin, policy: policyOf([...operations, ...short]) });
});
after(async () => {
  await gate?.dispose();
  await origin?.close();
});

const runsOf = (key) => origin.ledger.entries.filter(({ subject }) => subject === key).length;

function send(path, key, body) {
  const headers = {
    authorization: "Bearer demo",
    "content-type": "application/json",
    "Idempotency-Key": key,
  };
  return gate.fetch(path, { method: "POST", headers, body });
}

/** An answer as the table writes it. */
async function words(response) {
  const { status, headers } = response;
  const text = await response.text();
  const problem = /problem/.test(headers.get("Content-Type") ?? "") ? JSON.parse(text).code : "";
  const replayed = headers.get("Idempotency-Replayed") === "true";
  const state = headers.get("Oncegate-State");
  assert.equal(replayed, state === "replayed", "the marker is on replays, and on nothing else");
  const mark = headers.get("Oncegate-Mismatch") === "true" ? "!" : "";
  return [status, state, problem, mark].filter((it) => it !== "").join(" ");
}

/** Makes the past of a key; what ends it once the test is over. */
async function past(path, key, name, state) {
  if (state === "in_progress") {
    const { promise, resolve } = Promise.withResolvers();
    held.set(key, promise);
    const first = send(path, key, FIRST);
    await eventually(() => runsOf(key) === 1);
    return async () => {
      resolve();
      await (await first).text();
    };
  }
  await (await send(path, key, FIRST)).text();
  if (state === "expired") {
    const at = () => statusOf(gate, key, { operation: name });
    await eventually(async () => (await (await at()).json()).state === "expired");
  }
  return async () => {};
}

let fresh = 0;
for (const { mismatch, repeat, others } of rows) {
  test(`on_mismatch ${mismatch}, on_repeat ${repeat}`, async () => {
    for (const [n, state] of Object.keys(PASTS).entries()) {
      for (const [body, expected] of [
        [FIRST, SAME[repeat][n]],
        [ANOTHER, others[n]],
      ]) {
        if (expected === undefined) continue;
        const short = state === "expired" ? "short" : "";
        const name = [short, mismatch, repeat].filter(Boolean).join("_");
        const path = `/${[short, mismatch, repeat].filter(Boolean).join("/")}`;
        const key = `k${(fresh += 1)}.${state}`;
        const end = await past(path, key, name, state);
        const before = runsOf(key);
        const what = `${body === FIRST ? "the same" : "another"} command, ${state}`;
        assert.equal(await words(await send(path, key, body)), expected, what);
        assert.equal(runsOf(key) - before, expected === RAN ? 1 : 0, `runs: ${what}`);
        await end();
      }
    }
  });
}
