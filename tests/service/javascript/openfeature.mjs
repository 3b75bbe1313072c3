// Runs a bandit with OpenFeature's own provider; rewards go to the service's own address.  Argument: the address.

import { createRequire } from "node:module";

const [url] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`); // packages are in the folder in which this runs
const { OpenFeature } = require("@openfeature/server-sdk");
const { OFREPProvider } = require("@openfeature/ofrep-provider");

await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: url }));
const client = OpenFeature.getClient();
const said = { counts: {}, reasons: {} };
for (let unit = 0; unit < 60; unit++) {
  const found = await client.getStringDetails("button", "none", { targetingKey: `visitor ${unit}`, plan: "pro" });
  said.counts[found.value] = (said.counts[found.value] ?? 0) + 1;
  said.reasons[found.reason] = (said.reasons[found.reason] ?? 0) + 1;
  await fetch(`${url}/v1/experiments/button/decisions/${found.flagMetadata.decision}/reward`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ value: found.variant === "green" ? 1 : 0 }),
  });
}
said.errors = [];
for (const [flag, context] of [["nothing", { targetingKey: "u" }], ["button", {}]]) {
  const failed = await client.getStringDetails(flag, "default", context);
  said.errors.push([failed.value, failed.reason, failed.errorCode]);
}
const colour = await client.getObjectDetails("colour", {}, { targetingKey: "u" });
said.object = [colour.value, colour.variant, colour.reason];
console.log(JSON.stringify(said));
