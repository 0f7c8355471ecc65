// What a run measures and for how long, from the command line.

import { parseArgs } from "node:util";

import { Failure } from "../../scripts/lib/proc.mjs";

export const USAGE = `npm run bench -- [--quick] [--only requests|replies|hash] [--json FILE]`;

const FULL = { budgetMs: 55_000, rounds: 12, warmUpMs: 400, sliceMs: 250 };
const QUICK = { budgetMs: 9000, rounds: 4, warmUpMs: 100, sliceMs: 100 };
const FULL_REPLIES = { replyRounds: 8, replyBudgetMs: 25_000 };
const QUICK_REPLIES = { replyRounds: 2, replyBudgetMs: 4000 };
const FULL_HASH = { hashRounds: 30, batchMs: 30, hashBudgetMs: 5000 };
const QUICK_HASH = { hashRounds: 8, batchMs: 20, hashBudgetMs: 1000 };

/** `{ plan, requests, replies, hash, json }`, or a failure that says what is allowed. */
export function optionsOf(args) {
  let values;
  try {
    const text = { type: "string" };
    const options = { quick: { type: "boolean" }, only: text, json: text };
    values = parseArgs({ args, options }).values;
  } catch (error) {
    throw new Failure(`${error.message}\n${USAGE}`);
  }
  const { quick, only, json } = values;
  if (![undefined, "requests", "replies", "hash"].includes(only)) {
    throw new Failure(`--only takes requests, replies or hash\n${USAGE}`);
  }
  const wants = (part) => only === undefined || only === part;
  const plan = quick
    ? { ...QUICK, ...QUICK_REPLIES, ...QUICK_HASH }
    : { ...FULL, ...FULL_REPLIES, ...FULL_HASH };
  return {
    plan,
    requests: wants("requests"),
    replies: wants("replies"),
    hash: wants("hash"),
    json,
  };
}
