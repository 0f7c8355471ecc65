// The one place for versions that neither Cargo.lock nor package-lock.json fixes.
// Exact on purpose: the Worker is built with panic = unwind, which compiles the standard library
// too, and wasm-bindgen's command must equal its crate.

import { readFileSync } from "node:fs";
import { inRoot } from "./paths.mjs";

export const TARGET = "wasm32-unknown-unknown";

/** The toolchain of the Worker where rustup can provide it. */
export const RUST = "1.95.0";

/** The command that drives cargo, wasm-bindgen, wasm-opt and esbuild. */
export const WORKER_BUILD = "0.8.7";

/** wasm-bindgen's command, checked against Cargo.lock by `wasmBindgen()`. */
export const WASM_BINDGEN = "0.2.129";

/** Debian packages that hold a compiler, its library's source and a wasm linker. */
export const DEBIAN_PACKAGES = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/** The compiler series that those packages were tested with. */
export const DEBIAN_RUST = "1.96";

/** The wasm linker of `lld-22`. */
export const DEBIAN_LINKER = "wasm-ld-22";

/** The version of a crate in Cargo.lock, or undefined. */
export function lockedCrate(name, lock = readFileSync(inRoot("Cargo.lock"), "utf8")) {
  const entry = lock
    .split("[[package]]")
    .find((block) => block.includes(`\nname = "${name}"\n`));
  return entry?.match(/\nversion = "([^"]+)"/)?.[1];
}

/** The wasm-bindgen version to install; throws where Cargo.lock and the pin disagree. */
export function wasmBindgen() {
  const locked = lockedCrate("wasm-bindgen");
  if (locked !== WASM_BINDGEN) {
    throw new Error(
      `Cargo.lock has wasm-bindgen ${locked ?? "(none)"}, scripts/lib/pins.mjs has ` +
        `${WASM_BINDGEN}: the crate and the command must be one version; change both together`,
    );
  }
  return WASM_BINDGEN;
}

/** The exact Node version that the scripts and the Worker's tools run on. */
export function node() {
  return JSON.parse(readFileSync(inRoot("package.json"), "utf8")).devDependencies.node;
}
