// Draws the graph: lanes, density, the updates in hand, releases, names. What is out of sight is left out.
//
// Most of it goes on a plate that is larger than what is seen, so that moving is only moving the plate. What follows the
// pointer, and the names of lanes, lie on top.

import { drawDensity, type Density } from "./density";
import type { Edge, GraphModel } from "./model";
import { lineStyle } from "./style";
import { bend, GUTTER, pixelX, pixelY, type Size, type View } from "./viewport";

export interface Palette {
  ground: string;
  ink: string;
  muted: string;
  line: string;
  accent: string;
  tones: Record<string, string>;
}

export interface Scene {
  model: GraphModel;
  /** What is selected, or -1. */
  selected: number;
  target: number;
  cursor: number;
  hover: number;
  /** What the search has found. */
  found: ReadonlySet<number>;
  /** The hops of the path in hand, as releases. */
  path: readonly number[];
  /** The updates out of and into what is selected. */
  out: readonly Edge[];
  into: readonly Edge[];
}

const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** What moves with the graph. `size` is the plate's, and the view is as seen from its corner. */
export function drawPlate(context: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, density: { made: Density; x: number; y: number } | null, palette: Palette): void {
  context.clearRect(0, 0, size.width, size.height);
  drawLanes(context, scene, view, size, palette);
  const busy = scene.selected >= 0 || scene.path.length > 1;
  if (density) {
    context.globalAlpha = busy ? 0.3 : 1;
    drawDensity(context, density.made, { ...view, left: view.left - density.x, top: view.top - density.y }, density);
    context.globalAlpha = 1;
  }
  drawEdges(context, scene, view, size, palette);
  drawPath(context, scene, view, palette);
  drawReleases(context, scene, view, size, palette, busy);
}

/** What lies on top of the plate: where the pointer and the keyboard are, and the names of lanes. */
export function drawTop(context: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, palette: Palette): void {
  const radius = radiusOf(view);
  const names = new Names(context, palette);
  const mark = (index: number, more: number, colour: string) => {
    if (index < 0) return;
    ring(context, scene.model, index, view, radius + more, colour, null);
    const release = scene.model.release(index);
    names.put(release.version, pixelX(view, release.x), pixelY(view, release.y), radius + 6, true);
  };
  mark(scene.cursor, 8, palette.ink);
  mark(scene.hover, 6, palette.muted);
  drawLaneNames(context, scene, view, size, palette);
}

const radiusOf = (view: View): number => Math.max(1.6, Math.min(5, view.sx * 0.3, view.sy * 0.16));

function drawLanes(context: CanvasRenderingContext2D, { model }: Scene, view: View, size: Size, palette: Palette): void {
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const lane of model.data.lanes) {
    const y = Math.round(pixelY(view, lane.y)) + 0.5;
    if (y < -20 || y > size.height + 20) continue;
    context.moveTo(0, y);
    context.lineTo(size.width, y);
  }
  context.stroke();
}

/** The names of lanes stay at the left, whatever lies below them. */
function drawLaneNames(context: CanvasRenderingContext2D, { model }: Scene, view: View, size: Size, palette: Palette): void {
  context.fillStyle = palette.ground;
  context.fillRect(0, 0, GUTTER, size.height);
  context.fillStyle = palette.muted;
  context.font = `600 12px ${SANS}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const lane of model.data.lanes) {
    const y = pixelY(view, lane.y);
    if (y > -10 && y < size.height + 10) context.fillText(lane.minor, GUTTER - 10, y);
  }
}

function trace(context: CanvasRenderingContext2D, model: GraphModel, from: number, to: number, view: View): { angle: number; x: number; y: number } {
  const a = model.release(from);
  const b = model.release(to);
  const x1 = pixelX(view, a.x);
  const y1 = pixelY(view, a.y);
  const x2 = pixelX(view, b.x);
  const y2 = pixelY(view, b.y);
  const [cx, cy] = bend(x1, y1, x2, y2, view.sy);
  context.moveTo(x1, y1);
  context.quadraticCurveTo(cx, cy, x2, y2);
  return { angle: Math.atan2(y2 - cy, x2 - cx), x: x2, y: y2 };
}

function outOfSight(model: GraphModel, edge: Edge, view: View, size: Size): boolean {
  const x1 = pixelX(view, model.release(edge.from).x);
  const x2 = pixelX(view, model.release(edge.to).x);
  return (x1 < 0 && x2 < 0) || (x1 > size.width && x2 > size.width);
}

/** The updates of the selected release: those out of it clearly, those into it fainter. Closed ones lie below open ones. */
function drawEdges(context: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, palette: Palette): void {
  const { model, target } = scene;
  const focused = target >= 0 || scene.path.length > 1;
  const draw = (edges: readonly Edge[], isOut: boolean) => {
    const byOpenness = [...edges].sort((a, b) => weight(a) - weight(b));
    for (const edge of byOpenness) {
      if (outOfSight(model, edge, view, size)) continue;
      const style = lineStyle(edge.answer.kind);
      const inHand = isOut && edge.to === target;
      context.globalAlpha = inHand ? 1 : focused ? 0.28 : isOut ? 0.85 : 0.38;
      context.strokeStyle = context.fillStyle = palette.tones[style.tone]!;
      context.lineWidth = inHand ? style.width + 1.6 : isOut ? style.width : 1.1;
      context.setLineDash(style.dash as number[]);
      context.beginPath();
      const end = trace(context, model, edge.from, edge.to, view);
      context.stroke();
      context.setLineDash([]);
      if (isOut) drawEnd(context, end, style.end, inHand ? 1.5 : 1);
    }
  };
  draw(scene.into, false);
  draw(scene.out, true);
  context.globalAlpha = 1;
}

const weight = (edge: Edge): number => (lineStyle(edge.answer.kind).end === "arrow" ? 1 : 0);

/** The sign at the end of an update, just before its release. */
function drawEnd(context: CanvasRenderingContext2D, { angle, x, y }: { angle: number; x: number; y: number }, end: string, scale: number): void {
  const back = 9;
  const atX = x - Math.cos(angle) * back;
  const atY = y - Math.sin(angle) * back;
  context.save();
  context.translate(atX, atY);
  context.rotate(angle);
  context.scale(scale, scale);
  context.lineWidth = 1.6;
  context.beginPath();
  if (end === "arrow") {
    context.moveTo(4, 0);
    context.lineTo(-4, -3.6);
    context.lineTo(-4, 3.6);
    context.closePath();
    context.fill();
  } else if (end === "cross") {
    context.moveTo(-3, -3);
    context.lineTo(3, 3);
    context.moveTo(3, -3);
    context.lineTo(-3, 3);
    context.stroke();
  } else {
    context.arc(0, 0, 2.6, 0, 7);
    context.stroke();
  }
  context.restore();
}

function drawPath(context: CanvasRenderingContext2D, { model, path }: Scene, view: View, palette: Palette): void {
  if (path.length < 2) return;
  for (const [width, colour, alpha] of [[9, palette.accent, 0.25], [3, palette.accent, 1]] as const) {
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.strokeStyle = context.fillStyle = colour;
    context.lineCap = "round";
    for (let hop = 1; hop < path.length; hop += 1) {
      context.beginPath();
      const end = trace(context, model, path[hop - 1]!, path[hop]!, view);
      context.stroke();
      if (alpha === 1) drawEnd(context, end, "arrow", 1.5);
    }
  }
  context.globalAlpha = 1;
  context.lineCap = "butt";
}

function drawReleases(context: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, palette: Palette, busy: boolean): void {
  const { model } = scene;
  const radius = radiusOf(view);
  const touched = new Map<number, Edge | null>();
  for (const edge of scene.into) touched.set(edge.from, null);
  for (const edge of scene.out) touched.set(edge.to, edge);
  const onPath = new Set(scene.path);
  const first = Math.floor(-view.left / view.sx) - 1;
  const last = Math.ceil((size.width - view.left) / view.sx) + 1;
  const plain: number[] = [];
  const ahead: number[] = [];
  const now = Date.parse(model.data.at);
  model.data.releases.forEach((release, index) => {
    if (release.x < first || release.x > last) return;
    if (touched.has(index) || onPath.has(index) || index === scene.selected || index === scene.target) return;
    if (release.entersAt && Date.parse(release.entersAt) > now) ahead.push(index);
    else plain.push(index);
  });
  // What has nothing to do with what is selected is drawn quietly, all in one stroke.
  context.fillStyle = busy ? palette.line : palette.ink;
  dots(context, model, plain, view, radius);
  context.fill();
  context.strokeStyle = busy ? palette.line : palette.muted;
  context.lineWidth = 1.3;
  dots(context, model, ahead, view, radius);
  context.stroke();
  const names = new Names(context, palette);
  for (const [index, edge] of touched) {
    const { x, y } = model.release(index);
    if (x < first || x > last) continue;
    context.fillStyle = edge ? palette.tones[lineStyle(edge.answer.kind).tone]! : palette.muted;
    context.beginPath();
    context.arc(pixelX(view, x), pixelY(view, y), radius + (edge ? 1 : 0), 0, 7);
    context.fill();
  }
  for (const index of onPath) {
    ring(context, model, index, view, radius + 2.5, palette.accent, palette.ground);
  }
  if (scene.target >= 0) ring(context, model, scene.target, view, radius + 3, palette.ink, palette.ground);
  if (scene.selected >= 0) {
    ring(context, model, scene.selected, view, radius + 4, palette.accent, palette.accent);
  }
  for (const index of scene.found) ring(context, model, index, view, radius + 5, palette.tones["conditional"]!, null);
  // Names, the important ones first: what would lie on another is left out.
  const name = (index: number, strong: boolean) => {
    const release = model.release(index);
    names.put(release.version, pixelX(view, release.x), pixelY(view, release.y), radius + 6, strong);
  };
  for (const index of [scene.selected, scene.target]) if (index >= 0) name(index, true);
  for (const index of scene.path) name(index, true);
  for (const index of scene.found) name(index, true);
  if (touched.size > 0 && view.sx > 11) for (const [index] of touched) if (inSight(model, index, view, size)) name(index, false);
  if (view.sx > 11) for (const index of [...plain, ...ahead]) if (inSight(model, index, view, size)) name(index, false);
}

function inSight(model: GraphModel, index: number, view: View, size: Size): boolean {
  const release = model.release(index);
  const x = pixelX(view, release.x);
  const y = pixelY(view, release.y);
  return x > 0 && x < size.width && y > 0 && y < size.height;
}

function dots(context: CanvasRenderingContext2D, model: GraphModel, indices: readonly number[], view: View, radius: number): void {
  context.beginPath();
  for (const index of indices) {
    const release = model.release(index);
    const x = pixelX(view, release.x);
    const y = pixelY(view, release.y);
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 6.2832);
  }
}

function ring(context: CanvasRenderingContext2D, model: GraphModel, index: number, view: View, radius: number, stroke: string, fill: string | null): void {
  const release = model.release(index);
  context.beginPath();
  context.arc(pixelX(view, release.x), pixelY(view, release.y), radius, 0, 6.2832);
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  context.strokeStyle = stroke;
  context.lineWidth = 2;
  context.stroke();
}

const MOST_NAMES = 400;

/** Names beside releases, where there is room. */
class Names {
  private readonly taken: [number, number, number, number][] = [];
  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly palette: Palette,
  ) {}

  put(text: string, x: number, y: number, below: number, strong: boolean): void {
    const { context, palette } = this;
    if (!strong && this.taken.length > MOST_NAMES) return;
    context.font = strong ? `650 12px ${SANS}` : `11px ${SANS}`;
    const width = widthOf(context, text);
    const box: [number, number, number, number] = [x - width / 2 - 2, y + below - 1, x + width / 2 + 2, y + below + 14];
    if (this.taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
    this.taken.push(box);
    context.textAlign = "center";
    context.textBaseline = "top";
    if (strong) {
      context.fillStyle = palette.ground;
      context.globalAlpha = 0.85;
      context.fillRect(box[0], box[1], box[2] - box[0], box[3] - box[1]);
      context.globalAlpha = 1;
    }
    context.fillStyle = strong ? palette.ink : palette.muted;
    context.fillText(text, x, y + below);
  }
}

const widths = new Map<string, number>();

/** Measuring a text costs more than drawing it. */
function widthOf(context: CanvasRenderingContext2D, text: string): number {
  const key = context.font + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    widths.set(key, (width = context.measureText(text).width));
  }
  return width;
}
