// Three small commands that stand first in PATH while the Worker is built. worker-build asks for
// `cargo +nightly` when panics shall unwind, because build-std is unstable; the pinned toolchain
// does the same with RUSTC_BOOTSTRAP, and the compiler stays one exact version.

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inTools } from "./paths.mjs";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const forward = (real) => `#!/bin/sh
case "\${1-}" in +*) shift ;; esac
export RUSTC_BOOTSTRAP=1
exec ${quoted(real)} "$@"
`;

// The toolchain was completed by set-up: to worker-build's questions everything is there.
const RUSTUP = `#!/bin/sh
case "\${1-} \${2-}" in "component list") echo "rust-src (installed)" ;; esac
`;

/** Writes the shims of a toolchain and returns their folder. */
export function writeShims(toolchain) {
  const folder = inTools("shims");
  mkdirSync(folder, { recursive: true });
  const shims = {
    cargo: forward(toolchain.cargo),
    rustc: forward(toolchain.rustc),
    rustup: RUSTUP,
  };
  for (const [name, text] of Object.entries(shims)) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}
