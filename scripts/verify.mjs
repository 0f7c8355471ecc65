// What must hold before a change goes in: format, lints, all tests, the size of the Worker.

import { cargo } from "./lib/host.mjs";
import { main } from "./lib/main.mjs";
import { say } from "./lib/progress.mjs";
import { setup } from "./setup.mjs";
import { size } from "./size.mjs";
import { test } from "./test.mjs";

await main(import.meta.url, async () => {
  await setup();
  say("format");
  await cargo("fmt", "--check");
  say("lints");
  const lints = ["clippy", "--locked", "--all-targets", "--all-features", "--", "-D", "warnings"];
  await cargo(...lints);
  await test();
  say("size");
  await size();
  say("verified");
});
