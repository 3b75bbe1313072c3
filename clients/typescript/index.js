// Written by generate.py from the OpenAPI description of the service; edit that, not this.

import { Runtime, ServiceError, at, withId, withIds } from "./runtime.js";

export { ServiceError };

export class Client extends Runtime {
  decide(experiment, request = {}, options) {
    return this.ask("POST", at`/v1/experiments/${experiment}/decisions`, request, options);
  }

  reward(experiment, decision, request = {}) {
    return this.send("PUT", at`/v1/experiments/${experiment}/decisions/${decision}/reward`, request);
  }

  retract(experiment, decision) {
    return this.send("DELETE", at`/v1/experiments/${experiment}/decisions/${decision}/reward`);
  }

  addReward(experiment, decision, reward, request = {}) {
    return this.send("PUT", at`/v1/experiments/${experiment}/decisions/${decision}/rewards/${reward}`, request);
  }

  cancel(experiment, decision) {
    return this.send("DELETE", at`/v1/experiments/${experiment}/decisions/${decision}`);
  }

  observe(experiment, request = {}) {
    return this.send("POST", at`/v1/experiments/${experiment}/observations`, withId(request));
  }

  batch(experiment, request = {}) {
    return this.send("POST", at`/v1/experiments/${experiment}/batch`, withIds(request));
  }

  makeExperiment(experiment, request = {}) {
    return this.send("PUT", at`/v1/experiments/${experiment}`, request);
  }

  changeExperiment(experiment, request = {}) {
    return this.send("PATCH", at`/v1/experiments/${experiment}`, request);
  }

  deleteExperiment(experiment) {
    return this.send("DELETE", at`/v1/experiments/${experiment}`);
  }

  showExperiment(experiment) {
    return this.send("GET", at`/v1/experiments/${experiment}`);
  }

  addArm(experiment, arm, request = {}) {
    return this.send("PUT", at`/v1/experiments/${experiment}/arms/${arm}`, request);
  }

  changeArm(experiment, arm, request = {}) {
    return this.send("PATCH", at`/v1/experiments/${experiment}/arms/${arm}`, request);
  }

  retireArm(experiment, arm) {
    return this.send("DELETE", at`/v1/experiments/${experiment}/arms/${arm}`);
  }

  listExperiments() {
    return this.send("GET", at`/v1/experiments`);
  }

  showReport(experiment) {
    return this.send("GET", at`/v1/experiments/${experiment}/report`);
  }

  audit(experiment, query) {
    return this.send("GET", at`/v1/experiments/${experiment}/audit` + `?${new URLSearchParams(query)}`);
  }

  export(experiment, query) {
    return this.send("GET", at`/v1/experiments/${experiment}/export` + `?${new URLSearchParams(query)}`, undefined, "arrayBuffer");
  }

  health() {
    return this.send("GET", at`/health`);
  }

  ready() {
    return this.send("GET", at`/ready`);
  }

  metrics() {
    return this.send("GET", at`/metrics`, undefined, "text");
  }

  openapi() {
    return this.send("GET", at`/openapi.json`);
  }
}
