// Random numbers that a seed decides: the same names give the same draws in every run.
//
// What a run does to a key is drawn from the seed and the key. When it happens is up to the
// machine: a seed repeats the plan, not the moment.

/** A source of numbers from 0 to 1 (mulberry32), for a seed and a name. */
export function randomFor(seed, name = "") {
  let state = hash(`${seed}/${name}`);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** FNV-1a, 32 bits. */
function hash(text) {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ char.codePointAt(0), 0x01000193);
  return value | 0;
}

/** A whole number between two bounds, both included. */
export const between = (random, low, high) => low + Math.floor(random() * (high - low + 1));

/** One of `[[weight, value], ...]`. */
export function choose(random, weighted) {
  const total = weighted.reduce((sum, [weight]) => sum + weight, 0);
  let left = random() * total;
  for (const [weight, value] of weighted) {
    left -= weight;
    if (left < 0) return value;
  }
  return weighted.at(-1)[1];
}
