// A payments API in a few lines. It stores the reference that the gate sends with what it makes,
// in one step, so that it can be asked later; `loseNextAnswer` has it die after its work.

import { serve } from "../lib/server.mjs";

export async function startOrigin() {
  const ledger = [];
  const payments = [];
  const origin = { ledger, loseNextAnswer: false };
  const server = await serve(({ method, path, query, headers, json }) => {
    if (method === "GET" && path === "/v1/payments") {
      const data = payments.filter(({ reference }) => reference === query.get("reference"));
      return { status: 200, json: { data } };
    }
    if (method !== "POST" || path !== "/v1/payments") return { status: 404, json: {} };
    const payment = { id: `pay_${payments.length + 1}`, amount: json.amount };
    payments.push({ reference: headers["oncegate-reference"], payment });
    ledger.push({ paid: payment.id, amount: payment.amount });
    if (origin.loseNextAnswer) {
      origin.loseNextAnswer = false;
      return undefined;
    }
    return { status: 201, json: payment, headers: { location: `/v1/payments/${payment.id}` } };
  });
  return Object.assign(origin, server);
}
