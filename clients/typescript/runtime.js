// How calls are sent: retries, which are safe because every request has an id, fallbacks, and a circuit breaker.

const PASSING = [429, 502, 503, 504]; // statuses of temporary problems
const BREAK_AFTER = 5; // failures in a row, after which an experiment's decisions fall back at once
const BREAK_MS = 5000; // between two attempts meanwhile
const FALLBACK_MS = 1000; // after which a decision falls back, unless its timeout says otherwise
const FALLBACK_ID = "fallback:"; // how the ids of fallbacks begin, which the service never sees

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class ServiceError extends Error {
  constructor(status, message, temporary = PASSING.includes(status)) {
    super(status ? `${status}: ${message}` : message);
    Object.assign(this, { name: "ServiceError", status, temporary });
  }
}

export const at = (strings, ...parts) => String.raw({ raw: strings }, ...parts.map(encodeURIComponent));

export function newId() {
  // Browsers offer randomUUID to secure pages only.
  return globalThis.crypto?.randomUUID?.() ?? [1, 2, 3].map(() => Math.random().toString(36).slice(2)).join("");
}

export function withId(request) {
  return { ...request, id: request.id ?? newId() };
}

export function withIds({ items }) {
  const filled = ({ decision, observation, ...rest }) => ({
    ...rest,
    ...(decision && { decision: withId(decision) }),
    ...(observation && { observation: withId(observation) }),
  });
  return { items: items.map(filled) };
}

function plain(name, value) {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  if (Number.isNaN(value)) throw new TypeError(`${name} must not be NaN (leave out missing rewards)`);
  return value > 0 ? "Infinity" : "-Infinity"; // JSON has no infinite numbers
}

function decided(answer) {
  if (typeof answer.arm !== "string") throw new ServiceError(0, "the answer to a decision must name an arm");
  return answer;
}

export class Runtime {
  #breakers = new Map();
  #saidDropped = false;

  constructor(url = "http://127.0.0.1:8765", { token, timeout = 20000, patience = 30000 } = {}) {
    Object.assign(this, { url: url.replace(/\/+$/, ""), timeout, patience });
    this.headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  }

  async send(method, path, body, read = "json", patience = this.patience) {
    if (path.includes(`/decisions/${encodeURIComponent(FALLBACK_ID)}`)) return this.#dropped(method, path);
    const content = body && JSON.stringify(body, plain);
    const end = performance.now() + patience;
    for (let pause = 50; ; pause = Math.min(2 * pause, 2000)) {
      try {
        return await this.#once(method, path, content, read);
      } catch (error) {
        if (!error.temporary || performance.now() + pause > end) throw error;
      }
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  }

  async #once(method, path, body, read) {
    let response, text;
    try {
      const signal = AbortSignal.timeout(this.timeout);
      response = await fetch(this.url + path, { method, headers: this.headers, body, signal });
      if (response.ok && read !== "json") return await response[read]();
      text = await response.text();
    } catch (error) {
      throw new ServiceError(0, `no answer from ${this.url}: ${error.cause?.message ?? error.message}`, true);
    }
    let answer = null;
    try {
      answer = JSON.parse(text);
    } catch {
      // told below
    }
    if (!response.ok) {
      const said = answer?.title && [answer.title, answer.detail].filter(Boolean).join(": ");
      throw new ServiceError(response.status, said || text.slice(0, 200));
    }
    if (answer === null || typeof answer !== "object") {
      throw new ServiceError(0, `the answer of ${this.url} must be a JSON object, got ${text.slice(0, 50)}`);
    }
    return answer;
  }

  // Ask for a decision within a time, or fall back.  One that came too late is cancelled: it was never shown.
  async ask(method, path, request, { fallback, timeout } = {}) {
    if (request.id?.startsWith(FALLBACK_ID)) throw new RangeError(`id must not begin with "${FALLBACK_ID}"`);
    const body = withId(request);
    const send = (patience) => this.send(method, path, body, "json", patience).then(decided);
    if (fallback === undefined && timeout === undefined) return send();
    const limit = timeout ?? FALLBACK_MS;
    const breaker = this.#breaker(path);
    const instead = {
      id: FALLBACK_ID + body.id, arm: fallback, payload: null, p: null, reason: "fallback", seq: 0, deadline: null,
    };
    if (fallback !== undefined && breaker.failures >= BREAK_AFTER) {
      if (performance.now() < breaker.next) return instead;
      breaker.next = performance.now() + BREAK_MS;
    }
    const asking = send(limit);
    const undo = () => this.send("DELETE", `${path}/${encodeURIComponent(body.id)}`).catch(() => {});
    let timer;
    try {
      const late = new ServiceError(0, `no answer from ${this.url}: waited for ${limit} ms`, true);
      const waiting = new Promise((_, reject) => (timer = setTimeout(reject, limit, late)));
      const answer = await Promise.race([asking, waiting]);
      Object.assign(breaker, { failures: 0, said: undefined });
      return answer;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      breaker.failures = error.temporary ? breaker.failures + 1 : 0;
      breaker.next = performance.now() + BREAK_MS;
      if (fallback !== undefined && request.id == null && error.temporary) asking.then(undo, undo);
      else asking.catch(() => {});
      if (fallback === undefined) throw error;
      if (breaker.said !== error.status) console.warn(`heavybandits: ${path} falls back: ${error.message}`);
      breaker.said = error.status; // once, not with every decision of a night
      return instead;
    } finally {
      clearTimeout(timer);
    }
  }

  #breaker(path) {
    if (!this.#breakers.has(path)) this.#breakers.set(path, { failures: 0, next: 0 });
    return this.#breakers.get(path);
  }

  #dropped(method, path) {
    const id = decodeURIComponent(path.split("/decisions/")[1].split("/")[0]);
    if (method === "PUT" && !this.#saidDropped) {
      console.warn(`heavybandits: the reward of ${id} is dropped, and so are further ones`);
      this.#saidDropped = true;
    }
    return { id, seq: 0, learned: false };
  }
}
