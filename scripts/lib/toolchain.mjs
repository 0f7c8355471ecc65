// The compiler of the Worker: one pinned toolchain with the source of its standard library.
// The ordinary way is rustup; where rustup cannot download, Debian's packages serve (debian.mjs).
// Never touches the user's default toolchain: tests on the host go on with plain cargo.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { debianToolchain, whyNotDebian } from "./debian.mjs";
import { outerPath } from "./paths.mjs";
import { RUST, TARGET } from "./pins.mjs";
import { Failure, read, run } from "./proc.mjs";
import { say, step } from "./progress.mjs";

// Offline, rustup gives up by itself when names do not resolve, and never where packets vanish.
const DOWNLOAD_MS = 240_000;

const env = () => ({
  ...process.env,
  PATH: outerPath(),
  RUSTUP_AUTO_INSTALL: "0",
  RUSTUP_MAX_RETRIES: "1",
  RUST_BACKTRACE: "0",
});

const releaseOf = (verbose) => verbose?.match(/^release: (.+)$/m)?.[1];

/** A toolchain by the path of its own files, past rustup's proxies. */
function bySysroot(way, sysroot) {
  const bin = (name) => join(sysroot, "bin", name);
  return { way, release: RUST, cargo: bin("cargo"), rustc: bin("rustc"), sysroot, env: {} };
}

/** True where a sysroot has both what build-std compiles and the target worker-build asks for. */
function complete(sysroot) {
  const target = join(sysroot, "lib", "rustlib", TARGET, "lib");
  return (
    existsSync(join(sysroot, "bin", "cargo")) &&
    existsSync(join(sysroot, "lib", "rustlib", "src", "rust", "library", "Cargo.toml")) &&
    existsSync(target) &&
    readdirSync(target).some((name) => name.startsWith("libstd-"))
  );
}

/** The sysroot of a rustc if it is exactly the pinned release. */
async function pinnedSysroot(command, args) {
  if (releaseOf(await read(command, [...args, "-vV"], { env: env() })) !== RUST) return undefined;
  return read(command, [...args, "--print", "sysroot"], { env: env() });
}

/** The sysroots of the pinned release on this machine: rustup's own one, then the default one. */
async function installedSysroots() {
  const found = [
    await pinnedSysroot("rustup", ["run", RUST, "rustc"]),
    await pinnedSysroot("rustc", []),
  ];
  return [...new Set(found.filter(Boolean))];
}

/** Lets rustup fetch what is missing; returns why it could not, or undefined. */
async function fetchWithRustup() {
  if (!(await read("rustup", ["--version"], { env: env() }))) return "rustup is not installed";
  const have = await read("rustup", ["toolchain", "list"], { env: env() });
  const named = have?.split("\n").some((line) => line.startsWith(`${RUST}-`));
  const commands = named
    ? [
        ["target", "add", TARGET, "--toolchain", RUST],
        ["component", "add", "rust-src", "--toolchain", RUST],
      ]
    : [
        ["toolchain", "install", RUST, "--profile", "minimal", "--no-self-update"].concat(
          ["--target", TARGET, "--component", "rust-src"],
        ),
      ];
  return step(`Rust ${RUST} with ${TARGET} and rust-src, by rustup`, async (onLine) => {
    for (const args of commands) {
      const result = await run("rustup", args, {
        env: env(),
        timeout: DOWNLOAD_MS,
        log: "rustup",
        onLine,
      });
      if (result.code !== 0) return `rustup ${args.join(" ")}: ${errorOf(result.output)}`;
    }
    return undefined;
  });
}

/** The first clause of rustup's error; the rest of it is in .tools/log/rustup.log. */
const errorOf = (text) =>
  (text.match(/^error: (.+)$/m)?.[1] ?? text.trim().split("\n").pop()).split(": ")[0];

/** Finds or installs the toolchain of the Worker and says which way it took. */
export async function ensureToolchain() {
  let sysroot = (await installedSysroots()).find(complete);
  if (sysroot) {
    say(`compiler: Rust ${RUST} as installed (${sysroot})`);
    return bySysroot("installed", sysroot);
  }
  const refusal = await fetchWithRustup();
  if (!refusal) {
    sysroot = (await installedSysroots()).find(complete);
    if (sysroot) {
      say(`compiler: Rust ${RUST} by rustup (the ordinary way)`);
      return bySysroot("rustup", sysroot);
    }
  }
  const reason = refusal ?? `rustup left Rust ${RUST} without ${TARGET} or rust-src`;
  say(`the ordinary way is closed: ${reason}`);
  const noDebian = await whyNotDebian();
  if (noDebian) throw new Failure(advice(reason, noDebian));
  return debianToolchain();
}

const advice = (rustup, debian) => `no compiler for the Worker.
  Tried rustup: ${rustup}
  Tried Debian packages: ${debian}
Install either one, then start again:
  with rustup (https://rustup.rs) and a network:
    rustup toolchain install ${RUST} --profile minimal --target ${TARGET} --component rust-src
  or on Debian 12, as root:
    apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld-22`;
