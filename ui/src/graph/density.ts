// All updates at once, as density: how many lines pass through each point, by what becomes of them. Counting into an
// array costs the same however many lines there are, so that tens of thousands take a part of a second, and it is done
// in slices that leave each frame its time.

import type { GraphModel } from "./model";
import { lineStyle } from "./style";
import { bend, pixelX, pixelY, type Size, type View } from "./viewport";

/** The planes that are counted by themselves: what is open, what opens, what is closed. */
const PLANES = 3;

function planeOf(kind: string): number {
  const { tone, end } = lineStyle(kind);
  if (tone === "phasing") return 1;
  return end === "cross" ? 2 : 0;
}

/** Beyond what is seen, so that one can move without an empty border. */
export const BORDER = 0.35;
/** One point of the count for so many pixels. */
const COARSE = 2;
/** The points of one line lie so far apart, farther if there are more lines than the budget of points is for. */
const STEP = 1.6;
const POINTS = 1_200_000;

export interface Density {
  canvas: HTMLCanvasElement;
  /** The view that it was made for. */
  view: View;
  /** Where its corner lies in that view. */
  x: number;
  y: number;
  width: number;
  height: number;
}

export type Colours = readonly (readonly [number, number, number])[];

/** Counts in slices: `work` goes on for some milliseconds, and says when it is finished. */
export class DensityMaker {
  private readonly counts: Uint16Array;
  private readonly width: number;
  private readonly height: number;
  private readonly x: number;
  private readonly y: number;
  private readonly planes: Uint8Array;
  private readonly step: number;
  private next = 0;

  constructor(
    private readonly model: GraphModel,
    readonly view: View,
    size: Size,
  ) {
    this.x = -size.width * BORDER;
    this.y = -size.height * BORDER;
    this.width = Math.ceil((size.width * (1 + 2 * BORDER)) / COARSE);
    this.height = Math.ceil((size.height * (1 + 2 * BORDER)) / COARSE);
    this.counts = new Uint16Array(this.width * this.height * PLANES);
    this.step = Math.max(STEP, (model.data.edges.length * (this.width / (1 + 2 * BORDER)) * 0.25) / POINTS);
    this.planes = Uint8Array.from(model.data.answers, (answer) => planeOf(answer.kind));
  }

  work(milliseconds: number): boolean {
    const { edges } = this.model.data;
    const end = performance.now() + milliseconds;
    while (this.next < edges.length) {
      const until = Math.min(edges.length, this.next + 64);
      for (; this.next < until; this.next += 1) this.count(this.next);
      if (performance.now() > end) break;
    }
    return this.next >= edges.length;
  }

  private count(index: number): void {
    const edge = this.model.data.edges[index]!;
    const a = this.model.release(edge[0]);
    const b = this.model.release(edge[1]);
    const { view } = this;
    const x1 = (pixelX(view, a.x) - this.x) / COARSE;
    const x2 = (pixelX(view, b.x) - this.x) / COARSE;
    if ((x1 < 0 && x2 < 0) || (x1 > this.width && x2 > this.width)) return;
    const y1 = (pixelY(view, a.y) - this.y) / COARSE;
    const y2 = (pixelY(view, b.y) - this.y) / COARSE;
    const [cx, cy] = bend(x1, y1, x2, y2, view.sy / COARSE);
    const steps = Math.max(2, Math.min(400, Math.ceil((Math.abs(x2 - x1) + Math.abs(y2 - y1)) / this.step)));
    // Each line begins a little elsewhere, so that the points of many do not make a pattern of their own.
    const shift = ((index * 0.618034) % 1) - 0.5;
    const plane = this.planes[edge[2]]! * this.width * this.height;
    for (let step = 0; step <= steps; step += 1) {
      const t = (step + shift) / steps;
      const u = 1 - t;
      const x = (u * u * x1 + 2 * u * t * cx + t * t * x2) | 0;
      const y = (u * u * y1 + 2 * u * t * cy + t * t * y2) | 0;
      if (x < 0 || y < 0 || x >= this.width || y >= this.height) continue;
      const at = plane + y * this.width + x;
      if (this.counts[at]! < 65535) this.counts[at]! += 1;
    }
  }

  /** The counts as a picture. One line is faint, many are clearer, and it never covers what lies on top. */
  finish(colours: Colours): Density {
    const canvas = document.createElement("canvas");
    canvas.width = this.width;
    canvas.height = this.height;
    const context = canvas.getContext("2d")!;
    const image = context.createImageData(this.width, this.height);
    const points = this.width * this.height;
    const most = this.counts.reduce((high, lines) => Math.max(high, lines), 1);
    const strength = Uint8Array.from({ length: 256 }, (_, lines) => 16 + (104 * Math.log2(1 + lines)) / Math.max(3, Math.log2(1 + Math.min(255, most))));
    for (let point = 0; point < points; point += 1) {
      // What is open lies over what opens, and that over what is closed.
      for (let plane = 0; plane < PLANES; plane += 1) {
        const lines = this.counts[plane * points + point]!;
        if (lines === 0) continue;
        const [red, green, blue] = colours[plane]!;
        image.data[point * 4] = red;
        image.data[point * 4 + 1] = green;
        image.data[point * 4 + 2] = blue;
        image.data[point * 4 + 3] = strength[Math.min(255, lines)]!;
        break;
      }
    }
    context.putImageData(image, 0, 0);
    return { canvas, view: this.view, x: this.x, y: this.y, width: this.width * COARSE, height: this.height * COARSE };
  }
}

/** Whether the picture of the density covers what is seen, at about the same scale. */
export function covers(density: Density, view: View, size: Size): "yes" | "moved" | "scaled" {
  if (Math.abs(density.view.sx / view.sx - 1) > 0.001 || Math.abs(density.view.sy / view.sy - 1) > 0.001) return "scaled";
  const dx = view.left - density.view.left;
  const dy = view.top - density.view.top;
  const slack = 40;
  const left = density.x + dx;
  const top = density.y + dy;
  const covered = left <= -slack / 2 && top <= -slack / 2 && left + density.width >= size.width + slack / 2 && top + density.height >= size.height + slack / 2;
  return covered ? "yes" : "moved";
}

/** Draws it for a view; `corner` is where that view's corner lies on what is drawn on. */
export function drawDensity(context: CanvasRenderingContext2D, density: Density, view: View, corner: { x: number; y: number }): void {
  const scaleX = view.sx / density.view.sx;
  const scaleY = view.sy / density.view.sy;
  const x = corner.x + view.left + (density.x - density.view.left) * scaleX;
  const y = corner.y + view.top + (density.y - density.view.top) * scaleY;
  context.drawImage(density.canvas, x, y, density.width * scaleX, density.height * scaleY);
}
