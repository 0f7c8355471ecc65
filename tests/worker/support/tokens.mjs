// An issuer of JSON Web Tokens for the tests: real keys, published on a real server.
//
// It owns the signing of whatever a test wants to have signed, honest or not, and counts how often
// its keys were fetched.

import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";

export const AUDIENCE = "payments";

const encoded = (value) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** A key pair, by the name of its algorithm. */
export function keyPair(alg, kid) {
  const made =
    alg === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...made.publicKey.export({ format: "jwk" }), kid, use: "sig" };
  return { alg, kid, jwk, ...made };
}

const SIGN = {
  RS256: (text, { privateKey }) => sign("sha256", text, privateKey),
  ES256: (text, { privateKey: key }) => sign("sha256", text, { key, dsaEncoding: "ieee-p1363" }),
  /** The confusion of algorithms: the public key as if it were a shared secret. */
  HS256: (text, { publicKey }) =>
    createHmac("sha256", publicKey.export({ type: "spki", format: "pem" })).update(text).digest(),
  none: () => Buffer.alloc(0),
};

/** Starts an issuer; `keys` are those that it publishes. */
export async function startIssuer() {
  const issuer = { fetches: 0, keys: [keyPair("RS256", "rsa"), keyPair("ES256", "ec")] };
  issuer.answer = () => ({ status: 200, body: { keys: issuer.keys.map(({ jwk }) => jwk) } });
  const server = createServer((_request, response) => {
    issuer.fetches += 1;
    const { status, body, headers } = issuer.answer();
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  issuer.url = `http://127.0.0.1:${server.address().port}`;
  /** The table `jwt` of a policy. */
  issuer.jwt = { jwks: `${issuer.url}/keys`, issuer: "https://login.example", audience: AUDIENCE };
  const claims = (changes) => {
    const now = Math.floor(Date.now() / 1000);
    const { issuer: iss, audience: aud } = issuer.jwt;
    return { iss, aud, sub: "alice", exp: now + 600, jti: String(Math.random()), ...changes };
  };
  /** A token; `by` may name another key, algorithm or header. */
  issuer.token = (changes = {}, by = {}) => {
    const { key = issuer.keys[0], alg = key.alg, header = {} } = by;
    const head = encoded({ alg, typ: "JWT", kid: key.kid, ...header });
    const text = `${head}.${encoded(claims(changes))}`;
    return `${text}.${SIGN[alg](Buffer.from(text), key).toString("base64url")}`;
  };
  issuer.close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return issuer;
}
