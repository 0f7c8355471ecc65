// The fallback compiler: Debian's packages, for machines whose rustup can download nothing.
// The packages have no wasm library; the Worker's build compiles it from their source anyway, so
// an empty target folder is all that is needed to satisfy worker-build's look at the target.

import { existsSync } from "node:fs";
import { outerPath } from "./paths.mjs";
import { DEBIAN_LINKER, DEBIAN_PACKAGES, DEBIAN_RUST, TARGET } from "./pins.mjs";
import { Failure, read, run } from "./proc.mjs";
import { say, step } from "./progress.mjs";

const RUSTC = "/usr/bin/rustc";
const CARGO = "/usr/bin/cargo";
const LINKER = `/usr/bin/${DEBIAN_LINKER}`;
const SOURCE = "/usr/lib/rustlib/src/rust/library/Cargo.toml";
const TARGET_DIR = `/usr/lib/rustlib/${TARGET}/lib`;
const APT_MS = 600_000;

const isRoot = () => process.getuid?.() === 0;
const asRoot = (args) => (isRoot() ? args : ["sudo", "-n", ...args]);

/** Why this machine cannot take the fallback, or undefined where it can. */
export async function whyNotDebian() {
  if (process.platform !== "linux") return `this system is ${process.platform}, not Linux`;
  if (present()) return undefined;
  if (!existsSync("/usr/bin/apt-get")) return "apt-get is not here";
  if (isRoot() || (await read("sudo", ["-n", "true"])) !== undefined) return undefined;
  return "not root, and sudo asks for a password";
}

const present = () =>
  [RUSTC, CARGO, LINKER, SOURCE, TARGET_DIR].every((path) => existsSync(path));

async function must(args, onLine) {
  const [command, ...rest] = asRoot(args);
  const env = { ...process.env, PATH: outerPath(), DEBIAN_FRONTEND: "noninteractive" };
  const options = { env, onLine, log: "apt", timeout: APT_MS };
  const { code, output } = await run(command, rest, options);
  if (code !== 0) {
    throw new Failure(
      `${args.join(" ")} failed:\n${output.trim().split("\n").slice(-5).join("\n")}\n` +
        `The Worker needs a Rust compiler with the source of its standard library and a wasm ` +
        `linker (${DEBIAN_PACKAGES.join(", ")}): install these, or give rustup a network.`,
    );
  }
}

/** Installs the packages where needed and returns the toolchain that they make. */
export async function debianToolchain() {
  if (!present()) {
    await step(`Debian packages ${DEBIAN_PACKAGES.join(" ")} (about 40 s)`, async (onLine) => {
      await must(["apt-get", "update"], onLine);
      await must(
        ["apt-get", "install", "-y", "--no-install-recommends", ...DEBIAN_PACKAGES],
        onLine,
      );
      await must(["mkdir", "-p", TARGET_DIR], onLine);
    });
  }
  const verbose = (await read(RUSTC, ["-vV"])) ?? "";
  const release = verbose.match(/^release: (.+)$/m)?.[1];
  if (!release) throw new Failure(`${RUSTC} does not run; install ${DEBIAN_PACKAGES[0]} again`);
  if (!release.startsWith(`${DEBIAN_RUST}.`)) {
    say(`note: Debian has Rust ${release}; the Worker was tested with ${DEBIAN_RUST}`);
  }
  say(`compiler: Rust ${release} of Debian's packages (the fallback)`);
  const linker = { CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: DEBIAN_LINKER };
  return { way: "debian", release, cargo: CARGO, rustc: RUSTC, sysroot: "/usr", env: linker };
}
