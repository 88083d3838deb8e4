// The shapes of the API's answers that the page reads. The truth is /api/v1/openapi.json.

export type AnswerWord = "yes" | "unless" | "wait" | "no";

export interface Reason {
  code: string;
  text: string;
  help: string;
  command: string | null;
  check: string | null;
  object: string | null;
  note: boolean;
  until: string | null;
  place: string | null;
  facts: Record<string, unknown>;
}

export interface Verdict {
  answer: AnswerWord;
  until?: string | null;
  reasons: Reason[];
}

export interface Finding {
  severity: "error" | "warning";
  code: string;
  place: string;
  problem: string;
  remedy: string;
}

export interface Risk {
  name: string;
  message?: string;
  url?: string;
  matchingRules?: unknown[];
}

export interface Session {
  readOnly: boolean;
  /** Null without a token. */
  identity: { name: string; source: string; ends: string | null } | null;
  /** Each in one organisation, or in all. */
  roles: { role: string; organisation: string | null }[];
  /** What the caller may do in some organisation at least. */
  permissions: string[];
  needsToken: boolean;
  /** Where people log in; null where nobody can. */
  login: Login | null;
  hasFleet: boolean;
  example: boolean;
  version: string;
  commit: string | null;
  /** Why the token that was sent gives nothing. */
  tokenProblem?: { kind: string; value: string } | null;
}

/** Where the page sends people who log in. */
export interface Login {
  clientId: string;
  scope: string;
  authorizationEndpoint: string;
  endSessionEndpoint: string | null;
}

export interface SourceProblem {
  since: string;
  kind: string | null;
  sentence: string | null;
  more: string[];
}

export interface Source {
  name: string;
  kind: string;
  location: string;
  state: string;
  ageSeconds: number | null;
  lastSuccess: string | null;
  problem: SourceProblem | null;
  stricterParts: { name: string; since: string; to: string; from: string }[];
  stricterPartsLeftOut: number;
}

export interface Ready {
  status: string;
  graph: null | {
    loadedAt: string;
    ageSeconds: number | null;
    digest: string;
    releases: number;
    edges: number;
    channels: number;
    blocks: number;
  };
  sources: Source[];
  signatures: null | {
    keyring: { keys: number; problem: SourceProblem | null };
    stores: { name: string; location: string; ageSeconds: number | null; lastSuccess: string | null; problem: SourceProblem | null }[];
  };
  tls: null | { certificateEnds: string; clientCertificates: boolean; revocationListEnds: string | null; problems: { part: string; problem: string }[] };
  setup: Finding[];
  /** Null where nobody logs in with an issuer. */
  login: null | { issuer: string; keys: number; keysAgeSeconds: number | null; problem: string | null; takesTokens: boolean };
  lastReload: { at: string; result: "pending" | "changed" | "unchanged" | "failed"; findings: Finding[]; findingsLeftOut: number };
  fleet: {
    configured: boolean;
    store?: string;
    problem?: string | null;
    checkedAt?: string;
    lastPass?: string | null;
    isScheduler?: boolean;
    findings?: { errors: number; warnings: number; shown: Finding[]; leftOut: number };
  };
}
