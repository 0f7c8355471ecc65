// Webhooks: duplicates, a delivery while the first is being handled, and failures.

import { openStage } from "../lib/stage.mjs";
import { startOrigin } from "./origin.mjs";

export async function run(options) {
  const origin = await startOrigin();
  await using stage = await openStage(import.meta.dirname, origin, options);
  const deliver = (id, event, expect) =>
    stage.send("POST", "/webhooks/shop", { headers: { "Webhook-Id": id }, json: { event }, expect });

  stage.step("An event, delivered twice.");
  await deliver("evt_1", "order.paid", { status: 204, state: "executed" });
  const twice = await deliver("evt_1", "order.paid", { status: 200, state: "acknowledged" });
  stage.claim("the duplicate is acknowledged in the policy's words", twice.text === '{"received":true}');
  stage.claim("and has not reached the receiver", origin.deliveries === 1);

  stage.step("The sender is impatient: it delivers again while the first is being handled.");
  const gate = Promise.withResolvers();
  const arrived = new Promise((resolve) => (origin.arrived = resolve));
  origin.next = gate.promise;
  const first = deliver("evt_2", "order.sent", { status: 204 });
  await arrived;
  const early = await deliver("evt_2", "order.sent", { status: 503, state: "in-progress" });
  stage.claim("503 has it try again", Number(early.headers.get("Retry-After")) > 0);
  gate.resolve();
  await first;
  await deliver("evt_2", "order.sent", { status: 200, state: "acknowledged" });

  stage.step("The receiver fails. The next delivery is handled: a failure is not remembered.");
  origin.next = { status: 429, json: { error: "slow down" } };
  await deliver("evt_3", "order.lost", { status: 429 });
  origin.next = { status: 500, json: { error: "a fault" } };
  await deliver("evt_3", "order.lost", { status: 500, state: "unknown" });
  await deliver("evt_3", "order.lost", { status: 204, state: "executed" });
  await deliver("evt_3", "order.lost", { status: 200, state: "acknowledged" });

  stage.ledger([
    { handled: "evt_1", event: "order.paid" },
    { handled: "evt_2", event: "order.sent" },
    { handled: "evt_3", event: "order.lost" },
  ]);
}
