// What the user sees of long steps: a line when one starts, a sign of life, a line when it ends.

const TICK_MS = 15_000;

export const say = (text) => process.stdout.write(`oncegate: ${text}\n`);

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** Runs `work(onLine)` as a step; `onLine` takes the newest line of its output. */
export async function step(title, work) {
  const since = Date.now();
  let latest = "";
  say(`${title} ...`);
  const tick = setInterval(() => {
    say(`  ${seconds(since)}${latest ? `  ${latest.slice(0, 80)}` : ""}`);
  }, TICK_MS);
  try {
    const result = await work((line) => {
      latest = line.trim();
    });
    say(`${title}: done in ${seconds(since)}`);
    return result;
  } finally {
    clearInterval(tick);
  }
}
