// Compiled, never run: what the types allow, and what they do not.
import { Client, ServiceError, type Decision } from "heavybandits";

const client = new Client("http://127.0.0.1:8765", { token: "hb_x" });
const decision: Decision = await client.decide("x", { unit: "u", context: [1, 2] }, { fallback: "a", timeout: 200 });
if (decision.reason === "fallback") console.log(decision.arm.toUpperCase());
await client.reward("x", decision.id, { value: "Infinity" });
await client.makeExperiment("x", { arms: [{ name: "a" }], reward: { window: 3600, default: 0 } });
try {
  await client.export("x", { format: "csv" });
} catch (error) {
  if (error instanceof ServiceError) console.log(error.status, error.temporary);
}
// @ts-expect-error a reward needs a value
await client.reward("x", decision.id, {});
// @ts-expect-error there is no such reason
if (decision.reason === "nonsense") console.log();
// @ts-expect-error there is no such state
await client.changeArm("x", "a", { state: "asleep" });
