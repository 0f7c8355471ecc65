// Encryption of what is kept: nothing in the clear on disk, numbered secrets, and a secret that is
// missing, wrong or in another place, which may cost a reply and never the fact of its operation.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { postTo } from "./support/demo.mjs";
import { refusal, stateOf, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";
import { recordsOf } from "./support/records.mjs";
import { ask, isFirst, isReplay, runs, scripted } from "./support/replies.mjs";

const FIRST = "first-secret-of-the-deployment";
const SECOND = "second-secret-of-the-deployment";
const { answers, handler } = scripted();
let origin;
before(async () => {
  origin = await startOrigin({ handler });
});
after(() => origin.close());

/** The variables of a deployment with these secrets, by their number. */
function secrets(first, second) {
  const vars = {};
  if (first !== undefined) vars.ONCEGATE_RECORD_SECRET = first;
  if (second !== undefined) vars.ONCEGATE_RECORD_SECRET_2 = second;
  return { vars };
}

const policy = (encrypt) => policyOf([operation("create_payment", { keep: { encrypt } })]);

/** Runs work with a gate under these secrets; `again(first, second)` restarts it under others. */
async function withGate(initial, work, encrypt = true) {
  let gate = await startGate({ origin, policy: policy(encrypt), ...initial });
  const again = async (...numbered) => {
    gate = await gate.restart(secrets(...numbered));
    return gate;
  };
  try {
    return await work(gate, again);
  } finally {
    await gate.dispose();
  }
}

function reply(text) {
  const headers = [["Content-Type", "text/plain"], ["Location", "/p/1"]];
  return { status: 201, headers, body: text };
}

async function first(gate, key, text) {
  answers[key] = reply(text);
  isFirst(await ask(gate, key), 201);
}

async function isOpen(gate, key, text) {
  const answer = await ask(gate, key);
  isReplay(answer, 201);
  assert.deepEqual([answer.text(), answer.header("Location")], [text, "/p/1"]);
  assert.equal(runs(origin, key), 1);
}

/** The reply is not there, and that the operation is done is. */
async function isShut(gate, key) {
  const problem = await refusal(gate, await ask(gate, key), 409, "reply_unavailable");
  assert.deepEqual([problem.original_status, problem.location], [201, undefined]);
  assert.equal((await stateOf(gate, key)).state, "completed");
  assert.equal(runs(origin, key), 1);
}

/** The words that are somewhere in the files of a gate, in the clear. */
function wordsOnDisk(gate, words) {
  const files = readdirSync(gate.dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
  return words.filter((word) => files.some((bytes) => bytes.includes(word)));
}

const WORDS = {
  body: "words-of-the-body",
  header: "words-of-a-header",
  place: "words-of-the-place",
  cookie: "words-of-a-cookie",
  failure: "words-of-a-failure",
  request: "words-of-the-request",
  credential: "words-of-the-credential",
  key: "words-of-the-key",
};
const ON_DISK_UNSEALED = ["body", "header", "place", "failure"].map((name) => WORDS[name]);

/** A success and a failure whose every part is one of the words. */
async function speak(gate) {
  const headers = [
    ["Content-Type", `text/plain; note="${WORDS.header}"`],
    ["Location", `/${WORDS.place}`],
    ["Set-Cookie", `sid=${WORDS.cookie}`],
  ];
  const keys = { [WORDS.key]: [201, WORDS.body], [`${WORDS.key}-2`]: [422, WORDS.failure] };
  for (const [key, [status, text]] of Object.entries(keys)) {
    answers[key] = { status, headers, body: text };
    const said = { authorization: `Bearer ${WORDS.credential}`, "Idempotency-Key": key };
    const send = () => postTo(gate, "/v1/payments", { note: WORDS.request }, said);
    for (const state of ["executed", "replayed"]) {
      const answer = await send();
      assert.deepEqual([answer.status, answer.headers.get("Oncegate-State")], [status, state]);
      assert.equal(await answer.text(), text);
      assert.equal(answer.headers.get("Location"), `/${WORDS.place}`);
    }
  }
}

test("nothing of a reply, a request, a credential or a key is on disk in the clear", async () => {
  await withGate(secrets(FIRST), async (gate) => {
    await speak(gate);
    assert.deepEqual(wordsOnDisk(gate, [...Object.values(WORDS), FIRST]), []);
  });
});

test("unencrypted, the kept parts are there, and those that are never kept are not", async () => {
  const unsealed = async (gate) => {
    await speak(gate);
    assert.deepEqual(wordsOnDisk(gate, Object.values(WORDS)), ON_DISK_UNSEALED);
  };
  await withGate({}, unsealed, false);
});

test("a new secret takes over, and the old one still opens what it has sealed", async () => {
  await withGate(secrets(FIRST), async (gate, again) => {
    await first(gate, "old", "kept under the first");
    let now = await again(FIRST, SECOND);
    await isOpen(now, "old", "kept under the first");
    await first(now, "new", "kept under the second");
    const seals = recordsOf(now).map(({ record }) => record.state.completed.reply.seal);
    assert.deepEqual(seals.sort(), [1, 2]);
    now = await again(undefined, SECOND);
    await isShut(now, "old");
    await isOpen(now, "new", "kept under the second");
    await first(now, "newer", "the second alone will do");
    now = await again(FIRST, SECOND);
    await isOpen(now, "old", "kept under the first");
    await isOpen(now, "newer", "the second alone will do");
  });
});

test("a wrong secret opens nothing, runs nothing again, and harms no new command", async () => {
  await withGate(secrets(FIRST), async (gate, again) => {
    await first(gate, "wronged", "kept under the right one");
    let now = await again(`${FIRST} `);
    await isShut(now, "wronged");
    await first(now, "unharmed", "kept under the wrong one");
    await isOpen(now, "unharmed", "kept under the wrong one");
    now = await again(FIRST);
    await isOpen(now, "wronged", "kept under the right one");
    await isShut(now, "unharmed");
  });
});

for (const [how, secret] of [["no", undefined], ["an empty", ""]]) {
  test(`${how} secret: new commands are refused before the origin, old ones known`, async () => {
    await withGate(secrets(FIRST), async (gate, again) => {
      const key = `known-with-${how.replace(" ", "-")}-secret`;
      const fresh = `fresh-${key}`;
      await first(gate, key, "kept while there was one");
      let now = await again(secret);
      const stored = { objects: () => now.objects().filter(({ rows }) => rows > 0) };
      await withoutTrace(stored, origin, async () => {
        const refused = await ask(now, fresh);
        await refusal(now, refused, 503, "gate_unavailable");
        assert.equal(refused.header("Oncegate-Retry"), "same-key");
        assert.match(refused.header("Retry-After"), /^[1-9]/);
        await isShut(now, key);
      });
      now = await again(FIRST);
      await isOpen(now, key, "kept while there was one");
      await first(now, fresh, "the same key runs once there is a secret");
    });
  });
}

test("a policy that encrypts from now on still replays what was kept in the clear", async () => {
  let gate = await startGate({ origin, policy: policy(false) });
  try {
    await first(gate, "clear", "kept in the clear");
    gate = await gate.restart({ policy: policy(true), ...secrets(FIRST) });
    await isOpen(gate, "clear", "kept in the clear");
    await first(gate, "sealed-now", "kept sealed");
    gate = await gate.restart({ policy: policy(false) });
    await isOpen(gate, "clear", "kept in the clear");
    await isOpen(gate, "sealed-now", "kept sealed");
  } finally {
    await gate.dispose();
  }
});

/** Changes the stored value of each record, while no runtime has the files open. */
function rewrite(paths, change) {
  const stored = paths.map((path) => {
    const database = new DatabaseSync(path);
    const { value } = database.prepare("SELECT value FROM _cf_KV WHERE key = 'record/0'").get();
    return { database, value: Buffer.from(value) };
  });
  change(...stored.map(({ value }) => value));
  for (const { database, value } of stored) {
    database.prepare("UPDATE _cf_KV SET value = ? WHERE key = 'record/0'").run(value);
    database.close();
  }
}

/** The sealed text within a stored value: what stands behind the record's document. */
function sealedIn(value) {
  const start = value.indexOf('{"operation":');
  const end = start + value.readUInt32BE(start - 4);
  const document = JSON.parse(value.subarray(start, end).toString("utf8"));
  return value.subarray(end, end + document.state.completed.reply.body.whole);
}

async function changed(change, look) {
  let gate = await startGate({ origin, policy: policy(true), ...secrets(FIRST) });
  const { dir } = gate;
  try {
    await first(gate, `${change.name}-a`, "the reply of record a");
    await first(gate, `${change.name}-b`, "the reply of record b");
    const paths = gate.objects().filter(({ rows }) => rows > 0).map(({ path }) => path);
    assert.equal(paths.length, 2);
    await gate.dispose({ keep: true });
    rewrite(paths, (...values) => change(...values.map(sealedIn)));
    gate = await startGate({ origin, policy: policy(true), ...secrets(FIRST), dir });
    await look(gate);
  } finally {
    await gate.dispose();
    await rm(dir, { recursive: true, force: true });
  }
}

test("a sealed text that is moved to another record opens in neither", async () => {
  const moved = (a, b) => {
    assert.equal(a.length, b.length);
    const kept = Buffer.from(a);
    b.copy(a);
    kept.copy(b);
  };
  await changed(moved, async (gate) => {
    await isShut(gate, "moved-a");
    await isShut(gate, "moved-b");
  });
});

test("a sealed text of which one bit is changed does not open", async () => {
  const flipped = (a, b) => {
    a[a.length - 1] ^= 1;
    b[0] ^= 0x80;
  };
  await changed(flipped, async (gate) => {
    await isShut(gate, "flipped-a");
    await isShut(gate, "flipped-b");
  });
});

test("the same files unchanged open: it is those changes that shut them", async () => {
  const same = () => {};
  await changed(same, async (gate) => {
    await isOpen(gate, "same-a", "the reply of record a");
    await isOpen(gate, "same-b", "the reply of record b");
  });
});
