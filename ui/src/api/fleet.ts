// The shapes of the API's answers about the fleet and its log. The truth is /api/v1/openapi.json.

import type { Reason, AnswerWord, Verdict } from "./types";

export interface ClusterEntry {
  cluster: string;
  name: string;
  organisation: string;
  version: string;
  channel: string | null;
  schedule: string;
  sector: string | null;
  mutexes: string[];
  soakDays: number | null;
  workloads: string[];
  soaking: string[];
  seenAt: string | null;
  healthy: boolean | null;
  answer: AnswerWord | null;
  heldBy: string[];
  to: string | null;
  expected: string | null;
  underWay: { to: string; state: string; startAt: string } | null;
}

export interface Clusters {
  at: string;
  total: number;
  matching: number;
  next: string | null;
  clusters: ClusterEntry[];
}

export interface Soaking {
  version: string;
  workload: string;
  haveSeconds: number;
  needSeconds: number;
  adding: number;
  waiting: number;
  expected: string | null;
}

export interface Sector {
  sector: string | null;
  dependsOn: string[];
  clusters: number;
  versions: Record<string, number>;
  soaking: Soaking[];
  soakingLeftOut: number;
  heldBy: Record<string, number>;
  planned: number;
  underWay: number;
  next: { at: string; cluster: string; name: string; to: string; starts: boolean } | null;
}

export interface Organisation {
  organisation: string;
  sectors: Sector[];
}

export interface Sectors {
  at: string;
  organisations: Organisation[];
  next: string | null;
}

export interface MatrixRow {
  organisation: string;
  sector?: string | null;
  workload?: string;
  clusters?: number;
  counts?: number[];
  others?: number;
  cluster?: string;
  name?: string;
  version?: string;
  cells?: (string | null)[];
}

export interface Matrix {
  at: string;
  versions: string[];
  versionsLeftOut: number;
  rows: MatrixRow[];
  next: string | null;
}

export interface Span {
  kind: "schedule" | "window" | "exclusion";
  from: string;
  until: string;
  timeZone: string | null;
  why: string | null;
}

export interface CalendarRow {
  organisation: string;
  clusters: number;
  names: string[];
  schedule: string | null;
  nextStart: string | null;
  place: string | null;
  spans: Span[];
  isCut: boolean;
}

export interface Calendar {
  from: string;
  until: string;
  calendars: CalendarRow[];
  next: string | null;
}

export interface ForecastStart {
  at: string;
  cluster: string;
  name: string;
  organisation: string;
  sector: string | null;
  nodePool: string | null;
  from: string;
  to: string;
  channel?: string;
}

export interface Idle {
  cluster: string;
  name: string;
  organisation: string;
  sector: string | null;
  from: string;
  to: string | null;
  verdict: Verdict;
}

export interface Forecast {
  at?: string;
  starts: ForecastStart[];
  idle: Idle[];
  idleLeftOut: number;
  next: string | null;
}

export interface HistoryEntry {
  organisation: string;
  version: string;
  workload: string;
  soakDays: number;
  soakSeconds: number;
  clusters: string[];
  clustersLeftOut?: number;
}

export interface History {
  entries: HistoryEntry[];
  next: string | null;
}

export interface Said {
  at: string;
  by: string;
  /** Null where a program recorded it that kept no history. */
  knownBy: string | null;
  why: string | null;
}

export interface Act extends Said {
  kind: string;
  organisation: string | null;
  sector: string | null;
  cluster: string | null;
  name: string | null;
  version: string | null;
  gate: string | null;
  nodePool: string | null;
  upgrade: number | null;
  ended: Said | null;
}

export interface Acts {
  acts: Act[];
  next: string | null;
}

export interface Upgrade {
  id: number;
  cluster: string;
  name: string | null;
  nodePool: string | null;
  from: string;
  to: string;
  state: string;
  owner: string;
  startAt: string;
  changedAt: string;
  failures: number;
  note: string | null;
  channel?: string;
}

export interface AgentUpdate {
  to: string;
  outcome: string;
  why: string | null;
  startedAt: string;
  tookSeconds: number | null;
  automatic: boolean;
}

export interface Preflight {
  version: string;
  from: string;
  state: string;
  why: string | null;
  risks: string[];
  at: string;
  by: string;
}

export interface Start {
  cluster: string;
  name: string;
  organisation: string;
  sector: string | null;
  kind: string;
  nodePool: string | null;
  from: string;
  to: string;
  at: string;
  mutexes: string[];
  channel?: string;
}

export interface Candidate {
  to: string;
  channel?: string;
  verdict: Verdict;
}

export interface Why {
  cluster: string;
  name: string;
  organisation: string;
  sector: string | null;
  workloads: string[];
  version: string;
  verdict: Verdict;
  start: Start | null;
  nothing: Reason | null;
  candidates: Candidate[];
}

export interface ClusterPage extends Why {
  channel?: string | null;
  platform?: string | null;
  seenAt?: string | null;
  healthy?: boolean | null;
  policy: (Record<string, unknown> & { place?: string | null }) | null;
  history: { version: string; from: string; until: string; healthy: boolean }[];
  report: Record<string, unknown> | null;
  upgrades: Upgrade[];
  updates: AgentUpdate[] | null;
  preflights: Preflight[];
  acts: Act[];
}

export interface DecisionEntry {
  id: number;
  at: string;
  clusters: number;
  starts: number;
  cancels: number;
  begins: number;
  ended: number;
  overdue: number;
  why: string;
}

export interface Decisions {
  decisions: DecisionEntry[];
  next: number | null;
  pruned: { id: number; at: string } | null;
}

export interface Decision {
  id: number;
  at: string;
  hash: string;
  decision: {
    at: string;
    starts: Start[];
    cancels: { upgrade: number; verdict: Verdict }[];
    begins: number[];
    ended: { upgrade: number; state: string; note: string | null }[];
    overdue: { upgrade: number; since: string }[];
  };
  held: Record<string, number>;
  replay: { same: boolean | null; sentence: string };
  why: Why | null;
}
