// The documents say what is true: the walk-through of the README gives the answers that it shows,
// the Worker takes every example of the policy reference and refuses what is said to be refused,
// and no field of the policy is left out. (tests/documents.rs compares the table of codes.)

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { startOrigin } from "../../demo/origin.mjs";
import { readConfig } from "../../scripts/lib/config.mjs";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { blocks, coded, document, readToml, section, Shown } from "./support/documents.mjs";
import { startGate } from "./support/gate.mjs";

const LOCAL = "http://127.0.0.1:8787";
const GLOBALS = { origin: "https://origin.example" };
const readme = document("README.md");
const reference = document("docs/policy.md");

/** A gate with a policy, and what it says is wrong with it: `[{ place, message }]`. */
async function faultsOf(policy) {
  const gate = await startGate({ policy });
  try {
    const response = await gate.fetch("/.well-known/idempotency/status/no_such_operation");
    const { code } = await response.json();
    const faults = gate.logs
      .map(({ message }) => /^invalid policy: ([^ ]+?): (.*)$/s.exec(message))
      .filter((match) => match !== null)
      .map(([, place, message]) => ({ place, message }));
    assert.equal(code, faults.length > 0 ? "gate_unavailable" : "record_not_found");
    return faults;
  } finally {
    await gate.dispose();
  }
}

/** The fields of a fragment of a table. */
const fields = async (text) => (await readToml(`[vars.X]\n${text}\n`)).vars.X;

/** An operation with these fields; one policy can hold many. */
const example = (n, own) => ({
  name: `example_${n}`,
  match: `POST /examples/${n}`,
  principal: "authorization",
  ...own,
});

describe("the README", () => {
  /** Each command of the walk-through, with what is shown of its answer. */
  function steps() {
    const all = blocks(readme);
    return all.flatMap(({ info, text }, n) => {
      if (info !== "sh walkthrough") return [];
      const next = all[n + 1];
      return [{ command: text, shown: ["http", "text"].includes(next?.info) ? next : undefined }];
    });
  }

  /** Runs the commands in one shell, as a reader does, with curl as it comes. */
  async function run(commands, gate) {
    const home = await mkdtemp(join(tmpdir(), "oncegate-curl-"));
    await writeFile(join(home, ".curlrc"), 'silent\nshow-error\nnoproxy = "*"\n');
    const parts = commands.map((command, n) => `printf '\\n@@ %s\\n' ${n}\n${command}`);
    const script = `exec 2>&1\n${parts.join("\n")}\n`.replaceAll(LOCAL, gate.url);
    const child = spawn("sh", ["-c", script], { env: { ...process.env, CURL_HOME: home } });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await new Promise((resolve) => child.once("close", resolve));
    await rm(home, { recursive: true, force: true });
    return output.split(/\n@@ \d+\n/).slice(1);
  }

  test("its walk-through gives the answers that it shows", async () => {
    const { vars } = await readConfig();
    const { origin: _local, ...globals } = vars.ONCEGATE;
    await using origin = await startOrigin();
    await using gate = await startGate({ origin, policy: { ...vars, ONCEGATE: globals } });
    const all = steps();
    const outputs = await run(all.map(({ command }) => command), gate);
    assert.equal(outputs.length, all.length);
    assert.ok(all.filter(({ shown }) => shown).length >= 10, "what is shown is compared");
    const shown = new Shown();
    all.forEach(({ shown: block }, n) => {
      if (block === undefined) return assert.equal(outputs[n], "");
      const text = block.text.replaceAll(LOCAL, gate.url);
      if (block.info === "text") shown.lines(text, outputs[n]);
      else shown.answer(text, outputs[n]);
    });
  });

  test("the commands that it and CONTRIBUTING name exist", () => {
    const { scripts } = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
    const text = readme + document("CONTRIBUTING.md") + document("docs/operations.md");
    const code = [...blocks(text).map((block) => block.text), ...text.split("\n").flatMap(coded)];
    const command = /\bnpm (?:run )?([a-z:]+)\b/g;
    const named = code.flatMap((words) => [...words.matchAll(command)].map(([, name]) => name));
    for (const name of named) assert.ok(Object.hasOwn(scripts, name), `npm run ${name}`);
    for (const name of Object.keys(scripts)) assert.ok(named.includes(name), `${name} is told`);
  });

  test("every link of the documents leads somewhere", () => {
    const pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].concat(
      ["policy", "wire", "guarantees", "operations", "origin"].map((name) => `docs/${name}.md`),
    );
    const anchor = (heading) =>
      heading.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-");
    for (const page of pages) {
      for (const [, link] of document(page).matchAll(/\]\(([^)]+)\)/g)) {
        if (/^https?:/.test(link)) continue;
        const [path, part] = link.split("#");
        const target = path === "" ? page : join(dirname(page), path);
        assert.ok(existsSync(inRoot(target)), `${link} in ${page}`);
        if (part === undefined) continue;
        const headings = document(target).match(/^#+ .*$/gm).map((line) => line.replace(/^#+ /, ""));
        assert.ok(headings.some((it) => part.startsWith(anchor(it))), `${link} in ${page}`);
      }
    }
  });
});

describe("the policy reference", () => {
  const all = blocks(reference);
  const kind = (info) => all.filter((block) => block.info === info);

  test("its whole examples are valid policies", async () => {
    const whole = kind("toml").filter(({ text }) => text.includes("[vars."));
    assert.ok(whole.length >= 2);
    for (const { text } of whole) assert.deepEqual(await faultsOf((await readToml(text)).vars), []);
    const deploy = blocks(readme).find(({ text }) => text.includes("[env.production.vars."));
    const { vars } = (await readToml(deploy.text)).env.production;
    assert.deepEqual(await faultsOf({ ONCEGATE: GLOBALS, ...vars }), []);
  });

  test("its examples of fields are valid and show the fields of their heading", async () => {
    const policy = { ONCEGATE: { ...GLOBALS } };
    const operations = kind("toml").filter(({ text }) => !text.includes("[vars."));
    assert.ok(operations.length > 20);
    for (const [n, { text, heading }] of operations.entries()) {
      policy[`ONCEGATE_OP_${n}`] = example(n, await fields(text));
      for (const field of coded(heading)) {
        assert.match(text, new RegExp(`\\b${field.split(".").at(-1)}\\b`), heading);
      }
    }
    const globals = kind("toml globals");
    assert.ok(globals.length >= 5);
    for (const { text, heading } of globals) {
      Object.assign(policy.ONCEGATE, await fields(text));
      for (const field of coded(heading)) assert.ok(field in policy.ONCEGATE, heading);
    }
    assert.deepEqual(await faultsOf(policy), []);
  });

  /** The lines of the refused examples: `{ text, place, message }`. */
  const refused = (info) =>
    kind(info).flatMap(({ text }) =>
      text.split("\n").map((line) => {
        const [, toml, place, message] = /^(.*?) +# (\S+): (.*)$/.exec(line);
        return { toml: toml.replaceAll("; ", "\n"), place, message };
      }),
    );

  function assertRefused(faults, place, message) {
    const said = faults.some((it) => it.place === place && it.message.includes(message));
    assert.ok(said, `${place}: ${message}\nin ${JSON.stringify(faults, null, 1)}`);
  }

  test("what it says is refused is refused in those words", async () => {
    const policy = { ONCEGATE: { ...GLOBALS } };
    const wanted = [];
    for (const [n, { toml, place, message }] of refused("toml refused").entries()) {
      policy[`ONCEGATE_OP_${n}`] = example(n, await fields(toml));
      wanted.push({ place: `ONCEGATE_OP_${n}.${place}`, message });
    }
    for (const { toml, place, message } of refused("toml globals refused")) {
      Object.assign(policy.ONCEGATE, await fields(toml));
      wanted.push({ place, message });
    }
    const faults = await faultsOf(policy);
    assert.ok(wanted.length > 30);
    for (const { place, message } of wanted) assertRefused(faults, place, message);
    assert.equal(faults.length, wanted.length, JSON.stringify(faults, null, 1));
  });

  test("it describes every field that the Worker reads, and no other", async () => {
    const tables = ["while_running", "keep", "recovery", "command"];
    const nothing = Object.fromEntries(tables.map((name) => [name, { nothing: 1 }]));
    const faults = await faultsOf({
      ONCEGATE: { ...GLOBALS, nothing: 1 },
      ONCEGATE_OP_X: example(0, { nothing: 1, ...nothing }),
    });
    const known = faults.flatMap(({ place, message }) => {
      const [, names] = /unknown name; .*known are (.*)$/.exec(message);
      const table = place.replace("ONCEGATE_OP_X.", "").replace(/nothing$/, "");
      return [...names.matchAll(/"([^"]+)"/g)].map(([, name]) => table + name);
    });
    assert.equal(faults.length, tables.length + 2);
    const headings = reference.match(/^### .*$/gm).flatMap(coded);
    assert.deepEqual([...new Set(headings)].sort(), [...new Set(known)].sort());
  });
});
