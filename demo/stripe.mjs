// A Stripe-shaped corner of the demo origin: PaymentIntents, form-encoded in, JSON out.
//
// It owns the PaymentIntents held in memory and is good enough for Stripe's own SDKs to talk to:
// `POST /v1/payment_intents` and `GET /v1/payment_intents/{id}`. Like the rest of the demo origin
// it takes no notice of an idempotency key: the same call twice is two PaymentIntents.

import { randomBytes } from "node:crypto";
import { json } from "./answers.mjs";
import { newId } from "./payments.mjs";

const PATH = "/v1/payment_intents";

export class PaymentIntents {
  #ledger;
  #intents = new Map();

  constructor(ledger) {
    this.#ledger = ledger;
  }

  /** Whether a path belongs here; errors on it then take Stripe's shape. */
  static owns(path) {
    return path === PATH || path.startsWith(`${PATH}/`);
  }

  /** Answers a call (as `Payments.route` does), or returns undefined. */
  route(call) {
    if (!PaymentIntents.owns(call.path)) return undefined;
    const id = call.path.slice(PATH.length + 1);
    if (call.path === PATH && call.method === "POST") return this.#create(call);
    if (id !== "" && !id.includes("/") && call.method === "GET") {
      const intent = this.#intents.get(id);
      if (intent !== undefined) return json(200, intent, [["Request-Id", newId("req")]]);
      return stripeError(404, `No such payment_intent: '${id}'`, "intent", "resource_missing");
    }
    return stripeError(404, `Unrecognized request URL (${call.method}: ${call.path}).`);
  }

  #create(call) {
    if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(call.contentType)) {
      return stripeError(400, "Send application/x-www-form-urlencoded.");
    }
    const form = new URLSearchParams(call.body.toString("utf8"));
    const amount = form.get("amount");
    if (amount === null || !/^[1-9]\d{0,7}$/.test(amount)) {
      return stripeError(400, "Invalid positive integer", "amount", "parameter_invalid_integer");
    }
    const currency = form.get("currency");
    if (currency === null || !/^[A-Za-z]{3}$/.test(currency)) {
      return stripeError(400, "Missing required param: currency.", "currency", "parameter_missing");
    }
    const intent = newIntent(Number(amount), currency.toLowerCase(), form);
    this.#intents.set(intent.id, intent);
    const operation = "create_payment_intent";
    this.#ledger.record({ operation, subject: intent.id, amount: intent.amount }, call.by);
    return json(200, intent, [["Request-Id", newId("req")]]);
  }
}

/** An error as Stripe's SDKs read it. */
export function stripeError(status, message, param, code) {
  const type = status >= 500 ? "api_error" : "invalid_request_error";
  const error = { type, message };
  if (code !== undefined) error.code = code;
  if (param !== undefined) error.param = param;
  return json(status, { error }, [["Request-Id", newId("req")]]);
}

function newIntent(amount, currency, form) {
  const id = newId("pi");
  const paid = form.get("confirm") === "true";
  const method = form.get("payment_method");
  const open = method === null ? "requires_payment_method" : "requires_confirmation";
  return {
    id,
    object: "payment_intent",
    amount,
    amount_capturable: 0,
    amount_details: { tip: {} },
    amount_received: paid ? amount : 0,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: form.get("capture_method") ?? "automatic",
    client_secret: `${id}_secret_${randomBytes(12).toString("hex")}`,
    confirmation_method: "automatic",
    created: Math.floor(Date.now() / 1000),
    currency,
    customer: form.get("customer"),
    description: form.get("description"),
    last_payment_error: null,
    latest_charge: paid ? newId("ch") : null,
    livemode: false,
    metadata: metadataOf(form),
    next_action: null,
    payment_method: method,
    payment_method_types: ["card"],
    receipt_email: form.get("receipt_email"),
    status: paid ? "succeeded" : open,
  };
}

function metadataOf(form) {
  const found = [];
  for (const [name, value] of form) {
    const match = /^metadata\[([^\]]+)\]$/.exec(name);
    if (match !== null) found.push([match[1], value]);
  }
  return Object.fromEntries(found);
}
