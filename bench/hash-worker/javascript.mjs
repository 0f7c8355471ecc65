// The command hash as one would write it by hand in JavaScript: parse, sort the members of every
// object, write, hash. It does less than the gate's: numbers become doubles, duplicate members and
// lone surrogates pass, nesting has no bound, there is no digest of the raw bytes.

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** The SHA-256 of a JSON body without white space and with sorted members. */
export async function fingerprint(body) {
  const text = JSON.stringify(sorted(JSON.parse(decoder.decode(body))));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
}

function sorted(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const result = {};
  for (const name of Object.keys(value).sort()) result[name] = sorted(value[name]);
  return result;
}
