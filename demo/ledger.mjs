// The ledger of the demo origin: one entry for every effect that was really applied.
//
// It owns the list of entries and nothing else. It never removes, merges or de-duplicates: an
// effect that was applied twice is there twice, and that is what makes it the oracle of the tests.

/** One line per applied effect, in the order in which they were applied. */
export class Ledger {
  #entries = [];

  /**
   * Writes down an effect.
   * @param {{operation: string, subject: string, amount: number|string|null}} effect
   * @param {{reference: string|null, attempt: number|string|null, idempotencyKey: string|null}} by
   */
  record(effect, by) {
    const entry = Object.freeze({
      n: this.#entries.length + 1,
      at: new Date().toISOString(),
      operation: effect.operation,
      reference: by.reference,
      attempt: by.attempt,
      idempotency_key: by.idempotencyKey,
      subject: effect.subject,
      amount: effect.amount,
    });
    this.#entries.push(entry);
    return entry;
  }

  /** All entries, oldest first. */
  get entries() {
    return [...this.#entries];
  }

  /** How many entries there are, or how many of one operation. */
  count(operation) {
    if (operation === undefined) return this.#entries.length;
    return this.#entries.filter((entry) => entry.operation === operation).length;
  }

  /** The first effect that was applied under a reference, or undefined. */
  firstByReference(reference) {
    return this.#entries.find((entry) => entry.reference === reference);
  }
}
