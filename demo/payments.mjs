// The payments of the demo origin: create, authorise, capture, settle, refund and look up.
//
// It owns the payments and refunds held in memory and the rules between their states. It never
// looks at an idempotency key: two equal commands are two effects, as with any origin that knows
// nothing of retries, so that doing something twice shows in the ledger. For the same reason
// refunds are not added up. It keeps the reference it was called with, and finds it again.

import { randomBytes } from "node:crypto";
import { json, problem } from "./answers.mjs";

/** The steps after `created`: the state that each needs and the state that it leads to. */
const STEPS = new Map([
  ["authorise", { needs: "created", gives: "authorised" }],
  ["capture", { needs: "authorised", gives: "captured" }],
  ["settle", { needs: "captured", gives: "settled" }],
]);

export class Payments {
  #ledger;
  #payments = new Map();
  #refunds = new Map();
  /** What the first effect under a reference answered: a look-up can then give the receipt. */
  #results = new Map();

  constructor(ledger) {
    this.#ledger = ledger;
  }

  /**
   * Answers a request on `/v1/...`, or returns undefined where the path is not one of this API.
   * A call is `{ method, path, query: URLSearchParams, contentType, body: Buffer, by }`.
   */
  route(call) {
    const [, version, kind, id, step, ...more] = call.path.split("/");
    if (version !== "v1" || more.length > 0) return undefined;
    if (kind === "payments") {
      if (id === undefined) return this.#collection(call);
      if (step === undefined) return this.#onlyGet(call, () => this.#show(this.#payments, id));
      if (STEPS.has(step)) return this.#onlyPost(call, () => this.#advance(call, id, step));
      return undefined;
    }
    if (step !== undefined) return undefined;
    if (kind === "refunds") {
      if (id === undefined) return this.#onlyPost(call, () => this.#refund(call));
      return this.#onlyGet(call, () => this.#show(this.#refunds, id));
    }
    if (kind === "operations" && id === undefined) {
      return this.#onlyGet(call, () => this.#operations(call));
    }
    return undefined;
  }

  #onlyGet(call, answer) {
    return call.method === "GET" || call.method === "HEAD" ? answer() : notAllowed("GET");
  }

  #onlyPost(call, answer) {
    return call.method === "POST" ? answer() : notAllowed("POST");
  }

  #collection(call) {
    if (call.method === "POST") return this.#create(call);
    if (call.method !== "GET" && call.method !== "HEAD") return notAllowed("GET, POST");
    const reference = call.query.get("reference");
    if (!reference) return problem(400, "reference_missing", "Give ?reference=og_...");
    const found = [...this.#payments.values()].find((it) => it.reference === reference);
    return json(200, { data: found === undefined ? [] : [view(found)] });
  }

  /**
   * The look-up for operations that create nothing of their own, such as a capture: the line of the
   * ledger, with what the command answered as `result`.
   */
  #operations(call) {
    const reference = call.query.get("reference");
    if (!reference) return problem(400, "reference_missing", "Give ?reference=og_...");
    const found = this.#ledger.firstByReference(reference);
    if (found === undefined) return json(200, { data: [] });
    return json(200, { data: [{ ...found, result: this.#results.get(reference) }] });
  }

  #create(call) {
    const { value, refusal } = readJson(call);
    if (refusal) return refusal;
    if (!isAmount(value.amount)) {
      return problem(422, "amount_invalid", "amount must be a number greater than zero.");
    }
    if (typeof value.currency !== "string" || !/^[A-Za-z]{3}$/.test(value.currency)) {
      return problem(422, "currency_invalid", "currency must be three letters such as EUR.");
    }
    const payment = {
      id: newId("pay"),
      status: "created",
      amount: value.amount,
      currency: value.currency,
      reference: call.by.reference,
      version: 1,
    };
    this.#payments.set(payment.id, payment);
    this.#write("create_payment", payment, payment.amount, call);
    return created("payments", payment);
  }

  #advance(call, id, step) {
    const payment = this.#payments.get(id);
    if (payment === undefined) return notFound(id);
    const { refusal } = call.body.length === 0 ? {} : readJson(call);
    if (refusal) return refusal;
    const { needs, gives } = STEPS.get(step);
    if (payment.status !== needs) {
      const detail = `${step} needs a payment that is ${needs}; this one is ${payment.status}.`;
      return problem(409, "wrong_state", detail);
    }
    payment.status = gives;
    payment.version += 1;
    this.#write(`${step}_payment`, payment, payment.amount, call);
    return json(200, view(payment), [["ETag", etag(payment)]]);
  }

  #refund(call) {
    const { value, refusal } = readJson(call);
    if (refusal) return refusal;
    if (typeof value.payment !== "string") {
      return problem(422, "payment_invalid", "payment must be the id of a payment.");
    }
    const payment = this.#payments.get(value.payment);
    if (payment === undefined) return notFound(value.payment);
    if (payment.status !== "captured" && payment.status !== "settled") {
      const detail = `A refund needs a captured payment; this one is ${payment.status}.`;
      return problem(409, "wrong_state", detail);
    }
    if (!isAmount(value.amount) || value.amount > payment.amount) {
      const detail = `amount must be greater than zero and at most ${payment.amount}.`;
      return problem(422, "amount_invalid", detail);
    }
    const refund = {
      id: newId("ref"),
      status: "refunded",
      payment: payment.id,
      amount: value.amount,
      currency: payment.currency,
      reference: call.by.reference,
      version: 1,
    };
    this.#refunds.set(refund.id, refund);
    this.#write("create_refund", refund, refund.amount, call);
    return created("refunds", refund);
  }

  #show(things, id) {
    const thing = things.get(id);
    if (thing === undefined) return notFound(id);
    return json(200, view(thing), [["ETag", etag(thing)]]);
  }

  #write(operation, thing, amount, { by }) {
    this.#ledger.record({ operation, subject: thing.id, amount }, by);
    if (by.reference && !this.#results.has(by.reference)) {
      this.#results.set(by.reference, view(thing));
    }
  }
}

/** Ids are random: a restarted origin must not hand out an id that a stored reply already names. */
export function newId(prefix) {
  return `${prefix}_${randomBytes(9).toString("base64url").replace(/[-_]/g, "0")}`;
}

export function notAllowed(methods) {
  return problem(405, "method_not_allowed", `Use ${methods}.`, [["Allow", methods]]);
}

function created(collection, thing) {
  const location = `/v1/${collection}/${thing.id}`;
  return json(201, view(thing), [["Location", location], ["ETag", etag(thing)]]);
}

function notFound(id) {
  return problem(404, "not_found", `There is no ${JSON.stringify(id)} here.`);
}

function view({ version: _version, ...shown }) {
  return shown;
}

function etag(thing) {
  return `"${thing.id}-${thing.version}"`;
}

function isAmount(value) {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function readJson(call) {
  if (!/^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(call.contentType)) {
    return { refusal: problem(415, "media_type", "Send application/json.") };
  }
  let value;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(call.body));
  } catch {
    return { refusal: problem(400, "json_malformed", "The body is no well-formed JSON.") };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { refusal: problem(422, "object_expected", "The body must be a JSON object.") };
  }
  return { value };
}
