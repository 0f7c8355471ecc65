// wasm-bindgen and worker-build, at exactly the pinned versions, compiled into .tools/bin.
// A command that already answers with its pinned version is not compiled again.

import { existsSync, rmSync } from "node:fs";
import { inTools, outerPath } from "./paths.mjs";
import { WORKER_BUILD, wasmBindgen } from "./pins.mjs";
import { Failure, read, run } from "./proc.mjs";
import { step } from "./progress.mjs";

/** What set-up installs: crate, command, version. */
export const commands = () => [
  { crate: "wasm-bindgen-cli", command: "wasm-bindgen", version: wasmBindgen() },
  { crate: "worker-build", command: "worker-build", version: WORKER_BUILD },
];

export const toolPath = (command) => inTools("bin", command);

// Unoptimised they take half the time to compile and cost each build a second.
const PROFILE = {
  CARGO_PROFILE_RELEASE_OPT_LEVEL: "0",
  CARGO_PROFILE_RELEASE_LTO: "off",
  CARGO_PROFILE_RELEASE_DEBUG: "false",
  CARGO_PROFILE_RELEASE_CODEGEN_UNITS: "16",
};

function installEnv() {
  const env = {
    ...process.env,
    ...PROFILE,
    PATH: outerPath(),
    CARGO_TARGET_DIR: inTools("compile"),
    // Their dependencies are resolved anew: only versions that this compiler can build.
    CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS: "fallback",
  };
  for (const name of ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"]) {
    delete env[name];
  }
  return env;
}

async function isVersion({ command, version }) {
  if (!existsSync(toolPath(command))) return false;
  const told = await read(toolPath(command), ["--version"]);
  return told?.split(/\s+/).includes(version) ?? false;
}

async function install({ crate, version }) {
  await step(`${crate} ${version}, by cargo install (about 2 min)`, async (onLine) => {
    const args = ["install", `${crate}@=${version}`, "--root", inTools(), "--force"];
    const { code, output } = await run("cargo", args, {
      env: installEnv(),
      onLine,
      log: crate,
    });
    if (code === 0) return;
    const tail = output.trim().split("\n").slice(-12).join("\n");
    throw new Failure(
      code === 127
        ? "cargo is not here: install Rust (https://rustup.rs) and start again"
        : `cargo install ${crate} failed:\n${tail}\n(all of it: .tools/log/${crate}.log)`,
    );
  });
}

/** Compiles the tools that are missing or of another version. */
export async function ensureTools() {
  let worked = false;
  for (const tool of commands()) {
    if (await isVersion(tool)) continue;
    await install(tool);
    worked = true;
    if (!(await isVersion(tool))) {
      throw new Failure(`${toolPath(tool.command)} is not version ${tool.version}`);
    }
  }
  if (worked) rmSync(inTools("compile"), { recursive: true, force: true });
}
