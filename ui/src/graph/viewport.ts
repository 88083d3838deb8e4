// Where on the picture a release lies: columns and lanes to pixels, moved and scaled.

import type { GraphModel } from "./model";

/** The view in the picture's own pixels: a column is `sx` wide, a lane `sy` high. */
export interface View {
  /** The pixel of column 0, and of lane 0. */
  left: number;
  top: number;
  sx: number;
  sy: number;
}

export interface Size {
  width: number;
  height: number;
}

/** The room at the left for the names of lanes, and around the picture. */
export const GUTTER = 52;
const MARGIN = 26;
const NARROWEST = 3;
const WIDEST = 110;
const LOWEST = 14;
const HIGHEST = 150;

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** All of the graph. */
export function fit(model: GraphModel, size: Size): View {
  const columns = Math.max(1, model.data.width - 1);
  const rows = Math.max(1, model.rows - 1);
  const sx = clamp((size.width - GUTTER - 2 * MARGIN) / columns, NARROWEST, 72);
  const sy = clamp((size.height - 2 * MARGIN - 12) / rows, LOWEST, 120);
  return bounded({ left: GUTTER + MARGIN, top: (size.height - rows * sy) / 2, sx, sy }, model, size);
}

/** Keeps part of the graph in sight. */
export function bounded(view: View, model: GraphModel, size: Size): View {
  const right = (model.data.width - 1) * view.sx;
  const bottom = (model.rows - 1) * view.sy;
  const low = Math.min(GUTTER + MARGIN, size.width - MARGIN - right);
  const high = Math.max(GUTTER + MARGIN, size.width - MARGIN - right);
  const fits = bottom <= size.height - 2 * MARGIN;
  return {
    ...view,
    left: clamp(view.left, low, high),
    top: fits ? (size.height - bottom) / 2 : clamp(view.top, size.height - MARGIN - bottom, MARGIN + 8),
  };
}

/** Closer or farther, with what lies at a pixel staying there. */
export function zoomed(view: View, factor: number, x: number, y: number, model: GraphModel, size: Size): View {
  const sx = clamp(view.sx * factor, NARROWEST, WIDEST);
  const sy = clamp(view.sy * Math.sqrt(factor), LOWEST, HIGHEST);
  return bounded({ sx, sy, left: x - ((x - view.left) * sx) / view.sx, top: y - ((y - view.top) * sy) / view.sy }, model, size);
}

export const pixelX = (view: View, x: number): number => view.left + x * view.sx;
export const pixelY = (view: View, y: number): number => view.top + y * view.sy;

/** The view in which a release is well in sight; the same one if it is already. */
export function showing(view: View, release: { x: number; y: number }, model: GraphModel, size: Size): View {
  const x = pixelX(view, release.x);
  const y = pixelY(view, release.y);
  const edge = 40;
  if (x > GUTTER + edge && x < size.width - edge && y > edge && y < size.height - edge) return view;
  return bounded({ ...view, left: view.left + (GUTTER + size.width) / 2 - x, top: view.top + size.height / 2 - y }, model, size);
}

/** The release nearest to a pixel, within reach of a finger, or -1. */
export function releaseNear(view: View, model: GraphModel, x: number, y: number): number {
  const reach = 18;
  const column = (x - view.left) / view.sx;
  const row = (y - view.top) / view.sy;
  const columns = Math.ceil(reach / view.sx);
  let best = -1;
  let nearest = reach * reach;
  for (let atY = Math.floor(row); atY <= Math.ceil(row); atY += 1) {
    for (let atX = Math.floor(column) - columns; atX <= Math.ceil(column) + columns; atX += 1) {
      const found = model.releaseAt(atX, atY);
      if (found < 0) continue;
      const distance = (pixelX(view, atX) - x) ** 2 + (pixelY(view, atY) - y) ** 2;
      if (distance < nearest) (nearest = distance), (best = found);
    }
  }
  return best;
}

/** The middle of the curve of an update, as the control point of a quadratic curve. Within a lane it is an arc above. */
export function bend(x1: number, y1: number, x2: number, y2: number, sy: number): [number, number] {
  if (Math.abs(y1 - y2) < 1) return [(x1 + x2) / 2, y1 - Math.min(sy * 0.85, 10 + Math.abs(x2 - x1) * 0.16)];
  // Across lanes: a slight bow, so that updates of a column do not lie on each other.
  return [(x1 + x2) / 2 + (y1 - y2) * 0.12, (y1 + y2) / 2];
}
