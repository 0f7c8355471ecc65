// A real browser: a page of another origin calls through the gate and reads what it may.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { startOrigin } from "../../demo/origin.mjs";
import { chromium } from "../../scripts/lib/browser.mjs";
import { startBrowser } from "./support/browser.mjs";
import { effectsIn, PAYMENT } from "./support/demo.mjs";
import { operation, policyOf, startGate } from "./support/gate.mjs";

const path = await chromium();
const skip = path === undefined && "there is no Chromium here: set ONCEGATE_CHROMIUM to its path";

let origin;
let gate;
let browser;
const pages = [];

/** A server of one empty page: an origin of its own. */
async function startPage() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<!doctype html><title>a shop</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  pages.push(server);
  return `http://127.0.0.1:${server.address().port}`;
}

let shop;
let stranger;
before(async () => {
  if (skip) return;
  shop = await startPage();
  stranger = await startPage();
  origin = await startOrigin();
  const policy = policyOf([operation("create_payment")], { cors: { origins: [shop] } });
  gate = await startGate({ origin, policy });
  browser = await startBrowser(path);
});
after(async () => {
  await browser?.close();
  await gate?.dispose();
  await origin?.close();
  for (const server of pages) server.close();
});

/** What a page gets to see of a payment, or the name of its error. */
function payment(page, key, value = PAYMENT) {
  const init = {
    method: "POST",
    headers: {
      authorization: "Bearer demo",
      "content-type": "application/json",
      "Idempotency-Key": key,
    },
    body: JSON.stringify(value),
  };
  const url = `${gate.url}/v1/payments`;
  return page.run(`fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
    async (response) => ({
      status: response.status,
      body: await response.json(),
      ...Object.fromEntries(
        ["Idempotency-Replayed", "Oncegate-State", "Oncegate-Reference", "Retry-After", "Link"]
          .map((name) => [name, response.headers.get(name)])),
    }),
    (error) => error.name,
  )`);
}

test("a listed page calls, calls again and reads the marker", { skip }, async () => {
  const page = await browser.open(shop);
  const { effects } = await effectsIn(origin, async () => {
    const first = await payment(page, "browser");
    assert.equal(first.status, 201);
    assert.equal(first["Oncegate-State"], "executed");
    assert.equal(first["Idempotency-Replayed"], null);
    const second = await payment(page, "browser");
    assert.equal(second.status, 201);
    assert.equal(second["Idempotency-Replayed"], "true");
    assert.equal(second["Oncegate-State"], "replayed");
    assert.equal(second["Oncegate-Reference"], first["Oncegate-Reference"]);
    assert.deepEqual(second.body, first.body);
    const other = await payment(page, "browser", { amount: 1, currency: "EUR" });
    assert.equal(other.status, 409, "what the gate refuses is readable too");
    assert.equal(other.body.code, "key_reused");
    assert.match(other.Link, /describedby/);
  });
  assert.equal(effects.length, 1);
  const preflights = origin.requests.filter(({ method }) => method === "OPTIONS");
  assert.equal(preflights.length, 0, "preflights end at the gate");
});

test("a page that is not listed gets nothing, and nothing happens", { skip }, async () => {
  const page = await browser.open(stranger);
  const objects = gate.objects().length;
  const { effects } = await effectsIn(origin, async () => {
    assert.equal(await payment(page, "browser"), "TypeError", "not even the replay of another");
    assert.equal(await payment(page, "stranger"), "TypeError");
  });
  assert.equal(effects.length, 0);
  assert.equal(gate.objects().length, objects, "a preflight makes no record");
});
