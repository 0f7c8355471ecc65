// Answers that no origin should give, on the socket as they are: what they mean is what they
// certainly say and nothing more. The first caller gets them, or a problem; the record is there
// afterwards, nothing runs again, and the gate goes on.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { gateForTests } from "./support/fixture.mjs";
import { eventually, refusal, stateOf } from "./support/gated.mjs";
import { payments } from "./support/gate.mjs";
import { ask, bytesOf, fits, isFirst, isReplay } from "./support/replies.mjs";
import { MIB, runs, scripted } from "./support/replies.mjs";

const { answers, handler } = scripted();
const it = gateForTests({}, { handler });
const streaming = gateForTests({ policy: payments({ stream: true }) }, { handler });
const acknowledging = gateForTests({ policy: payments({ on_repeat: "acknowledge" }) }, { handler });

/** An answer as bytes: the lines of its head, and its body. */
function raw(lines, body = "") {
  const head = Buffer.from(`HTTP/1.1 ${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return Buffer.concat([head, Buffer.from(body)]);
}

/** The origin writes these bytes and closes; the first answer to a key. */
function sends(key, bytes, { gate } = it) {
  answers[key] = (response) => response.socket.end(bytes);
  return ask(gate, key);
}

afterEach(async () => {
  for (const { gate } of [it, streaming, acknowledging]) {
    const key = `well-${Math.random()}`;
    answers[key] = { status: 201, headers: [], body: "{}" };
    isFirst(await ask(gate, key), 201);
  }
});

async function isUnknown(key, bytes, at = it) {
  const { gate, origin } = at;
  await refusal(gate, await sends(key, bytes, at), 502, "origin_unreachable", "unknown");
  const again = await ask(gate, key);
  assert.deepEqual([again.status, again.json().state], [202, "unknown"]);
  assert.equal((await stateOf(gate, key)).state, "unknown");
  assert.equal(runs(origin, key), 1);
}

const TWO = "Content-Length: 2";
const SWITCH = ["Upgrade: websocket", "Connection: Upgrade"];

const NO_ANSWER = {
  "a status of 999": raw(["999 Odd", TWO], "{}"),
  "a status of 600": raw(["600 Odd", TWO], "{}"),
  "a status of 199 and no other": raw(["199 Odd", TWO], "{}"),
  "a status of two digits": raw(["20 Odd", TWO], "{}"),
  "a status of four digits": raw(["2010 Odd", TWO], "{}"),
  "a switch of protocols that nobody asked for": raw(["101 Switching Protocols", ...SWITCH]),
  "a 100 and no answer after it": raw(["100 Continue"]),
  "two lengths that contradict each other": raw(["201 Created", TWO, "Content-Length: 3"], "{}"),
  "a negative length": raw(["201 Created", "Content-Length: -1"], "{}"),
  "a length that is no number": raw(["201 Created", "Content-Length: two"], "{}"),
  "a header above the platform's limit": raw(
    ["201 Created", TWO, `Link: <${"a".repeat(600_000)}>`],
    "{}",
  ),
  "a header name with a space": raw(["201 Created", TWO, "Bad Name: x"], "{}"),
  "a NUL in a header": raw(["201 Created", TWO, "Location: /a\0b"], "{}"),
  "another protocol": Buffer.from("SSH-2.0-OpenSSH_9.9\r\n"),
  "a body and no head": Buffer.from('{"id":"pay_1"}'),
  "no byte at all": Buffer.alloc(0),
};

for (const [what, bytes] of Object.entries(NO_ANSWER)) {
  test(`${what}: no answer, and the outcome is unknown`, () =>
    isUnknown(what.replaceAll(" ", "-"), bytes));
}

test("the same where answers are streamed", async () => {
  const names = ["a status of 999", "two lengths that contradict each other", "no byte at all"];
  for (const name of names) {
    await isUnknown(`${name.replaceAll(" ", "-")}-streamed`, NO_ANSWER[name], streaming);
  }
});

for (const [word, state] of [["completed", "completed"], ["failed", "failed_replayable"]]) {
  test(`a status that no client can get, called ${word} by the origin, is that`, async () => {
    for (const status of [101, 600, 999]) {
      const key = `${word}-${status}`;
      const bytes = raw([`${status} Odd`, `Oncegate-Outcome: ${word}`, ...SWITCH]);
      const first = await sends(key, bytes);
      assert.deepEqual([first.status, first.header("Oncegate-State")], [502, "executed"]);
      const problem = await refusal(it.gate, await ask(it.gate, key), 409, "reply_unavailable");
      assert.equal(problem.original_status, status);
      assert.equal((await stateOf(it.gate, key)).state, state);
      assert.equal(runs(it.origin, key), 1);
    }
  });
}

test("a sender gets its acknowledgement even for a status that no client can get", async () => {
  const bytes = raw(["600 Odd", TWO, "Oncegate-Outcome: completed"], "{}");
  await sends("acknowledged", bytes, acknowledging);
  const again = await ask(acknowledging.gate, "acknowledged");
  assert.equal(again.header("Oncegate-State"), "acknowledged");
  assert.ok(again.status >= 200 && again.status < 300, String(again.status));
  assert.equal(runs(acknowledging.origin, "acknowledged"), 1);
});

const FAITHFUL = {
  "interim answers before the real one": [
    Buffer.concat([raw(["100 Continue"]), raw(["103 Early Hints", "Link: </a>"])]),
    raw(["201 Created", TWO], "{}"),
  ],
  "no reason": [raw(["201", TWO], "{}")],
  "the same length twice": [raw(["201 Created", TWO, TWO], "{}")],
  "more bytes than its length": [raw(["201 Created", TWO], "{}, and more")],
  "an end by closing": [Buffer.from("HTTP/1.0 201 Created\r\nContent-Type: text/plain\r\n\r\n{}")],
  "bare line feeds": [Buffer.from("HTTP/1.1 201 Created\nContent-Length: 2\n\n{}")],
};

for (const [what, parts] of Object.entries(FAITHFUL)) {
  test(`an answer with ${what} is that answer, first and again`, async () => {
    const key = what.replaceAll(" ", "-");
    const first = await sends(key, Buffer.concat(parts));
    isFirst(first, 201);
    const again = await ask(it.gate, key);
    isReplay(again, 201);
    for (const answer of [first, again]) fits(answer, Buffer.from("{}"));
    assert.equal(runs(it.origin, key), 1);
  });
}

const BODILESS = {
  "204-sized": raw(["204 No Content", "Content-Length: 5"], "hello"),
  "204-chunked": raw(["204 No Content", "Transfer-Encoding: chunked"], "5\r\nhello\r\n0\r\n\r\n"),
  "205-sized": raw(["205 Reset Content", "Content-Length: 5"], "hello"),
  "304-sized": raw(
    ["304 Not Modified", "Content-Length: 5", "Oncegate-Outcome: completed"],
    "hello",
  ),
};

for (const [how, bytes] of Object.entries(BODILESS)) {
  test(`a body on a ${how.replace("-", ", ")}, is left out, first and again`, async () => {
    for (const at of [it, streaming]) {
      const status = Number(how.slice(0, 3));
      const first = await sends(how, bytes, at);
      isFirst(first, status);
      const again = await eventually(async () => {
        const answer = await ask(at.gate, how);
        return answer.status !== 202 && answer;
      });
      isReplay(again, status);
      for (const answer of [first, again]) {
        assert.equal(answer.body.length, 0);
        assert.ok([null, "0"].includes(answer.header("Content-Length")));
      }
      assert.equal(runs(at.origin, how), 1);
    }
  });
}

const TORN = {
  "a length that never comes": raw(["201 Created", "Content-Length: 9007199254740991"], "{}"),
  "a chunk that is none": raw(["201 Created", "Transfer-Encoding: chunked"], "zz\r\n{}\r\n"),
  "chunks that contradict a length": raw(
    ["201 Created", "Content-Length: 9", "Transfer-Encoding: chunked"],
    "2\r\n{}\r\n0\r\n\r\n",
  ),
  "a chunk cut short": raw(["201 Created", "Transfer-Encoding: chunked"], "5\r\n{}"),
};

for (const [what, bytes] of Object.entries(TORN)) {
  test(`${what}: done, and its reply lost`, async () => {
    const key = what.replaceAll(" ", "-");
    const first = await sends(key, bytes);
    await refusal(it.gate, first, 502, "reply_unavailable", "executed");
    const problem = await refusal(it.gate, await ask(it.gate, key), 409, "reply_unavailable");
    assert.equal(problem.original_status, 201);
    assert.equal((await stateOf(it.gate, key)).state, "completed");
    assert.equal(runs(it.origin, key), 1);
  });
}

test("header values of 200 KB are passed on, kept and replayed", async () => {
  const link = `<${"a".repeat(200_000)}>; rel="\\"self\\""`;
  const first = await sends("wide", raw(["201 Created", TWO, `Link: ${link}`], "{}"));
  isFirst(first, 201);
  const again = await ask(it.gate, "wide");
  isReplay(again, 201);
  for (const answer of [first, again]) assert.equal(answer.header("Link"), link);
});

test("two thousand headers are passed on", async () => {
  const many = Array.from({ length: 2000 }, (_, n) => `X-Number-${n}: ${n}`);
  const first = await sends("many", raw(["201 Created", TWO, ...many], "{}"));
  isFirst(first, 201);
  assert.equal(first.header("X-Number-1999"), "1999");
  isReplay(await ask(it.gate, "many"), 201);
});

test("a header value that is not UTF-8 is left out of replays, others are not", async () => {
  const headers = ["Link: <caf\xe9>", "Location: /caf\xc3\xa9", "ETag: \"e\""];
  const first = await sends("latin", raw(["201 Created", TWO, ...headers], "{}"));
  isFirst(first, 201);
  const again = await ask(it.gate, "latin");
  isReplay(again, 201);
  assert.equal(again.header("Link"), null);
  assert.deepEqual([again.header("Location"), again.header("ETag")], ["/caf\xc3\xa9", '"e"']);
});

test("what an origin says in the gate's name does not reach the client", async () => {
  const words = ["Oncegate-State: replayed", "Oncegate-Reference: og_x", "Oncegate-Recorded: now"];
  const first = await sends("spoofed", raw(["201 Created", TWO, ...words], "{}"));
  isFirst(first, 201);
  assert.match(first.header("Oncegate-Reference"), /^og_[a-z2-7]{52}\.[0-9a-f]{16}$/);
  assert.equal(first.header("Oncegate-Recorded"), null);
  const again = await ask(it.gate, "spoofed");
  assert.equal(again.header("Oncegate-Reference"), first.header("Oncegate-Reference"));
});

for (const [how, at] of Object.entries({ buffered: it, streamed: streaming })) {
  test(`${how}: a body without end is passed on as long as the client reads, once`, async () => {
    const key = `endless-${how}`;
    const piece = bytesOf(MIB);
    const { promise: left, resolve } = Promise.withResolvers();
    answers[key] = (response) => {
      response.writeHead(200, { "Content-Type": "application/octet-stream" });
      response.on("close", resolve);
      const more = () => response.write(piece, (error) => error || more());
      more();
    };
    const leave = new AbortController();
    const headers = { authorization: "Bearer demo", "idempotency-key": key };
    const init = { method: "POST", headers, body: "{}", signal: leave.signal };
    const first = await at.gate.fetch("/v1/payments", init);
    assert.equal(first.status, 200);
    const reader = first.body.getReader();
    for (let read = 0; read < 12 * MIB; read += (await reader.read()).value.length);
    leave.abort();
    await left;
    const status = await eventually(async () => {
      const now = await stateOf(at.gate, key);
      return now.state !== "in_progress" && now;
    });
    assert.equal(status.state, "completed");
    const type = { "Content-Type": "text/plain;charset=UTF-8" };
    const again = await ask(at.gate, key, type, { body: "{}" });
    await refusal(at.gate, again, 409, "reply_unavailable");
    assert.equal(runs(at.origin, key), 1);
  });
}
