// Written by generate.py from the OpenAPI description of the service; edit that, not this.

/** What became of a reward, a cancellation or an observation; `learned` says whether the policy has learned it. */
export interface Accepted {
  id: string;
  seq: number;
  learned: boolean;
}

/** An arm: its name, whatever the caller wants to get back when it is chosen, and its attributes. It may have attributes if decisions come with attributes. */
export interface Arm {
  name: string;
  payload?: any;
  attributes?: Record<string, boolean | number | number | string | null>;
}

/** Whether an arm may be chosen. */
export interface ArmChange {
  state: "paused" | "running";
}

/** An arm as it is now. */
export interface ArmView {
  name: string;
  payload: any;
  state: "paused" | "retired" | "running";
  attributes?: Record<string, boolean | number | number | string | null>;
}

/** Changes to an experiment, in order. */
export interface Audit {
  changes: Change[];
}

/** Many requests in one. */
export interface Batch {
  items: BatchItem[];
}

/** The answers to a batch, in order. */
export interface BatchAnswer {
  items: ItemAnswer[];
}

/** A decision, a reward of a decision, a cancellation or an observation: exactly one. */
export interface BatchItem {
  decision?: DecisionRequest;
  reward?: BatchReward;
  cancel?: string;
  observation?: Observation;
}

/** A reward in a batch, with the decision that it belongs to. */
export interface BatchReward {
  decision: string;
  value: number | "-Infinity" | "Infinity";
  id?: string | null;
  name?: string | null;
}

/** Who changed what, and when. */
export interface Change {
  seq: number;
  time: string;
  change: any;
}

/** What decisions come with: a vector per arm, one vector that all arms share, or named attributes. If the length of a vector is not given, the first one sets it. With attributes or a shared vector, each arm has its own model. The schema of attributes may be given, or else is found out. If a time zone is given, such as "Europe/Berlin", an attribute `time` says when each decision was made there, unless the request has one. */
export interface ContextRule {
  shared?: boolean;
  n_features?: number | null;
  attributes?: boolean | Record<string, "boolean" | "category" | "datetime" | "hour" | "number" | "weekday" | number | string[]>;
  time_zone?: string | null;
}

/** A decision; if it is a point, the arm is called "point", and `point` has the coordinates. `p` is the probability with which this arm was chosen; null only for units that an earlier version gave their arm. */
export interface DecisionAnswer {
  id: string;
  arm: string;
  payload: any;
  p: number | null;
  reason: "finished" | "floor" | "only" | "paused" | "policy" | "sticky";
  seq: number;
  deadline: string | null;
  point?: Record<string, number>;
}

/** A request for a decision; one with an `id` may be repeated. */
export interface DecisionRequest {
  id?: string | null;
  unit?: string | null;
  among?: string[] | null;
  context?: number[] | Record<string, number[] | Record<string, boolean | number | number | string | null>> | null;
}

/** An experiment that is gone, and the sequence number of its last event. */
export interface Deleted {
  name: string;
  seq: number;
}

/** The description of a new experiment: its arms, or the ranges of the points that its decisions are. */
export interface Experiment {
  arms?: Arm[];
  goal?: "location" | "mean" | QuantileGoal;
  minimise?: boolean;
  drift?: boolean;
  policy?: string | Record<string, any> | null;
  control?: string | null;
  floor?: Record<string, number>;
  sticky?: boolean;
  reward?: RewardRule;
  named_rewards?: string[];
  guardrails?: string[];
  context?: ContextRule | null;
  stop?: StopRule;
  seed?: number;
  points?: Record<string, number[]> | null;
  hypothesis?: string;
}

/** A new state of an experiment, with the arm that all decisions are for once it is finished; or another control. */
export interface ExperimentChange {
  state?: "finished" | "paused" | "running" | "stopped" | null;
  arm?: string | null;
  control?: string | null;
}

/** All experiments. */
export interface ExperimentList {
  experiments: ExperimentView[];
}

/** An experiment as it is now. */
export interface ExperimentView {
  name: string;
  state: "finished" | "paused" | "running" | "stopped";
  goal: "location" | "mean" | QuantileGoal;
  minimise: boolean;
  drift: boolean;
  policy: any;
  arms: ArmView[];
  control: string;
  floor: Record<string, number>;
  sticky: boolean;
  reward: Record<string, any>;
  named_rewards: string[];
  guardrails: string[];
  context: Record<string, any> | null;
  stop: Record<string, any>;
  finished_with: string | null;
  seed: number;
  seq: number;
  notes: string[];
  points?: Record<string, number[]> | null;
  hypothesis?: string;
}

/** The answer to an item of a batch: its status, and the body that it would have had on its own. */
export interface ItemAnswer {
  status: number;
  body: any;
}

/** What a new arm comes with. */
export interface NewArm {
  payload?: any;
  attributes?: Record<string, boolean | number | number | string | null>;
}

/** A reward that no decision of the service led to; one with an `id` may be repeated. */
export interface Observation {
  value: number | "-Infinity" | "Infinity";
  arm?: string | null;
  id?: string | null;
  context?: number[] | Record<string, Record<string, boolean | number | number | string | null>> | null;
  point?: Record<string, number> | null;
}

/** An error, as in RFC 9457. */
export interface Problem {
  title: string;
  status: number;
  detail?: string;
  type?: string;
}

/** The quantile of rewards that is to be high, or low if they are costs. */
export interface QuantileGoal {
  quantile: number;
}

/** A reward; one with a name is not learned, but compared and guarded. */
export interface RewardRequest {
  value: number | "-Infinity" | "Infinity";
  name?: string | null;
}

/** When a decision's reward is final: at once, or at the end of a window in seconds. A `provisional` default is learned at once, and corrected when the reward comes. If that is left out, a new experiment does so if its policy can unlearn a reward. */
export interface RewardRule {
  window?: number | null;
  default?: number | "-Infinity" | "Infinity" | null;
  combine?: "first" | "sum";
  provisional?: boolean | null;
}

/** When an experiment has found out enough. It has if an arm is shown to be better than every other one; with `eps`, also if no arm is shown to be better than the leader by more than that. Such a verdict is wrong in at most a share `delta` of experiments. After `budget` decisions it ends without a winner. `then` says whether it finishes by itself, or people are asked. */
export interface StopRule {
  delta?: number;
  eps?: number | null;
  budget?: number | null;
  then?: "ask" | "winner";
}

export type Decision = Omit<DecisionAnswer, "reason"> & { reason: DecisionAnswer["reason"] | "fallback" };

/** The arm to use if the service refuses or does not answer, and milliseconds to wait, retries included. */
export interface DecisionOptions {
  fallback?: string;
  timeout?: number;
}

/** The service refused (`status`), did not answer, or gave an answer that cannot be understood (0). */
export class ServiceError extends Error {
  readonly status: number;
  readonly temporary: boolean;
}

/** `timeout` is how long to wait for an answer and `patience` how long to retry, in milliseconds. */
export class Client {
  constructor(url?: string, options?: { token?: string; timeout?: number; patience?: number });
  /** Ask for a decision. */
  decide(experiment: string, request?: DecisionRequest, options?: DecisionOptions): Promise<Decision>;

  /** Report the reward of a decision, or one of its named rewards. */
  reward(experiment: string, decision: string, request: RewardRequest): Promise<Accepted>;

  /** Take back a reward that was reported by mistake, while its window is open and it is not learned. */
  retract(experiment: string, decision: string): Promise<Accepted>;

  /** Report one of several rewards of a decision; they add up. */
  addReward(experiment: string, decision: string, reward: string, request: RewardRequest): Promise<Accepted>;

  /** Cancel a decision that was never shown. */
  cancel(experiment: string, decision: string): Promise<Accepted>;

  /** Report a reward that no decision led to. */
  observe(experiment: string, request: Observation): Promise<Accepted>;

  /** Send many of these requests at once; each gets its own status. */
  batch(experiment: string, request: Batch): Promise<BatchAnswer>;

  /** Create an experiment. */
  makeExperiment(experiment: string, request?: Experiment): Promise<ExperimentView>;

  /** Run, pause, stop or finish an experiment, or change its control. While it is paused or stopped, decisions are for the control arm; once it is finished, for the arm that came with the change. */
  changeExperiment(experiment: string, request?: ExperimentChange): Promise<ExperimentView>;

  /** Delete an experiment with everything that is stored about it; its name may then be used again. */
  deleteExperiment(experiment: string): Promise<Deleted>;

  /** Show an experiment as it is now. */
  showExperiment(experiment: string): Promise<ExperimentView>;

  /** Add an arm. */
  addArm(experiment: string, arm: string, request?: NewArm): Promise<ArmView>;

  /** Pause or resume an arm; rewards of a paused arm still count. */
  changeArm(experiment: string, arm: string, request: ArmChange): Promise<ArmView>;

  /** Retire an arm for good: its late rewards are logged, but not learned. */
  retireArm(experiment: string, arm: string): Promise<ArmView>;

  /** List the experiments. */
  listExperiments(): Promise<ExperimentList>;

  /** Show an experiment's totals, estimates, largest rewards and history. */
  showReport(experiment: string): Promise<Record<string, any>>;

  /** List who changed what: up to a thousand changes after a sequence number. */
  audit(experiment: string, query?: { after?: number }): Promise<Audit>;

  /** Download the events after a sequence number, as ndjson, csv or parquet. */
  export(experiment: string, query?: { after?: number; format?: "csv" | "ndjson" | "parquet" }): Promise<ArrayBuffer>;

  /** Say that the process is alive. */
  health(): Promise<Record<string, string>>;

  /** Say whether decisions can be made, and what is still compiled or replayed; 503 while they cannot. */
  ready(): Promise<Record<string, any>>;

  /** Show metrics in the format of Prometheus. */
  metrics(): Promise<string>;

  /** Describe this interface. */
  openapi(): Promise<Record<string, any>>;
}
