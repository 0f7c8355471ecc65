// The Worker: Rust to wasm with panic = unwind, wasm-bindgen's glue, wasm-opt, one JavaScript
// module. `build/` is what is deployed; `--test-switches` makes `build-test/`, the same Worker
// with the faults that tests trigger. Does nothing where neither inputs nor outputs changed.

import { existsSync, rmSync } from "node:fs";
import { withLock } from "./lib/lock.mjs";
import { main } from "./lib/main.mjs";
import { inModules, inRoot, outerPath } from "./lib/paths.mjs";
import { Failure, run } from "./lib/proc.mjs";
import { say, step } from "./lib/progress.mjs";
import { dropStamp, hashOf, readStamp, writeStamp } from "./lib/stamp.mjs";
import { commands, toolPath } from "./lib/tools.mjs";
import { setup } from "./setup.mjs";

const INPUTS = ["src", "Cargo.toml", "Cargo.lock", "build.rs", ".cargo", "scripts/build.mjs"];
const OUTPUTS = ["index.js", "index_bg.wasm"];

/** The two builds: where each goes and what it asks of cargo. */
export const VARIANTS = {
  release: { out: "build", features: [] },
  test: { out: "build-test", features: ["test-switches"] },
};

const inputsOf = ({ features }, { release, sysroot }) =>
  hashOf([features, release, sysroot, commands()], [...INPUTS, "package-lock.json"]);

const outputsOf = ({ out }) => hashOf([], OUTPUTS.map((name) => `${out}/${name}`));

function fresh(variant, toolchain) {
  const stamp = readStamp(variant.out);
  return (
    OUTPUTS.every((name) => existsSync(inRoot(variant.out, name))) &&
    stamp?.inputs === inputsOf(variant, toolchain) &&
    stamp.outputs === outputsOf(variant)
  );
}

/** The environment in which worker-build finds only what set-up pinned. */
export function buildEnv(toolchain) {
  const env = {
    ...process.env,
    ...toolchain.env,
    PATH: [toolchain.shims, outerPath()].join(":"),
    // Apart from the host's: another compiler and other flags would rebuild everything each time.
    CARGO_TARGET_DIR: inRoot("target", "wasm"),
    // The standard library is built with the Worker: in its small form it is 20 KiB less under gzip.
    CARGO_UNSTABLE_BUILD_STD_FEATURES: "optimize_for_size",
    WASM_BINDGEN_BIN: toolPath("wasm-bindgen"),
    WASM_OPT_BIN: inModules("binaryen", "bin", "wasm-opt"),
    ESBUILD_BIN: inModules("esbuild", "bin", "esbuild"),
  };
  // These would swap the pinned compiler for another one, or change its output.
  const foreign = ["RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS"];
  for (const name of [...foreign, "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"]) {
    delete env[name];
  }
  return env;
}

/** Drops the names of functions, a tenth of the size: a panic still says its file and line. */
async function dropNames(wasm) {
  const args = ["--all-features", "--strip-debug", wasm, "-o", wasm];
  const { code, output } = await run(inModules("binaryen", "bin", "wasm-opt"), args, {});
  if (code !== 0) throw new Failure(`wasm-opt cannot drop the names:\n${output.trim()}`);
}

async function compile(variant, toolchain) {
  const { out, features } = variant;
  const args = ["--release", "--panic-unwind", "--out-dir", out, "--locked"];
  if (features.length > 0) args.push("--features", features.join(","));
  const inputs = inputsOf(variant, toolchain);
  dropStamp(out);
  rmSync(inRoot(out, ".tmp"), { recursive: true, force: true }); // of a build that was killed
  await step(`the Worker in ${out}/ (first time about 2 min)`, async (onLine) => {
    const { code, output } = await run(toolPath("worker-build"), args, {
      env: buildEnv(toolchain),
      log: out,
      onLine,
    });
    if (code !== 0) throw new Failure(`the Worker does not build:\n${output.trim()}`);
  });
  await dropNames(inRoot(out, "index_bg.wasm"));
  writeStamp(out, { inputs, outputs: outputsOf(variant) });
}

/** Builds one variant where needed and returns its folder. */
export async function build(name = "release") {
  const variant = VARIANTS[name];
  const toolchain = await setup();
  if (fresh(variant, toolchain)) {
    say(`the Worker in ${variant.out}/ is up to date`);
  } else {
    await withLock("build", async () => {
      if (!fresh(variant, toolchain)) await compile(variant, toolchain);
    });
  }
  return inRoot(variant.out);
}

await main(import.meta.url, async (args) => {
  const unknown = args.filter((arg) => arg !== "--test-switches");
  if (unknown.length > 0) throw new Failure(`unknown argument: ${unknown.join(" ")}`);
  await build(args.length > 0 ? "test" : "release");
});
