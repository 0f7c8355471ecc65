// What reaches the origin of a protected request, and what its first caller gets: the client's
// own bytes and headers, the gate's two marks, and nothing that belongs to one connection.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTHORISED } from "./support/demo.mjs";
import { gateForTests } from "./support/fixture.mjs";
import { executed, isMarked, pay, receiptOf, replayed, responseOf } from "./support/gated.mjs";
import { operation, payments, policyOf } from "./support/gate.mjs";
import { rawRequest } from "./support/http.mjs";

const FREE = [
  { name: "find_properties", match: ["PROPFIND /dav/{path}", "REPORT /dav/{path}"] },
  { name: "remove_mandate", match: "DELETE /v1/mandates/{id}" },
  { name: "count_view", match: "GET /t/view", principal: "none", key: ["query:id"] },
  { name: "put_file", match: "PUT /files/{name}", when_absent: "pass" },
];
const policy = {
  ...payments(),
  ...policyOf(FREE.map(({ name, ...fields }) => operation(name, fields))),
};
const script = {};
const it = gateForTests({ policy }, { handler: (request) => script[request.path]?.(request) });

/** A keyed raw request; the origin answers from `script`. */
function ask(method, target, key, { headers = [], body, answer } = {}) {
  script[target.split("?")[0]] = answer ?? (() => ({ status: 200, headers: [], body: "ok" }));
  const authorised = Object.entries(AUTHORISED);
  const keyed = key === undefined ? [] : [["Idempotency-Key", key]];
  const all = [...authorised, ...keyed, ...headers];
  return rawRequest(it.gate.url, { method, target, headers: all, body });
}

test("the client's own bytes, headers and spelling of the target arrive", async () => {
  const body = '{ "amount" : 1000,\r\n"currency":"EUR" }\n';
  const answer = await rawRequest(it.gate.url, {
    method: "POST",
    target: "/v1/%70ayments?a=%2f&b=1+2",
    headers: [
      ...Object.entries(AUTHORISED),
      ["Content-Type", "application/json; charset=UTF-8"],
      ["Idempotency-Key", '"spelt"'],
      ["X-Request-Id", "r-1"],
      ["Cookie", "a=1; b=2"],
      ["Accept-Language", "de"],
    ],
    body,
  });
  const seen = it.origin.requests.at(-1);
  assert.equal(seen.target, "/v1/%70ayments?a=%2f&b=1+2");
  assert.equal(seen.body.toString(), body);
  assert.equal(seen.header("Content-Length"), String(body.length));
  for (const [name, value] of [
    ["Authorization", "Bearer demo"],
    ["Content-Type", "application/json; charset=UTF-8"],
    ["Idempotency-Key", '"spelt"'],
    ["X-Request-Id", "r-1"],
    ["Cookie", "a=1; b=2"],
    ["Accept-Language", "de"],
  ]) {
    assert.equal(seen.header(name), value);
  }
  assert.match(answer.header("Oncegate-Reference"), /^og_[a-z2-7]{52}\.[0-9a-f]{16}$/);
});

test("reference and attempt reach the origin, and a client cannot forge them", async () => {
  const answer = await pay(it.gate, "marks", {
    "Oncegate-Reference": "og_forged",
    "Oncegate-Attempt": "99",
    "Oncegate-State": "executed",
    "Oncegate-Outcome": "completed",
  });
  await executed(answer);
  const seen = it.origin.requests.at(-1);
  const own = seen.headers.filter(([name]) => /^oncegate/i.test(name));
  assert.deepEqual(
    own.map(([name, value]) => [name.toLowerCase(), value]).sort(),
    [
      ["oncegate-attempt", "1"],
      ["oncegate-reference", answer.headers.get("Oncegate-Reference")],
    ],
  );
});

test("what belongs to one connection, and Expect, stay with it", async () => {
  const answer = await ask("DELETE", "/v1/mandates/hop", "hop", {
    headers: [
      ["Connection", "close, X-Once"],
      ["X-Once", "1"],
      ["Expect", "100-continue"],
      ["TE", "trailers"],
      ["Keep-Alive", "timeout=5"],
      ["Proxy-Authorization", "Basic x"],
    ],
  });
  assert.equal(answer.status, 200);
  const seen = it.origin.requests.at(-1);
  for (const name of ["X-Once", "Expect", "TE", "Keep-Alive", "Proxy-Authorization"]) {
    assert.equal(seen.header(name), null, name);
  }
});

test("a chunked body arrives whole", async () => {
  async function* body() {
    yield '{"amount":1000,';
    yield '"currency":"EUR"}';
  }
  const headers = [...Object.entries(AUTHORISED), ["Content-Type", "application/json"]];
  const answer = await rawRequest(it.gate.url, {
    method: "POST",
    target: "/v1/payments",
    headers: [...headers, ["Idempotency-Key", "chunked"]],
    body: body(),
  });
  assert.equal(answer.status, 201);
  assert.equal(it.origin.requests.at(-1).body.toString(), '{"amount":1000,"currency":"EUR"}');
});

test("PROPFIND and REPORT stay what they are, and are protected", async () => {
  for (const method of ["PROPFIND", "REPORT"]) {
    const request = { body: "<q/>", headers: [["Content-Type", "text/xml"]] };
    const answer = () => ({ status: 207, headers: [["Content-Type", "text/xml"]], body: "<r/>" });
    const first = await ask(method, `/dav/${method}`, "dav", { ...request, answer });
    const second = await ask(method, `/dav/${method}`, "dav", { ...request, answer });
    assert.equal(first.status, method === "PROPFIND" ? 207 : 409, "one operation, one key");
    const calls = it.origin.requests.filter(({ path }) => path === `/dav/${method}`);
    assert.equal(calls.length, method === "PROPFIND" ? 1 : 0);
    if (method === "REPORT") continue;
    assert.equal(calls[0].method, "PROPFIND");
    assert.equal(calls[0].body.toString(), "<q/>");
    assert.deepEqual([second.status, second.text()], [207, "<r/>"]);
    assert.equal(second.header("Idempotency-Replayed"), "true");
  }
});

test("a DELETE without a body is run once and replayed", async () => {
  const answer = () => ({ status: 204, headers: [], body: "" });
  const first = await ask("DELETE", "/v1/mandates/m1", "gone", { answer });
  const second = await ask("DELETE", "/v1/mandates/m1", "gone", { answer });
  assert.deepEqual([first.status, second.status], [204, 204]);
  assert.equal(second.header("Idempotency-Replayed"), "true");
  const calls = it.origin.requests.filter(({ path }) => path === "/v1/mandates/m1");
  assert.deepEqual(
    calls.map(({ method, body }) => [method, body.length]),
    [["DELETE", 0]],
  );
});

test("a protected GET is fetched past every cache, once per key", async () => {
  const answer = () => ({
    status: 200,
    headers: [
      ["Content-Type", "image/gif"],
      ["Cache-Control", "max-age=3600"],
    ],
    body: "GIF89a",
  });
  const view = (id, cb) => ask("GET", `/t/view?id=${id}&cb=${cb}`, undefined, { answer });
  const first = await view("imp_1", 1);
  const repeat = await view("imp_1", 1);
  await view("imp_2", 1);
  const calls = it.origin.requests.filter(({ path }) => path === "/t/view");
  assert.deepEqual(
    calls.map(({ query }) => query.get("id")),
    ["imp_1", "imp_2"],
  );
  assert.deepEqual([first.text(), repeat.text()], ["GIF89a", "GIF89a"]);
  assert.equal(repeat.header("Cache-Control"), "no-store");
});

test("two cookies reach the first caller as two lines, and are never replayed", async () => {
  const cookies = ["sid=1; Expires=Mon, 21 Oct 2030 07:28:00 GMT; Path=/", "csrf=2; HttpOnly"];
  const headers = [
    ["Content-Type", "text/plain"],
    ["Set-Cookie", cookies[0]],
    ["Set-Cookie", cookies[1]],
    ["WWW-Authenticate", "Bearer"],
    ["X-Request-Id", "r-1"],
    ["RateLimit-Remaining", "3"],
    ["Retry-After", "9"],
    ["Access-Control-Allow-Origin", "https://first.example"],
    ["Date", "Mon, 21 Oct 2019 07:28:00 GMT"],
    ["Server", "origin"],
  ];
  const answer = () => ({ status: 200, headers, body: "ok" });
  const first = await ask("DELETE", "/v1/mandates/cookies", "cookies", { answer });
  const lines = first.headers.filter(([name]) => name.toLowerCase() === "set-cookie");
  assert.deepEqual(
    lines.map(([, value]) => value),
    cookies,
  );
  for (const [name, value] of headers.filter(([name]) => name !== "Set-Cookie")) {
    assert.equal(first.header(name), value);
  }
  const repeat = await ask("DELETE", "/v1/mandates/cookies", "cookies", { answer });
  assert.equal(repeat.text(), "ok");
  for (const [name, value] of headers) {
    const kept = name === "Content-Type" ? value : null;
    const got = repeat.header(name);
    assert.ok(got === kept || (name === "Date" && got !== value), `${name}: ${got}`);
  }
});

test("a header that is not UTF-8 does no harm, and is not replayed", async () => {
  const headers = [
    ["Content-Type", "text/plain"],
    ["Link", "<caf\u00e9>"],
  ];
  const answer = () => ({ status: 200, headers, body: "ok" });
  const first = await ask("DELETE", "/v1/mandates/latin", "latin", { answer });
  assert.equal(first.status, 200);
  const repeat = await ask("DELETE", "/v1/mandates/latin", "latin", { answer });
  assert.deepEqual([repeat.status, repeat.header("Link")], [200, null]);
});

test("without its key a request passes, marked, where the policy says so", async () => {
  const put = (key) => ask("PUT", "/files/a", key, { body: "data" });
  for (const key of [undefined, ""]) {
    const answer = await put(key);
    assert.equal(answer.status, 200);
    assert.equal(answer.header("Oncegate-State"), "bypassed");
    assert.equal(answer.header("Oncegate-Reference"), null);
    assert.equal(it.origin.requests.at(-1).body.toString(), "data");
    assert.equal(it.origin.requests.at(-1).header("Oncegate-Reference"), null);
  }
  const receipt = await receiptOf(responseOf(await put("with-key")));
  const count = it.origin.requests.length;
  const repeat = responseOf(await put("with-key"));
  assert.equal(isMarked(repeat), true);
  await replayed(repeat, receipt);
  assert.equal(it.origin.requests.length, count);
});
