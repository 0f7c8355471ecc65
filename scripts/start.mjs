// The gate on this machine, with the demo origin behind it: set-up, build, both processes, and
// four commands to try. Ctrl-C, SIGTERM, and the end of either process end all of it.

import { watchFile } from "node:fs";
import { build } from "./build.mjs";
import { CONFIG, writeLocalConfig } from "./lib/config.mjs";
import { main } from "./lib/main.mjs";
import { inModules, inRoot } from "./lib/paths.mjs";
import { gatePort, mustBeFree } from "./lib/ports.mjs";
import { Failure, isEnding, start } from "./lib/proc.mjs";
import { say } from "./lib/progress.mjs";
import { setup } from "./setup.mjs";

const READY_MS = 60_000;

/** Starts a process, shows its output, and waits for the line that says that it is ready. */
async function startAndWait(name, args, ready, env = process.env) {
  const child = start(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let seen = "";
  await new Promise((resolve, reject) => {
    const fail = (why) => reject(new Failure(`${name} did not start: ${why}\n${seen}`));
    const timer = setTimeout(() => fail(`not ready after ${READY_MS / 1000} s`), READY_MS);
    child.once("close", (code) => {
      clearTimeout(timer);
      fail(`it ended with exit code ${code}`);
    });
    const take = (target) => (chunk) => {
      target.write(chunk);
      seen = (seen + chunk).slice(-20_000);
      if (!ready.test(seen)) return;
      clearTimeout(timer);
      resolve();
    };
    child.stdout.on("data", take(process.stdout));
    child.stderr.on("data", take(process.stderr));
  });
  return { ended: ended.then((code) => `${name} ended (exit code ${code})`) };
}

function wranglerArgs(port, config) {
  const folder = port === gatePort("8787") ? "state" : `state-${port}`;
  return [
    inModules("wrangler", "bin", "wrangler.js"),
    ...["dev", "--config", config, "--ip", "127.0.0.1", "--port", String(port)],
    ...["--persist-to", inRoot(".wrangler", folder)],
  ];
}

/** What to try: the same command again, another one under its key, and what the gate knows. */
export function tryLines(port, key) {
  const gate = `http://127.0.0.1:${port}`;
  const who = `-H 'Authorization: Bearer demo' -H 'Idempotency-Key: ${key}'`;
  const post = (amount) =>
    `curl -i ${gate}/v1/payments ${who} -H 'Content-Type: application/json' ` +
    `-d '{"amount":${amount},"currency":"EUR"}'`;
  return [
    ["a payment", post(1000)],
    ["the same again: replayed, not paid twice", post(1000)],
    ["another amount under the same key: refused", post(2000)],
    ["what the gate knows", `curl -i ${gate}/.well-known/idempotency/status/create_payment ${who}`],
  ];
}

function greet(port, origin) {
  const key = `order-${Date.now().toString(36)}`;
  const lines = tryLines(port, key).map(([what, command]) => `  # ${what}\n  ${command}\n`);
  process.stdout.write(
    `\noncegate is up: http://127.0.0.1:${port}, before the demo origin ${origin}/ledger\n` +
      `Try, in another terminal:\n\n${lines.join("\n")}\nCtrl-C ends both.\n\n`,
  );
}

await main(import.meta.url, async () => {
  const port = gatePort();
  const origin = `http://127.0.0.1:${port + 1}`;
  await mustBeFree(port, "the gate");
  await mustBeFree(port + 1, "the demo origin");
  await setup();
  await build();
  const config = inRoot(".wrangler", `start-${port}.json`);
  await writeLocalConfig(config, origin);
  const demo = await startAndWait(
    "the demo origin",
    [inRoot("demo", "origin.mjs"), "--port", String(port + 1)],
    /demo origin listening on /,
  );
  const quiet = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };
  const gate = await startAndWait("the gate", wranglerArgs(port, config), /Ready on http/, {
    ...process.env,
    ...quiet,
  });
  // wrangler watches the copy; an edit of the original goes there.
  watchFile(CONFIG, { interval: 500, persistent: false }, () => {
    writeLocalConfig(config, origin).catch((error) => say(`wrangler.toml: ${error.message}`));
  });
  greet(port, origin);
  const first = await Promise.race([demo.ended, gate.ended]);
  if (!isEnding()) throw new Failure(first);
});
