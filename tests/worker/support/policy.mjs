// The policies that the tests give to a gate: the demo operations, with short times.
//
// It owns the building of policy variables. A policy is what wrangler.toml holds under `[vars]`:
// `ONCEGATE` with the globals and one `ONCEGATE_OP_*` per operation.

/** The operations of the demo origin. */
const DEMO_OPERATIONS = [
  { name: "create_payment", match: "POST /v1/payments" },
  { name: "authorise_payment", match: "POST /v1/payments/{id}/authorise" },
  { name: "capture_payment", match: "POST /v1/payments/{id}/capture" },
  { name: "settle_payment", match: "POST /v1/payments/{id}/settle" },
  { name: "create_refund", match: "POST /v1/refunds" },
  { name: "create_payment_intent", match: "POST /v1/payment_intents" },
];

/** An operation with the fields that must be written; `fields` adds and replaces. */
export function operation(name, fields = {}) {
  const demo = DEMO_OPERATIONS.find((it) => it.name === name);
  return { principal: "authorization", ...(demo ?? { name }), ...fields };
}

/** The variables for these operations and globals. */
export function policyOf(operations, globals = {}) {
  const policy = { ONCEGATE: { ...globals } };
  for (const each of operations) {
    const name = `ONCEGATE_OP_${String(each.name).toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
    if (name in policy) throw new Error(`Two operations would be ${name}.`);
    policy[name] = each;
  }
  return policy;
}

/** All operations of the demo origin; `fields` go into each of them, `globals` into ONCEGATE. */
export function payments(fields = {}, globals = {}) {
  return policyOf(DEMO_OPERATIONS.map(({ name }) => operation(name, fields)), globals);
}
