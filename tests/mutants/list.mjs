// Deliberate faults of the core, each of a kind that has cost somebody money. Every one must be
// found by the tests of the host. `from` must stand in the file exactly once
// (tests/worker/mutants-list.test.mjs), so that who changes that line keeps the fault alive.

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
    from: "let earlier = aged.record.take().and_then(|record| record.outbox);",
    to: `let nonce = aged.record.as_ref().map_or(arrival.nonce, |record| record.nonce);
    let arrival = Arrival { nonce, ..arrival };
    let earlier = aged.record.take().and_then(|record| record.outbox);`,
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
  {
    name: "an answer is handed out before its outcome is stored",
    file: "src/core/step/mod.rs",
    from: "save: true,",
    to: "save: !matches!(reaction, Reaction::Deliver(_)),",
  },
  {
    name: "a claim is not stored before the call",
    file: "src/core/step/mod.rs",
    from: "save: true,",
    to: "save: !matches!(reaction, Reaction::Forward(_)),",
  },
  {
    name: "a sink that refuses is tried again at once",
    file: "src/core/step/mod.rs",
    from: "!refused && outbox.is_some_and(",
    to: "outbox.is_some_and(",
  },
  {
    name: "a record without its policy is never looked at again",
    file: "src/core/step/mod.rs",
    from: "(!planned).then(|| now.after(WITHOUT_POLICY))",
    to: "(!planned && false).then(|| now.after(WITHOUT_POLICY))",
  },
  {
    name: "an answer that says nothing deletes the record",
    file: "src/core/step/settle.rs",
    from: "(Verdict::NotClaimed, _, false) if record.attempt == 1 => {",
    to: "(Verdict::NotClaimed | Verdict::Unknown(_), _, false) if record.attempt == 1 => {",
  },
  {
    name: "a refused claim deletes what earlier attempts have left",
    file: "src/core/step/settle.rs",
    from: "(Verdict::NotClaimed, _, false) if record.attempt == 1 => {",
    to: "(Verdict::NotClaimed, _, false) => {",
  },
  {
    name: "a time-out forgets the success of an earlier attempt",
    file: "src/core/step/settle.rs",
    from: "return earlier_success(aged, record, late, now);\n    }\n    let lease_until",
    to: "drop(late);\n    }\n    let lease_until",
  },
  {
    name: "a failure forgets the success of an earlier attempt",
    file: "src/core/step/settle.rs",
    from: "return earlier_success(aged, record, late, now);\n    }\n    let broken",
    to: "drop(late);\n    }\n    let broken",
  },
  {
    name: "a time-out closes the attempt to its late answer",
    file: "src/core/step/settle.rs",
    from: "let lease_until = record.state.ends_at().unwrap_or(now);",
    to: "record.attempt = record.attempt.saturating_add(1);\n    let lease_until = now;",
  },
  {
    name: "a body that never ends holds the key for ever",
    file: "src/core/step/settle.rs",
    from: "lease_until.max(moment.now.after(lease)).min(most)",
    to: "lease_until.max(moment.now.after(lease)).max(most.min(lease_until))",
  },
  {
    name: "two successes are not disputed",
    file: "src/core/step/settle.rs",
    from: "record.disputed || !latest || record.late.is_some();",
    to: "record.disputed || !latest;",
  },
  {
    name: "a success of an earlier attempt is not disputed",
    file: "src/core/step/settle.rs",
    from: "record.disputed || !latest || record.late.is_some();",
    to: "record.disputed || record.late.is_some();",
  },
  {
    name: "what contradicts a settled record is not disputed",
    file: "src/core/step/settle.rs",
    from: "disputed: true,\n        ..record\n    }\n    .noted(\"disputed\", now);",
    to: "..record\n    }\n    .noted(\"disputed\", now);",
  },
  {
    name: "a claim that is undone takes the news of an earlier life with it",
    file: "src/core/step/settle.rs",
    from: "if !record.has_news() {",
    to: "if true {",
  },
  {
    name: "a purge hits another life",
    file: "src/core/step/settle.rs",
    from: "record.nonce == nonce\n            && matches!(",
    to: "(record.nonce == nonce || true)\n            && matches!(",
  },
  {
    name: "a waiter takes over the attempt",
    file: "src/core/step/arrive.rs",
    from: "let first = arrival.manner == Manner::First &&",
    to: "let first = arrival.manner != Manner::SecondTry &&",
  },
  {
    name: "a waiter claims an empty key",
    file: "src/core/step/arrive.rs",
    from: "aged.react(pending(Code::InProgress, Span::seconds(1))),\n        };",
    to: "claim_empty(aged, arrival, now),\n        };",
  },
  {
    name: "a tombstone is looked at by content",
    file: "src/core/step/arrive.rs",
    from: "State::Expired { .. } => Content::Same,\n        State::Completed(_)",
    to: "State::Expired { .. }\n        | State::Completed(_)",
  },
  {
    name: "a rerun keeps its attempt number",
    file: "src/core/step/arrive.rs",
    from: "attempt: record.attempt.saturating_add(1),",
    to: "attempt: record.attempt,",
  },
  {
    name: "the next claim forgets that the last attempt is unresolved",
    file: "src/core/step/arrive.rs",
    from: "let unresolved = record.unresolved || matches!(record.state, State::Unknown { .. });",
    to: "let unresolved = record.unresolved;",
  },
  {
    name: "a new life drops what the last has still to tell",
    file: "src/core/step/arrive.rs",
    from: "let waiting = earlier.unwrap_or_default().waiting;",
    to: "let waiting = Outbox { waiting: Vec::new(), ..earlier.unwrap_or_default() }.waiting;",
  },
  {
    name: "an unknown outcome is forgotten with the reply window",
    file: "src/core/step/age.rs",
    from: "while let Some(current) = record.take() {",
    to: `while let Some(current) = record.take() {
        let window = current.since.after(current.lifetimes.reply);
        if matches!(current.state, State::Unknown { .. }) && window.passed(now) {
            changed = true;
            break;
        }`,
  },
  {
    name: "an unknown outcome is forgotten with the tombstone",
    file: "src/core/step/age.rs",
    from: "while let Some(current) = record.take() {",
    to: `while let Some(current) = record.take() {
        let memory = current.since.after(current.lifetimes.tombstone);
        if matches!(current.state, State::Unknown { .. }) && memory.passed(now) {
            changed = true;
            break;
        }`,
  },
  {
    name: "what is not delivered yet is forgotten with the key",
    file: "src/core/step/age.rs",
    from: "if !ended || (current.forgotten(now) && current.has_news()) {",
    to: "if !ended {",
  },
  {
    name: "a lapsed lease forgets the success of an earlier attempt",
    file: "src/core/step/age.rs",
    from: "match record.late.take() {",
    to: "match record.late.take().filter(|_| false) {",
  },
  {
    name: "the head of an answer counts for nothing when its body breaks off",
    file: "src/core/step/age.rs",
    from: "State::InProgress { head: Some(_), .. } => return head_decides(record, notes, now),",
    to: `State::InProgress { head: Some(_), .. } if false => return head_decides(record, notes, now),
        State::InProgress { lease_until, head: Some(_), .. } => State::Unknown {
            reason: Reason::LeaseLapsed,
            lease_until: *lease_until,
        },`,
  },
  {
    name: "the settle time is counted to the answer of the probe",
    file: "src/core/step/probe.rs",
    from: "order.sent >= order.since.after(reconcile.settle_after)",
    to: "now >= order.since.after(reconcile.settle_after)",
  },
  {
    name: "an unknown outcome is asked about only as often as the schedule is long",
    file: "src/core/step/probe.rs",
    from: "matches!(state, State::Completed(_)) && sent >= most;",
    to: "matches!(state, State::Completed(_) | State::Unknown { .. }) && sent >= most;",
  },
  {
    name: "what needs a person counts as settled",
    file: "src/core/step/probe.rs",
    from: "record.escalated = true;",
    to: `record.escalated = true;
        let forget_at = now.after(record.lifetimes.tombstone);
        record.state = State::FailedRetryable { forget_at };`,
  },
  {
    name: "a probe overwrites a receipt that is there",
    file: "src/core/step/probe.rs",
    from: "if stored.body == Body::Lost && reply.body != Body::Lost => {",
    to: "if reply.body != Body::Lost => {",
  },
  {
    name: "an unknown outcome wakes nobody up to ask about it",
    file: "src/core/record.rs",
    from: "let probe = plan.and_then(|plan| plan.next);",
    to: "let probe = plan.and_then(|plan| plan.next).filter(|_| false);",
  },
  {
    name: "nobody is woken up to call a person",
    file: "src/core/record.rs",
    from: ".filter(|_| unknown && !self.escalated)",
    to: ".filter(|_| unknown && !self.escalated && false)",
  },
  {
    name: "nobody is woken up to deliver again",
    file: "src/core/record.rs",
    from: "[state, probe, escalation, delivery]",
    to: "[state, probe, escalation, delivery.filter(|_| false)]",
  },
  {
    name: "a failed delivery does not put off the next",
    file: "src/core/outbox.rs",
    from: "self.due = Some(now.after(Span(pause.min(LONGEST_PAUSE.0))));",
    to: "let _ = (now, Span(pause.min(LONGEST_PAUSE.0)));",
  },
  {
    name: "a delivery forgets what came meanwhile",
    file: "src/core/outbox.rs",
    from: "self.waiting.drain(..=at);",
    to: "self.waiting.drain(at.min(0)..);",
  },
  {
    name: "503 may run again",
    file: "src/core/outcome.rs",
    from: "307 | 308 | 415 | 421 | 425 | 429 => Verdict::Retryable,\n        408",
    to: "307 | 308 | 415 | 421 | 425 | 429 | 503 => Verdict::Retryable,\n        408",
  },
  {
    name: "of two candidates the first is taken",
    file: "src/core/recovery.rs",
    from: '([item], "0") => Some(item),',
    to: '([item, ..], "0") => Some(item),',
  },
  {
    name: "a candidate counts that does not show whose it is",
    file: "src/core/recovery.rs",
    from: "None => !found,",
    to: "None => true,",
  },
  {
    name: "a cookie of the first answer reaches a later caller",
    file: "src/core/reply.rs",
    from: "(entity || keep.headers.contains(&name))",
    to: '(entity || name == "set-cookie" || keep.headers.contains(&name))',
  },
  {
    name: "a reply that was cut short is kept as if it had no body",
    file: "src/core/reply.rs",
    from: "(Read::BrokeOff, _) => Body::Lost,",
    to: "(Read::BrokeOff, _) => Body::NotKept,",
  },
  {
    name: "a command that cannot be told apart is taken for a new one",
    file: "src/core/step/variants.rs",
    from: "doubtful |= judgement.basis == Basis::Raw;",
    to: "doubtful |= false && judgement.basis == Basis::Raw;",
  },
  {
    name: "everybody owns a record",
    file: "src/core/identity.rs",
    from: "hasher.update(principal.0);",
    to: "let _ = principal;",
  },
];
