// The browser of the tests: a Chromium that is there, or, on a machine that only runs checks, one
// that is installed. Nobody's own machine is given a browser without being asked.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./proc.mjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
const APT_MS = 600_000;

function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function present() {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  const places = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [process.env.ONCEGATE_CHROMIUM, ...places, MAC].find((path) => path && executable(path));
}

/** Installs Debian's Chromium, where this is a check (`CI=true`) as root. */
async function install() {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { env, log: "apt-chromium", timeout: APT_MS };
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "chromium"]]) {
    const { code, output } = await run("apt-get", args, options);
    if (code !== 0) throw new Error(`apt-get ${args[0]} failed:\n${output.trim().slice(-500)}`);
  }
}

/** The path of a Chromium; nothing where there is none and none may be installed. */
export async function chromium() {
  const found = present();
  if (found !== undefined || process.env.CI !== "true") return found;
  await install();
  const installed = present();
  if (installed === undefined) throw new Error("Chromium was installed and cannot be found");
  return installed;
}
