// The switches of the demo origin: request headers that make it misbehave on purpose.
//
//   Demo-Delay: 2s | 250ms        apply at once, answer that much later
//   Demo-Delay-Before: 2s | 250ms wait that long, then apply and answer
//   Demo-Fail: before:503         answer with that status and apply nothing
//   Demo-Fail: after:500          apply, then answer with that status all the same
//   Demo-Late: 2s | 250ms         answer 504 at once, and apply that much later
//   Demo-Hang: before | after     never answer (until the origin is closed)
//   Demo-Reset: before | after    break the connection without any answer
//   Demo-Cut: 8                   apply, send the true head and 8 bytes of the body, then break off
//   Demo-Outcome: completed | failed | retry | unknown
//                                 add `Oncegate-Outcome` with that word to the answer
//
// `before` and `after` mean: before or after the effect was applied. Switches combine, in this
// order: delay before; late; hang, reset or fail before; the effect; delay; hang or reset after; fail
// after; cut. Anything else under a `Demo-` name is refused with 400 and changes nothing, because a
// misspelt switch that is ignored would make a test pass for the wrong reason.

const LONGEST_DELAY_MS = 10 * 60_000;

const FORMS = {
  "demo-delay": ["Demo-Delay", "a duration up to 10m such as 250ms or 2s", duration],
  "demo-delay-before": ["Demo-Delay-Before", "a duration up to 10m such as 250ms or 2s", duration],
  "demo-fail": ["Demo-Fail", "before:STATUS or after:STATUS, STATUS from 300 to 599", failure],
  "demo-late": ["Demo-Late", "a duration up to 10m such as 250ms or 2s", duration],
  "demo-hang": ["Demo-Hang", "before or after", moment],
  "demo-reset": ["Demo-Reset", "before or after", moment],
  "demo-cut": ["Demo-Cut", "a number of bytes such as 8", byteCount],
  "demo-outcome": ["Demo-Outcome", "completed, failed, retry or unknown", outcome],
};

/**
 * Reads the switches from raw header pairs.
 * @returns {{switches: object} | {error: string}} `switches` has only the members that were set.
 */
export function readSwitches(pairs) {
  const switches = {};
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase();
    if (!lower.startsWith("demo-")) continue;
    const form = FORMS[lower];
    if (form === undefined) {
      const known = Object.values(FORMS).map(([spelling]) => spelling).join(", ");
      return { error: `${name} is no switch of this origin; there are ${known}.` };
    }
    const [spelling, allowed, parse] = form;
    const parsed = parse(value.trim());
    if (parsed === undefined) return { error: `${spelling} must be ${allowed}.` };
    if (spelling in switches) return { error: `${spelling} was given twice.` };
    switches[spelling] = parsed;
  }
  return { switches: named(switches) };
}

function named(found) {
  return {
    delayMs: found["Demo-Delay"],
    delayBeforeMs: found["Demo-Delay-Before"],
    fail: found["Demo-Fail"],
    lateMs: found["Demo-Late"],
    hang: found["Demo-Hang"],
    reset: found["Demo-Reset"],
    cut: found["Demo-Cut"],
    outcome: found["Demo-Outcome"],
  };
}

function duration(text) {
  const match = /^(\d{1,9})(ms|s|m)$/.exec(text);
  if (match === null) return undefined;
  const ms = Number(match[1]) * { ms: 1, s: 1000, m: 60_000 }[match[2]];
  return ms <= LONGEST_DELAY_MS ? ms : undefined;
}

function failure(text) {
  const match = /^(before|after):([345]\d\d)$/.exec(text);
  return match === null ? undefined : { when: match[1], status: Number(match[2]) };
}

function moment(text) {
  return text === "before" || text === "after" ? text : undefined;
}

function byteCount(text) {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function outcome(text) {
  return ["completed", "failed", "retry", "unknown"].includes(text) ? text : undefined;
}
