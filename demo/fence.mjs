// An origin that keeps the promise of "not there": who was told so is never surprised.
//
// A look-up that finds nothing under a reference closes that reference for the attempt that asked
// and for all before it (`Oncegate-Attempt` names it). A command of such an attempt that comes
// later, from a queue, a slow proxy or a stuck thread, is refused without an effect. Look-up, check
// and effect are one synchronous stretch here; with a database they are one transaction. It refuses
// nothing else: that a command runs twice is for the ledger to show.

import { problem } from "./answers.mjs";
import { Bank } from "./origin.mjs";

/** A bank whose look-ups of operations close what they do not find. */
export class FencedBank extends Bank {
  #closed = new Map();
  /** How many commands came too late. */
  refused = 0;

  constructor() {
    super();
    const route = this.payments.route.bind(this.payments);
    this.payments.route = (call) => this.#route(route, call);
  }

  #route(route, call) {
    if (call.method === "POST") return this.#isClosed(call.by) ? this.#refuse() : route(call);
    const answer = route(call);
    if (call.path === "/v1/operations") this.#close(call, answer);
    return answer;
  }

  #close({ query, by }, answer) {
    const reference = query.get("reference");
    if (reference === null || answer.status !== 200) return;
    if (this.ledger.firstByReference(reference) !== undefined) return;
    const attempt = Math.max(this.#closed.get(reference) ?? 0, Number(by.attempt) || 0);
    this.#closed.set(reference, attempt);
  }

  #isClosed({ reference, attempt }) {
    return reference !== null && Number(attempt) <= (this.#closed.get(reference) ?? 0);
  }

  #refuse() {
    this.refused += 1;
    const detail = "Somebody was told that this attempt has had no effect; it will have none.";
    return problem(409, "too_late", detail, [["Oncegate-Outcome", "retry"]]);
  }
}
