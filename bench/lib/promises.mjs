// What both sides must do before their speed means anything: one effect for many identical
// requests at once, the same answer for all of them, and no second command under one key.

import assert from "node:assert/strict";

const AT_ONCE = 20;

/** Fails if a side breaks a promise; `payment(key, extra)` makes its requests. */
export async function mustKeepPromises({ name, client, payment }, origin) {
  const before = await origin.effects();
  const same = payment(0, {});
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => client.send(same)));
  assert.equal((await origin.effects()) - before, 1, `${name}: identical requests, one effect`);
  for (const { status } of answers) assert.equal(status, 201, `${name}: one answer for all`);
  const replays = answers.filter(({ headers }) => headers["idempotency-replayed"] === "true");
  assert.equal(replays.length, AT_ONCE - 1, `${name}: all but the first are marked`);
  const other = await client.send(payment(0, { amount: 1 }));
  assert.equal(other.status, 409, `${name}: another command under the key`);
  assert.equal((await origin.effects()) - before, 1, `${name}: and it did not run`);
}
