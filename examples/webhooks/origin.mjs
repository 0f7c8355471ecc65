// A receiver of webhooks that handles what it gets. `next` is what becomes of the next delivery:
// an answer, or a promise that it waits for first.

import { serve } from "../lib/server.mjs";

export async function startOrigin() {
  const ledger = [];
  const origin = { ledger, next: undefined, deliveries: 0 };
  const server = await serve(async ({ headers, json }) => {
    origin.deliveries += 1;
    const next = origin.next;
    origin.next = undefined;
    origin.arrived?.();
    const answer = await next;
    if (answer !== undefined) return answer;
    ledger.push({ handled: headers["webhook-id"], event: json.event });
    return { status: 204 };
  });
  return Object.assign(origin, server);
}
