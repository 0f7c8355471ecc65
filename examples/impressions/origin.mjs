// A counter of impressions: every GET of the pixel is billed. A HEAD is not.

import { serve } from "../lib/server.mjs";

export async function startOrigin() {
  const ledger = [];
  const server = await serve(({ method, query }) => {
    if (method === "GET") {
      ledger.push({ impression: query.get("impression_id"), at: query.get("timestamp") });
    }
    return { status: 204 };
  });
  return { ledger, ...server };
}
