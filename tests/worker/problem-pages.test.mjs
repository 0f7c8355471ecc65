// The page behind the `type` of a problem: for people, in plain HTML that runs and loads nothing,
// and for programs that ask for JSON.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { gateForTests } from "./support/fixture.mjs";
import { pay, refusal, withoutTrace } from "./support/gated.mjs";
import { operation, policyOf } from "./support/gate.mjs";

const PROBLEMS = "/.well-known/idempotency/problems";
const it = gateForTests({
  policy: policyOf([
    operation("create_payment"),
    operation("create_refund", { statuses: { key_reused: 422 } }),
  ]),
});

const page = (code, headers = { accept: "text/html,*/*;q=0.8" }) =>
  it.gate.fetch(`${PROBLEMS}/${code}`, { headers });

async function codes() {
  const document = await (await it.gate.fetch("/.well-known/idempotency")).json();
  return Object.entries(document.problems);
}

test("every problem has a page that says what it means and what to do", async () => {
  const { gate, origin } = it;
  const listed = await codes();
  assert.equal(listed.length, 20);
  await withoutTrace(gate, origin, async () => {
    for (const [code, { title, status, retry }] of listed) {
      const answer = await page(code);
      assert.equal(answer.status, 200, code);
      assert.equal(answer.headers.get("Content-Type"), "text/html; charset=utf-8");
      assert.equal(answer.headers.get("Cache-Control"), "public, max-age=300");
      const html = await answer.text();
      assert.match(html, /^<!doctype html><html lang=en>/);
      assert.equal(html.split(`<h1>${title}</h1>`).length, 2, code);
      assert.ok(html.includes(`<code>${code}</code>`), code);
      assert.ok(html.includes(`Status: ${status}`), code);
      assert.ok(html.includes(`Oncegate-Retry: ${retry}`), code);
    }
  });
});

test("the type of a problem leads there", async () => {
  const { gate } = it;
  await pay(gate, "type");
  const answer = await pay(gate, "type", {}, { amount: 2, currency: "EUR" });
  const problem = await refusal(gate, answer, 409, "key_reused");
  const html = await (await fetch(problem.type)).text();
  assert.ok(html.includes(problem.title));
  assert.ok(html.includes("Status: 409, for create_refund 422."));
});

test("a page runs nothing, loads nothing and is framed nowhere", async () => {
  for (const path of [PROBLEMS, `${PROBLEMS}/key_missing`]) {
    const answer = await it.gate.fetch(path);
    assert.equal(answer.headers.get("X-Content-Type-Options"), "nosniff");
    const csp = answer.headers.get("Content-Security-Policy").split(/; */);
    const [style, ...rest] = csp.filter((it) => !it.endsWith(" 'none'"));
    assert.deepEqual(rest, []);
    for (const each of ["default-src", "base-uri", "form-action", "frame-ancestors"]) {
      assert.ok(csp.includes(`${each} 'none'`), each);
    }
    const html = await answer.text();
    const [, css] = /<style>([^<]*)<\/style>/.exec(html);
    const digest = createHash("sha256").update(css).digest("base64");
    assert.equal(style, `style-src 'sha256-${digest}'`);
    assert.doesNotMatch(html, /<script|<link|<img|<iframe|\son\w+=|javascript:|https?:/i);
  }
});

test("programs get the same as JSON, where they ask for it", async () => {
  for (const [code, facts] of await codes()) {
    const answer = await page(code, { accept: "application/json" });
    assert.equal(answer.headers.get("Content-Type"), "application/json");
    assert.equal(answer.headers.get("Vary"), "Accept");
    assert.deepEqual(await answer.json(), facts);
  }
  for (const accept of ["*/*", "text/html, application/json"]) {
    const answer = await page("duplicate", { accept });
    assert.match(answer.headers.get("Content-Type"), /^text\/html/);
    assert.equal(answer.headers.get("Vary"), "Accept");
  }
});

test("the list has a link to each page", async () => {
  const html = await (await it.gate.fetch(PROBLEMS)).text();
  const links = [...html.matchAll(/<li><a href="([^"]+)">([^<]+)<\/a>/g)];
  const listed = (await codes()).map(([code]) => [`${PROBLEMS}/${code}`, code]);
  assert.deepEqual(links.map(([, href, code]) => [href, code]).sort(), listed.sort());
});

test("what is no code has no page, and nothing of it is echoed", async () => {
  const { gate } = it;
  for (const code of ["nothing", "KEY_REUSED", "key_reused/", "%3Cscript%3E", "../status"]) {
    const answer = await gate.fetch(`${PROBLEMS}/${code}`);
    const text = await answer.clone().text();
    await refusal(gate, answer, 404, "record_not_found");
    assert.doesNotMatch(text, /script|nothing/i);
  }
});
