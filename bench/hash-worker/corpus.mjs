// JSON bodies to hash, the same in every run: orders and payments as shops send them, and bodies
// that stress one thing each. Every body is exactly as long as asked for.

const NAMES = ["Jürgen Weiß", "María-José O'Neil", "山田 太郎", "Anna Kowalska", "Bo \"B\" Lee"];
const STREETS = ["Hauptstraße 12/4", "Rue de l'Église 7", "1 Main St\nApt. 5", "C:\\lager\\nord"];
const NOTES = [
  "Please ring twice.\nLeave it at the door if nobody is in.",
  "Gift: \"Happy birthday!\" — no invoice in the box, please",
  "path\\to\\item\tcolumn two",
  "Lieferung nur vormittags, Hintereingang benützen",
];

/** A generator of numbers below a bound, by xorshift: the same seed, the same numbers. */
function numbers(seed) {
  let state = seed;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

function item(below, n) {
  return {
    sku: `SKU-${below(100_000)}`,
    quantity: below(9) + 1,
    price: { currency: "EUR", amount: (below(100_000) + 1) / 100 },
    tax_rate: [0.2, 0.1, 0.13][below(3)],
    attributes: { size: "XL", colour: "blue", weight_kg: below(4000) / 1000, fragile: n % 3 === 0 },
    tags: ["new", "sale", "imported"].slice(below(3)),
  };
}

function order(below, n) {
  const name = NAMES[below(NAMES.length)];
  return {
    reference: `ord_${String(n).padStart(8, "0")}`,
    created_at: `2026-0${below(9) + 1}-1${below(10)}T0${below(10)}:30:00.${below(9)}Z`,
    amount: below(1_000_000) / 100,
    currency: "EUR",
    captured: n % 2 === 0,
    discount: null,
    customer: {
      name,
      email: `customer.${below(10_000)}@example.com`,
      address: { street: STREETS[below(STREETS.length)], zip: `${below(90_000) + 10_000}` },
      id: `cus_${below(1_000_000)}`,
    },
    items: Array.from({ length: below(3) + 1 }, (_, i) => item(below, i)),
    note: NOTES[below(NOTES.length)],
    metadata: { source: "web", "campaign-id": below(5000), ab_test: "B", session: `s${below(1e9)}` },
  };
}

/** What fills a body of each kind, entry by entry. */
const KINDS = {
  orders: order,
  numbers: (below) => [below(1e9), -below(1e6) / 1000, below(1000) * 1e-9, below(90) + 0.1],
  strings: (below) => NOTES[below(NOTES.length)] + NAMES[below(NAMES.length)],
  members: (below) => `value ${below(1000)}`,
};

export const kinds = Object.keys(KINDS);

/** A name that does not come in sorted order. */
const scattered = (n) => `key-${((n * 7919) % 100_003).toString(36)}`;

/** A JSON body of a kind with exactly `size` bytes. */
export function body(kind, size) {
  const below = numbers(0x2545f491);
  const named = kind === "members";
  const frame = named ? ['{"entries":{', '},"padding":"'] : ['{"entries":[', '],"padding":"'];
  const room = size - Buffer.byteLength(`${frame.join("")}"}`);
  const parts = [];
  let length = 0;
  for (let n = 0; ; n += 1) {
    let entry = JSON.stringify(KINDS[kind](below, n));
    // Many clients write only ASCII.
    if (n % 2 === 1) entry = entry.replace(/[\u0080-\uffff]/g, escaped);
    if (named) entry = `"${scattered(n)}":${entry}`;
    const more = Buffer.byteLength(entry) + (n > 0 ? 1 : 0);
    if (length + more > room) break;
    length += more;
    parts.push(entry);
  }
  return Buffer.from(`${frame[0]}${parts.join(",")}${frame[1]}${"x".repeat(room - length)}"}`);
}

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
