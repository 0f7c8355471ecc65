// Ports on this machine: looked at before anything is started, so that a taken one is said so.

import { createServer } from "node:net";
import { Failure } from "./proc.mjs";

const LAST_PORT = 65_535;

/** The port of the gate from the environment; the demo origin takes the one after it. */
export function gatePort(text = process.env.PORT || "8787") {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port >= LAST_PORT) {
    throw new Failure(`PORT must be a number from 1 to ${LAST_PORT - 1}, not ${text}`);
  }
  return port;
}

/** Fails with advice if a port on 127.0.0.1 cannot be listened on. */
export function mustBeFree(port, who) {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) => {
      const why = error.code === "EADDRINUSE" ? "is taken" : `cannot be used (${error.code})`;
      reject(new Failure(`port ${port}, for ${who}, ${why}: choose another, PORT=9000 npm start`));
    });
    probe.listen(port, "127.0.0.1", () => probe.close(resolve));
  });
}
