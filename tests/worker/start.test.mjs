// `npm start` as a user runs it: it comes up, it passes requests to the demo origin on the port
// after its own, and no process is left when it ends, however it is told to.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inRoot } from "../../scripts/lib/paths.mjs";

const PATIENCE_MS = 60_000;

/** Two neighbouring ports that are free now. */
async function freePorts() {
  for (;;) {
    const low = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => low.once("listening", resolve));
    const { port } = low.address();
    const high = createServer();
    const free = await new Promise((resolve) => {
      high.once("error", () => resolve(false));
      high.listen(port + 1, "127.0.0.1", () => resolve(true));
    });
    low.close();
    high.close();
    if (free && port < 65_000) return port;
  }
}

/** The processes whose environment carries this mark: everything that one start started. */
function marked(mark) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      if (readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ")) return false;
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark);
    } catch {
      return false;
    }
  });
}

/** Starts the gate in a process group of its own and waits until it says that it is up. */
async function npmStart() {
  const port = await freePorts();
  const mark = `ONCEGATE_START_TEST=${process.pid}-${port}`;
  const [name, value] = mark.split("=");
  const child = spawn("npm", ["start"], {
    cwd: inRoot(),
    detached: true,
    env: { ...process.env, PORT: String(port), [name]: value },
  });
  let output = "";
  const ended = new Promise((resolve) => child.once("close", resolve));
  const up = new Promise((resolve, reject) => {
    const take = (chunk) => {
      output += chunk;
      if (output.includes("Ctrl-C ends both.")) resolve();
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    ended.then((code) => reject(new Error(`npm start ended with ${code}:\n${output}`)));
  });
  await up;
  const gone = async () => {
    const deadline = Date.now() + PATIENCE_MS;
    while (marked(mark).length > 0 && Date.now() < deadline) await delay(50);
    return marked(mark);
  };
  return { child, port, ended, gone, output: () => output, pids: () => marked(mark) };
}

async function forceEnd({ pids }) {
  for (const pid of pids()) process.kill(Number(pid), "SIGKILL");
}

test("npm start serves the demo origin through the gate and prints commands to try", async (t) => {
  const gate = await npmStart();
  t.after(() => forceEnd(gate));
  assert.equal(gate.output().match(/^ {2}curl -i http:\/\/127\.0\.0\.1:\d+\//gm)?.length, 4);
  const ledger = await fetch(`http://127.0.0.1:${gate.port}/ledger.json`);
  assert.equal(ledger.status, 200);
  const direct = await fetch(`http://127.0.0.1:${gate.port + 1}/ledger.json`);
  assert.deepEqual(await ledger.json(), await direct.json());
  gate.child.kill("SIGTERM");
  await gate.ended;
  assert.deepEqual(await gate.gone(), []);
});

test("Ctrl-C ends everything that npm start started", async (t) => {
  const gate = await npmStart();
  t.after(() => forceEnd(gate));
  assert.ok(gate.pids().length >= 4, "npm, the script, the origin and workerd");
  process.kill(-gate.child.pid, "SIGINT");
  await gate.ended;
  assert.deepEqual(await gate.gone(), []);
});

test("the gate does not outlive an npm that was killed", async (t) => {
  const gate = await npmStart();
  t.after(() => forceEnd(gate));
  gate.child.kill("SIGKILL");
  assert.deepEqual(await gate.gone(), []);
});
