// Payments: a retry, a changed amount, and an answer that was lost on the way.

import { openStage } from "../lib/stage.mjs";
import { startOrigin } from "./origin.mjs";

export async function run(options) {
  const origin = await startOrigin();
  await using stage = await openStage(import.meta.dirname, origin, options);
  const pay = (key, amount, expect) =>
    stage.send("POST", "/v1/payments", {
      headers: { authorization: "Bearer shop-1", "Idempotency-Key": key },
      json: { amount },
      expect,
    });

  stage.step("A payment, and the same request again because the client lost the answer.");
  const first = await pay("order-1", 4200, { status: 201, state: "executed", marked: false });
  const again = await pay("order-1", 4200, { status: 201, state: "replayed", marked: true });
  stage.claim("the retry got the first receipt", again.text === first.text);

  stage.step("The same key with another amount is a mistake of the client, and is told so.");
  await pay("order-1", 9900, { status: 422, state: "refused" });

  stage.step("The API takes the payment and dies before it answers: nobody knows.");
  origin.loseNextAnswer = true;
  const lost = await pay("order-2", 700, { status: 502 });
  stage.claim("the gate does not call it a failure", lost.state === "unknown");

  stage.step("The client sends it again. The gate does not: it asks the API by the reference.");
  let answer = await pay("order-2", 700);
  while (answer.status === 409) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    answer = await pay("order-2", 700);
  }
  stage.claim("the retry got the receipt", JSON.parse(answer.text).amount === 700);
  stage.claim("of one payment: it is a replay", answer.status === 201 && answer.marked);

  stage.ledger([
    { paid: "pay_1", amount: 4200 },
    { paid: "pay_2", amount: 700 },
  ]);
}
