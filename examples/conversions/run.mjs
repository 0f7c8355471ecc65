// Conversions: one order is one conversion, whatever the tag on the page does.

import { openStage } from "../lib/stage.mjs";
import { startOrigin } from "./origin.mjs";

export async function run(options) {
  const origin = await startOrigin();
  await using stage = await openStage(import.meta.dirname, origin, options);
  const report = (to, json, expect) =>
    stage.send("POST", `/v1/${to}`, { headers: { authorization: "Bearer campaign" }, json, expect });

  stage.step("The thank-you page reports an order, and reports it again when it is reloaded.");
  const first = { order_id: "A-7", value: "49.90", sent_at: "10:00:00" };
  await report("conversions", first, { status: 201, state: "executed" });
  const reloaded = { sent_at: "10:00:09", value: "49.9", order_id: "A-7" };
  await report("conversions", reloaded, { status: 201, state: "replayed", marked: true });
  stage.claim("one conversion is added", origin.ledger.length === 1);

  stage.step("The same order with another value is refused, not added.");
  await report("conversions", { ...first, value: "499.00" }, { status: 422, state: "refused" });
  stage.claim("one conversion is added", origin.ledger.length === 1);

  stage.step("Where corrections are wanted, each value is an entry of its own, once.");
  await report("adjustments", { order_id: "A-7", value: "-5" }, { status: 201, state: "executed" });
  await report("adjustments", { order_id: "A-7", value: "-9" }, { status: 201, state: "executed" });
  await report("adjustments", { order_id: "A-7", value: "-5" }, { status: 201, state: "replayed" });

  stage.step('An order keeps its JSON type: 1 is 1.0, and "000001" is another order.');
  await report("conversions", { text: '{"order_id":1,"value":"1"}' }, { state: "executed" });
  await report("conversions", { text: '{"order_id":1.0,"value":"1"}' }, { state: "replayed" });
  await report("conversions", { text: '{"order_id":"000001","value":"1"}' }, { state: "executed" });

  stage.step("A report without its order is refused: nothing would tell its retry from another.");
  await report("conversions", { value: "3" }, { status: 400, state: "refused" });

  stage.ledger([
    { to: "conversions", order: "A-7", value: "49.90" },
    { to: "adjustments", order: "A-7", value: "-5" },
    { to: "adjustments", order: "A-7", value: "-9" },
    { to: "conversions", order: 1, value: "1" },
    { to: "conversions", order: "000001", value: "1" },
  ]);
}
