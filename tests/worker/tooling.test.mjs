// What the project is built with: exact versions that agree with each other, a lockfile without
// hosts, one description of the Worker, and commands that say what is wrong.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { PLACEHOLDER } from "../../scripts/deploy.mjs";
import { CONFIG, readConfig } from "../../scripts/lib/config.mjs";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { lockedCrate, WASM_BINDGEN, WORKER_BUILD } from "../../scripts/lib/pins.mjs";
import { commands, toolPath } from "../../scripts/lib/tools.mjs";

const EXACT = /^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/;
const json = (name) => JSON.parse(readFileSync(inRoot(name), "utf8"));
const text = (name) => (existsSync(inRoot(name)) ? readFileSync(inRoot(name), "utf8") : "");

/** Runs a command to its end: { code, output }. */
function run(command, args, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: inRoot(), env: { ...process.env, ...env } });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += chunk;
      });
    }
    child.on("close", (code) => resolve({ code, output }));
  });
}

const script = (args, env) => run(process.execPath, [inRoot("scripts/run.mjs"), ...args], env);

test("package.json pins every package exactly", () => {
  const { dependencies = {}, devDependencies } = json("package.json");
  const versions = Object.entries({ ...dependencies, ...devDependencies });
  assert.ok(versions.length > 0);
  for (const [name, version] of versions) assert.match(version, EXACT, name);
});

test("the lockfile names versions and checksums but no host", () => {
  const packages = Object.entries(json("package-lock.json").packages).filter(([path]) => path);
  assert.ok(packages.length > 20);
  for (const [path, entry] of packages) {
    assert.equal(entry.resolved, undefined, path);
    assert.match(entry.integrity, /^sha512-/, path);
  }
});

test("one Miniflare and one workerd serve wrangler and the tests", () => {
  const { packages } = json("package-lock.json");
  const paths = Object.keys(packages);
  const of = (name) => paths.filter((path) => path.endsWith(`node_modules/${name}`));
  assert.deepEqual(of("miniflare"), ["node_modules/miniflare"]);
  assert.deepEqual(of("workerd"), ["node_modules/workerd"]);
  const wrangler = packages["node_modules/wrangler"].dependencies;
  assert.equal(json("package.json").devDependencies.miniflare, wrangler.miniflare);
  assert.equal(packages["node_modules/workerd"].version, wrangler.workerd);
  assert.equal(json("package.json").devDependencies.esbuild, wrangler.esbuild);
});

test("this runs on the Node that package.json pins", () => {
  assert.equal(process.version, `v${json("package.json").devDependencies.node}`);
});

test("wasm-bindgen and worker-build are the versions of their crates", async () => {
  assert.equal(lockedCrate("wasm-bindgen"), WASM_BINDGEN);
  assert.equal(lockedCrate("worker"), WORKER_BUILD);
  for (const { command, version } of commands()) {
    const { code, output } = await run(toolPath(command), ["--version"]);
    assert.equal(code, 0, output);
    assert.ok(output.trim().split(/\s+/).includes(version), `${command} ${output}`);
  }
});

test("cargo works where rustup cannot download: no file asks for a channel or a target", () => {
  for (const name of ["rust-toolchain.toml", "rust-toolchain"]) {
    assert.doesNotMatch(text(name), /^\s*(channel|targets|path)\s*=/m, name);
  }
});

test("the release profile keeps the section that tells wasm-bindgen the features in use", () => {
  assert.doesNotMatch(text("Cargo.toml"), /^\s*strip\s*=\s*(true|"symbols")/m);
});

test("an object stays alive while its call to the origin is open", async () => {
  assert.ok((await readConfig()).compatibility_date >= "2026-10-01");
});

test("production has the bindings of this machine and an origin of its own", async () => {
  const { env, vars, durable_objects: objects, migrations } = await readConfig();
  assert.deepEqual(env.production.durable_objects, objects);
  assert.deepEqual(migrations[0].new_sqlite_classes, ["Gate"]);
  assert.match(vars.ONCEGATE.origin, /^http:\/\/127\.0\.0\.1:/);
  assert.match(env.production.vars.ONCEGATE.origin, /^(https:\/\/|service:)/);
});

test("every variable of the policy fits into a Worker variable", async () => {
  const { vars, env } = await readConfig();
  for (const [name, value] of [...Object.entries(vars), ...Object.entries(env.production.vars)]) {
    assert.ok(Buffer.byteLength(JSON.stringify(value)) <= 5000, name);
  }
});

test("set-up and build do nothing a second time", async () => {
  const setup = await script(["setup"]);
  assert.equal(setup.code, 0, setup.output);
  assert.match(setup.output, /^oncegate: ready \(.*\)\n$/);
  const build = await script(["build"]);
  assert.equal(build.code, 0, build.output);
  assert.equal(build.output, "oncegate: the Worker in build/ is up to date\n");
});

test("wrangler takes the configuration and builds the Worker by itself", async () => {
  for (const environment of ["", "production"]) {
    const args = ["deploy", "--dry-run", "--env", environment, "--config", CONFIG];
    const { code, output } = await run(
      process.execPath,
      [inRoot("node_modules/wrangler/bin/wrangler.js"), ...args],
      { WRANGLER_SEND_METRICS: "false", NO_COLOR: "1" },
    );
    assert.equal(code, 0, output);
    assert.match(output, /the Worker in build\/ is up to date/);
    assert.match(output, /env\.GATE \(Gate\)/);
  }
});

test("an unknown command and an unknown argument are told", async () => {
  for (const [args, told] of [
    [["launch"], /no such command: launch/],
    [["build", "--fast"], /unknown argument: --fast/],
    [["test", "wroker"], /unknown group wroker: host or worker/],
    [["test", "worker", "no-such-file"], /no test file below tests\/worker matches "no-such-file"/],
  ]) {
    const { code, output } = await script(args);
    assert.equal(code, 1, output);
    assert.match(output, told);
  }
});

test("a start on a bad or taken port says so and starts nothing", async () => {
  const bad = await script(["start"], { PORT: "eighty" });
  assert.equal(bad.code, 1);
  assert.match(bad.output, /PORT must be a number from 1 to 65534, not eighty/);
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  const taken = await script(["start"], { PORT: String(port) });
  server.close();
  assert.equal(taken.code, 1);
  assert.match(taken.output, new RegExp(`^oncegate: port ${port}, for the gate, is taken: `));
});

test("a deploy to the placeholder origin is refused before wrangler is asked", async (t) => {
  const { env } = await readConfig();
  if (env.production.vars.ONCEGATE.origin !== PLACEHOLDER) {
    t.skip("the origin of production is written");
    return;
  }
  const { code, output } = await script(["deploy"]);
  assert.equal(code, 1);
  assert.match(output, /is still https:\/\/api\.example\.com: write your own/);
});
