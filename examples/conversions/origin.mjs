// A tracker of conversions: whatever arrives is added to the account of the campaign.

import { serve } from "../lib/server.mjs";

export async function startOrigin() {
  const ledger = [];
  const server = await serve(({ path, json }) => {
    ledger.push({ to: path.split("/").at(-1), order: json.order_id, value: json.value });
    return { status: 201, json: { entry: ledger.length } };
  });
  return { ledger, ...server };
}
