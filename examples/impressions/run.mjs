// Impressions: a pixel without any header of its own.

import { openStage } from "../lib/stage.mjs";
import { startOrigin } from "./origin.mjs";

export async function run(options) {
  const origin = await startOrigin();
  await using stage = await openStage(import.meta.dirname, origin, options);
  const pixel = (query, expect, method = "GET") => stage.send(method, `/pixel?${query}`, { expect });

  stage.step("An ad is shown, and its pixel is fetched twice.");
  await pixel("impression_id=i-1&timestamp=1765000000", { status: 204, state: "executed" });
  const twice = await pixel("impression_id=i-1&timestamp=1765000000", {
    status: 204,
    state: "acknowledged",
  });
  stage.claim("no cache keeps it", twice.headers.get("Cache-Control") === "no-store");
  stage.claim("one impression is billed", origin.ledger.length === 1);

  stage.step("Its fields in another order, with a further one, are the same impression.");
  await pixel("timestamp=1765000000&impression_id=i-1&slot=top", {
    status: 204,
    state: "acknowledged",
  });

  stage.step("A HEAD is a look, not an impression: it passes and is not counted.");
  await pixel("impression_id=i-2&timestamp=1765000001", { status: 204, state: null }, "HEAD");
  stage.claim("one impression is billed", origin.ledger.length === 1);

  stage.step("The same ad at another time is another impression.");
  await pixel("impression_id=i-1&timestamp=1765000099", { status: 204, state: "executed" });

  stage.step("A pixel that says too little is refused and not billed.");
  await pixel("impression_id=i-3", { status: 400, state: "refused" });
  await pixel("impression_id=i-3&impression_id=i-4&timestamp=1", { status: 400, state: "refused" });

  stage.ledger([
    { impression: "i-1", at: "1765000000" },
    { impression: "i-1", at: "1765000099" },
  ]);
}
