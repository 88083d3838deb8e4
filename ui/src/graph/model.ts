// The graph as the API answers it, with the indices that drawing and tables need. Nothing is judged here.

import type { AnswerWord } from "../api/types";

export interface GraphAnswer {
  at: string;
  arch: string;
  id: string | null;
  platform: string | null;
  warnings: string[];
  channels: string[];
  width: number;
  lanes: { minor: string; y: number }[];
  releases: Release[];
  kinds: { kind: string; text: string }[];
  answers: EdgeAnswer[];
  edges: [number, number, number][];
}

export interface Release {
  version: string;
  lane: number;
  x: number;
  y: number;
  channels: string[];
  entersAt: string | null;
  url: string | null;
}

export interface EdgeAnswer {
  kind: string;
  answer: AnswerWord;
  channel: string;
  share: number | null;
  offeredFrom: string | null;
  risks: string[];
  codes: string[];
}

export interface Edge {
  from: number;
  to: number;
  answer: EdgeAnswer;
}

/** An answer with its indices. Made once for each answer. */
export class GraphModel {
  readonly places = new Map<string, number>();
  readonly rows: number;
  private readonly grid: Int32Array;
  private readonly outStart: Int32Array;
  private readonly inStart: Int32Array;
  private readonly inEdges: Int32Array;

  constructor(readonly data: GraphAnswer) {
    const { releases, edges, width } = data;
    this.rows = 1 + releases.reduce((most, release) => Math.max(most, release.y), 0);
    this.grid = new Int32Array(Math.max(1, this.rows * width)).fill(-1);
    releases.forEach((release, index) => {
      this.places.set(release.version, index);
      this.grid[release.y * width + release.x] = index;
    });
    // Edges are sorted by (from, to), so those out of a release lie together. Those into one are counted and placed.
    this.outStart = new Int32Array(releases.length + 1);
    this.inStart = new Int32Array(releases.length + 1);
    for (let index = 0; index < edges.length; index += 1) {
      const edge = edges[index]!;
      this.outStart[edge[0] + 1]! += 1;
      this.inStart[edge[1] + 1]! += 1;
    }
    for (let index = 0; index < releases.length; index += 1) {
      this.outStart[index + 1]! += this.outStart[index]!;
      this.inStart[index + 1]! += this.inStart[index]!;
    }
    this.inEdges = new Int32Array(edges.length);
    const next = this.inStart.slice();
    for (let index = 0; index < edges.length; index += 1) this.inEdges[next[edges[index]![1]]!++] = index;
  }

  place(version: string): number {
    return this.places.get(version) ?? -1;
  }

  release(index: number): Release {
    return this.data.releases[index]!;
  }

  /** The release at a place of the grid, or -1. */
  releaseAt(x: number, y: number): number {
    if (x < 0 || y < 0 || x >= this.data.width || y >= this.rows) return -1;
    return this.grid[y * this.data.width + x]!;
  }

  private edge(index: number): Edge {
    const [from, to, answer] = this.data.edges[index]!;
    return { from, to, answer: this.data.answers[answer]! };
  }

  out(release: number): Edge[] {
    const edges: Edge[] = [];
    for (let index = this.outStart[release]!; index < this.outStart[release + 1]!; index += 1) edges.push(this.edge(index));
    return edges;
  }

  into(release: number): Edge[] {
    const edges: Edge[] = [];
    for (let index = this.inStart[release]!; index < this.inStart[release + 1]!; index += 1) edges.push(this.edge(this.inEdges[index]!));
    return edges;
  }

  counts(release: number): { out: number; into: number } {
    return { out: this.outStart[release + 1]! - this.outStart[release]!, into: this.inStart[release + 1]! - this.inStart[release]! };
  }

  between(from: number, to: number): Edge | null {
    if (from < 0 || to < 0) return null;
    return this.out(from).find((edge) => edge.to === to) ?? null;
  }

  /** How many updates there are of each kind, in the order of the legend. */
  countByKind(): Map<string, number> {
    const counts = new Map(this.data.kinds.map(({ kind }) => [kind, 0]));
    const { answers, edges } = this.data;
    const byAnswer = new Uint32Array(answers.length);
    for (let index = 0; index < edges.length; index += 1) byAnswer[edges[index]![2]]! += 1;
    answers.forEach(({ kind }, index) => counts.set(kind, (counts.get(kind) ?? 0) + byAnswer[index]!));
    return counts;
  }
}

const models = new WeakMap<GraphAnswer, GraphModel>();

/** The model of an answer, made once. */
export function modelOf(data: GraphAnswer): GraphModel {
  let model = models.get(data);
  if (!model) models.set(data, (model = new GraphModel(data)));
  return model;
}
