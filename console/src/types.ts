// SPDX-License-Identifier: Apache-2.0
//
// What the process says: docs/console-api.md in TypeScript. Fields that may be left out are optional.

export interface Missing {
  resource: string;
  verb: string;
  message: string;
}
export interface Info {
  version: string;
  mode: 'local' | 'served';
  cluster: string;
  server?: string;
  user?: string;
  namespace?: string;
  started: string;
  resourceVersionOf?: string;
  can?: string[];
  missing?: Missing[];
}

export type Value = string | number | boolean | (string | number | boolean)[];
export type Attribute = [name: string, type: string, value: Value];
export interface WireShape {
  driver: number | string;
  attributes?: Attribute[];
  capacity?: [name: string, value: string][];
  multiple?: boolean;
  classes?: (number | string)[];
}
export interface WirePending {
  namespace: string;
  name: string;
  since?: number;
  claims?: string[];
  removed?: boolean;
}
export interface WireFleet {
  epoch: string;
  rev: number;
  time: string;
  strings: string[];
  labels: number[][];
  nodes: { name: number[]; labels: number[]; flags: number[] };
  pools: { driver: number[]; name: number[]; node: number[]; flags: number[]; slices?: number[]; generation?: number[] };
  cards: { pool: number[]; name: number[] };
  shapes: WireShape[];
  classes: string[];
  devices: { pool: number[]; name: number[]; shape: number[]; card: number[]; state: number[]; fill: number[]; marks: number[] };
  pending?: WirePending[];
  hidden?: { claims?: boolean };
}
export interface WireHolders {
  epoch: string;
  rev: number;
  strings: string[];
  claims: { namespace: number[]; name: number[]; state: number[]; created: number[]; devices: number[][]; pods: number[][] };
}
export interface WireClaim {
  namespace: string;
  name: string;
  state?: number;
  created?: number;
  devices?: number[];
  pods?: string[];
  removed?: boolean;
}
export interface WireLine {
  rev?: number;
  time?: string;
  d?: [id: number, state: number, fill: number, marks: number][];
  a?: { id: number; driver: string; pool: string; device: string; node?: string; card?: string; shape: WireShape; state?: number; fill?: number; marks?: number }[];
  n?: { name: string; labels?: Record<string, string>; flags?: number; removed?: boolean }[];
  o?: { driver: string; name: string; node?: string; flags?: number; slices?: number; generation?: number; removed?: boolean }[];
  c?: WireClaim[];
  p?: WirePending[];
  beat?: string;
  lost?: { since?: string; message?: string };
  reset?: boolean;
  message?: string;
}

export interface Holder {
  namespace: string;
  claim: string;
  request?: string;
  pods?: string[];
  since?: string;
  consumed?: Record<string, string>;
  share?: string;
  adminAccess?: boolean;
}
export interface DeviceDetail {
  id: number;
  driver: string;
  pool: string;
  device: string;
  node?: string;
  rev?: number;
  state: number;
  fill?: number;
  marks?: number;
  why?: string;
  attributes?: Attribute[];
  capacity?: { name: string; value: string; used?: string; policy?: string }[];
  counters?: { set: string; name: string; needs: string; left?: string }[];
  groups?: string[];
  taints?: { key: string; value?: string; effect: string; source?: string; since?: string }[];
  health?: { source: string; text: string; since?: string }[];
  classes?: string[];
  holders?: Holder[];
  hidden?: number;
}
export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  since?: string;
  device?: string;
}
export interface NodeDetail {
  name: string;
  labels?: Record<string, string>;
  flags?: number;
  created?: string;
  conditions?: Condition[];
  taints?: { key: string; value?: string; effect: string }[];
  allocatable?: Record<string, string>;
  requested?: Record<string, string>;
  pods?: number;
}

export interface Step {
  step: string;
  state: 'done' | 'unknown' | 'open';
  time?: string;
  from?: string;
  detail?: string;
}
export interface Got {
  id?: number;
  driver: string;
  pool: string;
  device: string;
  share?: string;
  consumed?: Record<string, string>;
  derived?: Record<string, string>;
}
export interface ClaimRequest {
  name: string;
  class?: string;
  count?: number;
  mode?: string;
  adminAccess?: boolean;
  selectors?: string[];
  derived?: { name: string; expression: string }[];
  capacity?: Record<string, string>;
  tolerations?: string[];
  alternatives?: (ClaimRequest & { chosen?: boolean })[];
  got?: Got[];
  why?: string;
}
export interface ClaimDetail {
  rev?: number;
  namespace: string;
  name: string;
  uid?: string;
  state: number;
  node?: string;
  owner?: { kind: string; name: string };
  podClaim?: string;
  steps?: Step[];
  requests?: ClaimRequest[];
  constraints?: { type: string; attribute: string; requests?: string[]; holds?: boolean; value?: string; values?: { id?: number; value: string }[] }[];
  pods?: { name: string; node?: string; phase?: string }[];
  conditions?: Condition[];
  events?: { time?: string; type?: string; reason?: string; message?: string; count?: number }[];
  yaml?: string;
}

export interface Drop {
  reason: string;
  devices: number;
  subject?: string;
  expression?: string;
  message?: string;
  asked?: string;
  available?: string;
  allowed?: string;
  examples?: { driver: string; pool: string; device: string }[];
  holders?: { claim: string; who?: string; devices: number; planned?: boolean }[];
}
export interface Alternative {
  name?: string;
  deviceClass?: string;
  error?: string;
  needed?: number;
  considered?: number;
  ofClass?: number;
  usable?: number;
  drops?: Drop[];
}
export interface Devices {
  summary?: string;
  claims?: {
    name?: string;
    requests?: { name?: string; inConflict?: boolean; alternatives?: Alternative[] }[];
    constraints?: { type?: string; attribute?: string; inConflict?: boolean; values?: { value: string; devices?: number[] }[] }[];
  }[];
  pools?: { driver: string; pool: string; invalid?: boolean; why?: string }[];
}
export interface Reason {
  plugin?: string;
  code: string;
  text: string;
  shortages?: { what: string; needed?: string | number; free?: string | number }[];
  devices?: Devices;
}
export interface NodeGroup {
  nodes: number;
  examples?: string[];
  nodeSet?: string;
  nearest?: boolean;
  reasons?: Reason[];
}
export type Verified = 'sufficient' | 'insufficient' | 'unknown';
export interface Cure {
  kind: string;
  text: string;
  verified: Verified;
  node?: string;
  newNode?: boolean;
  shortBy?: string | number;
  still?: string; // of an insufficient one, in words
  pods?: string[];
  plan?: PlanRequest;
}
export interface ClaimUse {
  name: string;
  podClaim?: string;
  devices?: { request?: string; driver: string; pool: string; device: string; id?: number; consumedCapacity?: Record<string, string>; shareID?: string }[];
}
export interface Outcome {
  kind: string;
  namespace: string;
  name: string;
  state: string;
  planned?: boolean;
  before?: string;
  owners?: string[];
  node?: string;
  since?: string;
  cause?: string;
  answer?: string;
  claims?: ClaimUse[];
  preemptedFor?: string;
  victims?: string[];
  cures?: Cure[];
  hints?: string[];
  groups?: NodeGroup[];
  explanation?: { message?: string; nodes?: number; before?: Reason[]; groups?: NodeGroup[]; after?: Reason[]; closest?: { node: string; lacks: string }; error?: string };
}
export interface Cause {
  key: string;
  sentence: string;
  pods: number;
  oldest?: string;
  claims?: number; // that no pod uses
  members?: { namespace: string; name: string; kind?: string; since?: string }[];
}
export interface NotCreated {
  namespace: string;
  owners?: string[];
  wanted: number;
  missing: number;
  reason: string;
  cause?: string;
}
export interface Explained {
  rev?: number;
  seconds?: number;
  assumptions?: string[];
  causes?: Cause[];
  outcomes: Outcome[];
  podsNotCreated?: NotCreated[];
}
export interface PlanRequest {
  manifests?: string;
  delete?: string[];
  scale?: Record<string, number>;
  nodes?: { like: string; count: number }[];
  policy?: string;
  explain?: boolean;
}
export interface Planned {
  rev?: number;
  seconds?: number;
  assumptions?: string[];
  notes?: string[];
  summary: Record<string, number>;
  outcomes: Outcome[];
  newNodes?: { name: string; like: string; used?: { driver: string; device: string; by?: string }[] }[];
  podsNotCreated?: NotCreated[];
  skipped?: { kind: string; count: number }[];
}
export interface Issue {
  severity?: string;
  line: number;
  column: number;
  message: string;
  hint?: string;
}
export interface Scalable {
  workloads?: { kind: string; namespace: string; name: string; replicas: number; devices?: number }[];
  shapes?: { like: string; nodes: number; text: string }[];
}
export interface ClassRow {
  name: string;
  selectors?: string[];
  extendedResourceName?: string;
  devices?: number;
  config?: number;
  error?: string;
}
export interface CelAnswer {
  rev?: number;
  expression?: string;
  type?: string;
  estimatedCost?: number;
  costLimit?: number;
  cost?: number;
  reads?: string[];
  issues?: Issue[];
  counts?: { match?: number; noMatch?: number; error?: number };
  match?: string;
  error?: string;
  errors?: { message: string; hint?: string; devices: number; examples?: number[] }[];
  values?: { value: string; type?: string; devices: number; examples?: number[] }[];
}
export type Column = (number | null)[];
export interface History {
  since: string;
  step: number;
  times: number[];
  pending?: Column;
  oldest?: Column;
  running?: Column;
  waitP50?: Column;
  waitP99?: Column;
  classes?: { name: string; devices?: Column; used?: Column; blocked?: Column; utilisation?: Column; fragmentation?: Column; typicalCount?: number }[];
}
export interface NamespaceRow {
  name: string;
  claims?: number;
  pods?: number;
  pending?: number;
  classes?: { name: string; devices?: number; pending?: number; quota?: { name: string; hard: number; used: number } }[];
}
export interface ScenarioRow {
  name: string;
  title?: string;
  nodes?: number;
  duration?: number;
  seed?: number;
  policy?: string;
  error?: string;
}
export interface Times {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  mean: number;
}
export interface SimulationResult {
  title?: string;
  seed?: number;
  policy?: string;
  nodes?: number;
  devices?: number;
  simulatedSeconds?: number;
  pods: Record<string, number>;
  attempts?: number;
  waiting?: Times;
  stillWaiting?: number;
  classes?: { name: string; devices: number; used: number; free: number; blocked: number; utilisation: number; meanUtilisation: number; peakUtilisation: number; fragmentation: number; meanFragmentation: number; typicalCount?: number }[];
  workloads?: { name: string; created: number; placed: number; waiting: number; times?: Times }[];
  groups?: { name: string; nodes: number; placed: number }[];
  reasons?: { plugin: string; code?: string; text: string; attempts: number; pods: number }[];
  samples?: { seconds: number; waiting: number; running: number; utilisation: number[]; fragmentation: number[] }[];
}
export interface Simulation {
  id: string;
  scenario?: string;
  title?: string;
  seed?: number;
  policy?: string;
  state: 'running' | 'done' | 'failed' | 'cancelled';
  progress?: number;
  simulatedSeconds?: number;
  started?: string;
  error?: string;
  result?: SimulationResult;
}
export interface Hit {
  kind: string;
  id?: number;
  namespace?: string;
  name: string;
  text?: string;
}
