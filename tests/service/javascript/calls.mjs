// Makes every call of the TypeScript client to a real server; the test compares what is printed.  Arguments: where the
// client is, the address of the server, that of one which never answers, that of one where nobody listens, and that of
// one which is slow, and tells what it was asked.

const [folder, url, silent, gone, slow] = process.argv.slice(2);
const { Client, ServiceError } = await import(`${folder}/index.js`);
const client = new Client(url);
const said = {};
const warnings = [];
console.warn = (text) => warnings.push(text.replace(/fallback:[\w-]+/g, "ID").replace(/:\d+/g, ""));

const name = "my shop";
said.made = (await client.makeExperiment(name, { arms: [{ name: "a" }, { name: "b" }], policy: "ucb" })).name;
said.same = (await client.makeExperiment(name, { arms: [{ name: "a" }, { name: "b" }], policy: "ucb" })).seq;
said.listed = (await client.listExperiments()).experiments.map((each) => each.name);
said.added = (await client.addArm(name, "c", { payload: { css: "c" } })).payload;
said.paused = (await client.changeArm(name, "c", { state: "paused" })).state;
said.retired = (await client.retireArm(name, "c")).state;
const decision = await client.decide(name, { unit: "visitor 7" }, { fallback: "z", timeout: 60000 });
said.reason = decision.reason;
said.learned = (await client.reward(name, decision.id, { value: Infinity })).learned;
said.cancelled = (await client.cancel(name, (await client.decide(name)).id)).learned;
said.observed = (await client.observe(name, { arm: "a", value: 2.5 })).learned;
const batch = { items: [{ decision: {} }, { observation: { arm: "b", value: -Infinity } }, { cancel: "nothing" }] };
said.batch = (await client.batch(name, batch)).items.map((item) => item.status);
said.state = (await client.changeExperiment(name, { state: "paused" })).state;
said.shown = (await client.showExperiment(name)).state;
const { decisions, rewards, pending } = await client.showReport(name);
said.report = [decisions, rewards, pending];
said.audit = (await client.audit(name, { after: 1 })).changes.map((change) => change.seq);
said.export = new TextDecoder().decode(await client.export(name, { format: "ndjson" })).trim().split("\n").length;
said.health = (await client.health()).status;
said.ready = (await client.ready()).status;
said.metrics = (await client.metrics()).includes("heavybandits_");
said.openapi = (await client.openapi()).openapi;

await client.makeExperiment("late", { arms: [{ name: "a" }], policy: "ucb", reward: { window: 3600, default: 0 } });
const late = await client.decide("late");
await client.reward("late", late.id, { value: 1 });
said.retracted = (await client.retract("late", late.id)).learned;
await client.makeExperiment("sum", { arms: [{ name: "a" }], policy: "ucb", reward: { window: 3600, combine: "sum" } });
const summed = await client.decide("sum");
said.sum = [];
for (const key of ["1", "2", "1"]) said.sum.push((await client.addReward("sum", summed.id, key, { value: 1 })).seq);
said.deleted = (await client.deleteExperiment("sum")).name;

const refused = await client.showExperiment("nothing").catch((error) => error);
said.refused = [refused instanceof ServiceError, refused.status, refused.temporary, refused.message];
said.nan = (await client.reward(name, "one", { value: NaN }).catch((error) => error)).name;
said.ownId = (await client.decide(name, { id: "fallback:mine" }).catch((error) => error)).name;

said.fallbacks = [];
for (const address of [silent, gone]) {
  const away = new Client(address, { timeout: 3600000, patience: 0 });
  const instead = await away.decide("x", {}, { fallback: "blue", timeout: 100 });
  said.fallbacks.push([instead.arm, instead.reason, instead.payload, instead.p, instead.seq]);
  said.dropped = (await away.reward("x", instead.id, { value: 1 })).learned;
  await away.reward("x", instead.id, { value: 1 });
  await away.cancel("x", instead.id);
  const failed = await away.decide("x", {}, { timeout: 100 }).catch((error) => error);
  said.fallbacks.push([failed.status, failed.temporary]);
}
said.warnings = [...warnings];

const away = new Client(gone, { patience: 0 });
for (let number = 0; number < 5; number++) await away.decide("x", {}, { fallback: "blue", timeout: 1000 });
let asked = 0;
const fetched = globalThis.fetch;
globalThis.fetch = (...given) => (asked++, fetched(...given));
for (let number = 0; number < 20; number++) await away.decide("x", {}, { fallback: "blue", timeout: 1000 });
said.askedWhileOpen = asked;

const waiting = new Client(slow);
const tooLate = await waiting.decide("x", {}, { fallback: "blue", timeout: 50 });
do {
  said.slow = (await waiting.health()).seen.map((line) => line.replace(tooLate.id.replace("fallback:", ""), "ID"));
} while (said.slow.length < 2);
const noDecision = await waiting.decide("y", {}, { fallback: "blue", timeout: 60000 }); // it answers something else
said.unreadable = [noDecision.reason, (await waiting.decide("y").catch((error) => error)).message];
console.log(JSON.stringify(said));
process.exit(0); // although the silent server still has to answer
