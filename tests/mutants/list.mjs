// Deliberate faults of the core, each of a kind that has cost somebody money. Every one must be
// found by the tests of the host. `from` must stand in the file exactly once.

export const MUTANTS = [
  {
    name: "the state is looked at before the content",
    file: "src/core/step/arrive.rs",
    from: "if content == Content::Refused {",
    to: "if content == Content::Refused && !matches!(record.state, State::InProgress { .. }) {",
  },
  {
    name: "an answer of another life counts",
    file: "src/core/step/settle.rs",
    from: "if record.nonce != fence.nonce {",
    to: "if false && record.nonce != fence.nonce {",
  },
  {
    name: "a failure of an earlier attempt counts for the latest",
    file: "src/core/step/settle.rs",
    from: "(State::InProgress { .. } | State::Unknown { .. }, verdict, reply) if latest => {",
    to: "(State::InProgress { .. } | State::Unknown { .. }, verdict, reply) => {",
  },
  {
    name: "a success of an earlier attempt ends the latest",
    file: "src/core/step/settle.rs",
    from: "State::InProgress { .. } if !latest => {",
    to: "State::InProgress { .. } if !latest && false => {",
  },
  {
    name: "not there counts at once",
    file: "src/core/step/probe.rs",
    from: "order.sent >= order.since.after(reconcile.settle_after)",
    to: "order.sent >= order.since.after(reconcile.settle_after) || true",
  },
  {
    name: "not there counts while the call is open",
    file: "src/core/step/probe.rs",
    from: "if unknown && current && settled_by_then && !call_open => {",
    to: "if unknown && current && settled_by_then => {",
  },
  {
    name: "a stale verdict counts",
    file: "src/core/step/probe.rs",
    from: "let current = record.fence() == order.fence && record.since == order.since;",
    to: "let current = true;",
  },
  {
    name: "a probe speaks for another life",
    file: "src/core/step/probe.rs",
    from: "if record.nonce != order.fence.nonce || record.forgotten(now) {",
    to: "if record.forgotten(now) {",
  },
  {
    name: "seconds are taken for milliseconds",
    file: "src/core/time.rs",
    from: "Self(seconds.saturating_mul(1_000))",
    to: "Self(seconds)",
  },
  {
    name: "a window ends one millisecond late",
    file: "src/core/time.rs",
    from: "now >= self",
    to: "now > self",
  },
  {
    name: "a new life keeps the reference of the last",
    file: "src/core/step/arrive.rs",
    from: "nonce: arrival.nonce,",
    to: "nonce: aged.record.as_ref().map_or(arrival.nonce, |record| record.nonce),",
  },
  {
    name: "the front's second try starts another attempt",
    file: "src/core/step/arrive.rs",
    from: "let first = arrival.manner == Manner::First && record.claimed_by != arrival.request;",
    to: "let first = true;",
  },
  {
    name: "an outcome that is unknown runs again by itself",
    file: "src/core/step/arrive.rs",
    from: "Recovery::Rerun if first && !arrival.call_open => return Decision::Claim,",
    to: "_ if first && !arrival.call_open => return Decision::Claim,",
  },
  {
    name: "it runs again while the old call is open",
    file: "src/core/step/arrive.rs",
    from: "Recovery::Rerun if first && !arrival.call_open => return Decision::Claim,",
    to: "Recovery::Rerun if first => return Decision::Claim,",
  },
  {
    name: "500 is taken for a failure",
    file: "src/core/outcome.rs",
    from: "400..=499 | 501 | 505 => Verdict::Failed,",
    to: "400..=499 | 500 | 501 | 505 => Verdict::Failed,",
  },
  {
    name: "a lapsed lease frees the key",
    file: "src/core/step/age.rs",
    from: "None => State::Unknown {",
    to: "None if true => return None,\n                None => State::Unknown {",
  },
  {
    name: "a failure while an earlier attempt is unresolved is final",
    file: "src/core/step/settle.rs",
    from: "match (verdict, reply, record.unresolved) {",
    to: "match (verdict, reply, false) {",
  },
  {
    name: "a reply that was lost is given out empty",
    file: "src/core/step/tell.rs",
    from: "Body::Whole(_) => Answer::Replay {",
    to: "Body::Whole(_) | Body::Lost => Answer::Replay {",
  },
];
