// The picture of the graph: a canvas that is moved and scaled by pointer, touch and keyboard. The table beside it says
// the same; what the keyboard reaches here is read out.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { colours } from "../theme";
import { BORDER, covers, DensityMaker, type Density } from "./density";
import { drawPlate, drawTop, type Palette, type Scene } from "./draw";
import type { GraphModel } from "./model";
import { bounded, fit, releaseNear, showing, zoomed, type Size, type View } from "./viewport";

interface Props {
  model: GraphModel;
  selected: number;
  target: number;
  found: ReadonlySet<number>;
  path: readonly number[];
  onSelect: (release: number) => void;
  onTarget: (release: number) => void;
  /** How a release is read out. */
  describe: (release: number) => string;
  label: string;
}

const DRAG_BEGINS = 4;
/** What counting may take of a frame, in milliseconds: little while the picture is moved, more while it rests. */
const SLICE_MOVING = 5;
const SLICE_RESTING = 14;
const RESTS_AFTER = 150;

/** What has been drawn, larger than what is seen, and for what. */
interface Plate {
  canvas: HTMLCanvasElement;
  view: View;
  /** How far it reaches beyond what is seen, in pixels of the page. */
  x: number;
  y: number;
  scene: Scene;
  density: Density | null;
  palette: Palette;
}

/** Draws when something has changed, and only then. */
class Painter {
  view: View | null = null;
  size: Size = { width: 0, height: 0 };
  scene: Scene | null = null;
  palette: Palette | null = null;
  private density: Density | null = null;
  private plate: Plate | null = null;
  private maker: DensityMaker | null = null;
  private frame = 0;
  private settle = 0;
  private counting = 0;
  /** The density is of the graph before. */
  private isOld = false;
  private movedAt = 0;
  private lastModel: GraphModel | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  resize(): boolean {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || (width === this.size.width && height === this.size.height)) return false;
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.size = { width, height };
    return true;
  }

  show(scene: Scene): void {
    this.scene = scene;
    if (this.lastModel !== scene.model) {
      const before = this.lastModel;
      this.lastModel = scene.model;
      this.maker = null;
      this.isOld = true;
      const sameShape = before && this.view && before.data.width === scene.model.data.width && before.rows === scene.model.rows;
      // The same releases a minute later: what there was stays until the new density is counted.
      if (!sameShape) this.view = this.density = null;
    }
    this.ask();
  }

  move(view: View): void {
    this.view = view;
    this.movedAt = performance.now();
    this.ask();
  }

  readColours(): void {
    const style = getComputedStyle(this.canvas);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    const tones = Object.fromEntries(["offered", "conditional", "phasing", "blocked", "failing", "quiet"].map((name) => [name, colour(name)]));
    this.palette = { ground: colour("surface"), ink: colour("ink"), muted: colour("muted"), line: colour("line"), accent: colour("accent"), tones };
    this.density = null;
    this.maker = null;
    this.ask();
  }

  ask(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
  }

  end(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settle);
    clearTimeout(this.counting);
  }

  private paint(): void {
    this.frame = 0;
    if (!this.scene || !this.palette || this.size.width === 0) return;
    this.view ??= fit(this.scene.model, this.size);
    const ratio = this.canvas.width / this.size.width;
    if (!this.plate || !this.holds(this.plate)) this.plate = this.engrave(ratio);
    const { plate, view } = this;
    const context = this.canvas.getContext("2d")!;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    // Whole pixels: then moving is copying.
    context.drawImage(plate.canvas, Math.round((view.left - plate.view.left - plate.x) * ratio), Math.round((view.top - plate.view.top - plate.y) * ratio));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawTop(context, this.scene, view, this.size, this.palette);
    this.count();
    this.canvas.dataset["drawn"] = String(Number(this.canvas.dataset["drawn"] ?? 0) + 1);
  }

  /** Whether the plate shows what is to be shown, and reaches far enough. */
  private holds(plate: Plate): boolean {
    const { view, scene } = this;
    if (plate.density !== this.density || plate.palette !== this.palette || !sameScene(plate.scene, scene!)) return false;
    if (plate.view.sx !== view!.sx || plate.view.sy !== view!.sy) return false;
    return Math.abs(view!.left - plate.view.left) <= plate.x && Math.abs(view!.top - plate.view.top) <= plate.y;
  }

  private engrave(ratio: number): Plate {
    const { size } = this;
    const view = this.view!;
    const scene = this.scene!;
    // Where all lanes are in sight, nothing moves up or down.
    const isTall = (scene.model.rows - 1) * view.sy > size.height - 60;
    const x = Math.round(size.width * BORDER);
    const y = isTall ? Math.round(size.height * BORDER) : 0;
    const canvas = this.plate?.canvas ?? document.createElement("canvas");
    const wide = { width: size.width + 2 * x, height: size.height + 2 * y };
    const [width, height] = [Math.round(wide.width * ratio), Math.round(wide.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const shifted = { ...view, left: view.left + x, top: view.top + y };
    drawPlate(context, scene, shifted, wide, this.density && { made: this.density, x, y }, this.palette!);
    return { canvas, view, x, y, scene, density: this.density, palette: this.palette! };
  }

  /** Keeps the density up to date with the view: at once when moved, after a moment when scaled. */
  private count(): void {
    const view = this.view!;
    const state = this.density ? covers(this.density, view, this.size) : "moved";
    if (state === "yes" && !this.isOld) return;
    if (state === "scaled" && this.density) {
      clearTimeout(this.settle);
      this.settle = setTimeout(() => this.begin(), 120);
    } else if (!this.maker) this.begin();
  }

  private begin(): void {
    this.isOld = false;
    const maker = (this.maker = new DensityMaker(this.scene!.model, this.view!, this.size));
    clearTimeout(this.counting);
    // Releases are seen first.
    this.counting = setTimeout(() => this.slice(maker), 0);
  }

  /** Counts for a slice of time, beside the frames, and draws again when all is counted. */
  private slice(maker: DensityMaker): void {
    if (this.maker !== maker) return;
    const moving = performance.now() - this.movedAt < RESTS_AFTER;
    if (!maker.work(moving ? SLICE_MOVING : SLICE_RESTING)) {
      this.counting = setTimeout(() => this.slice(maker), moving ? 12 : 0);
      return;
    }
    const rgb = ["offered", "phasing", "blocked"].map((name) => channels(this.palette!.tones[name]!));
    this.density = maker.finish(rgb);
    this.maker = null;
    this.ask();
  }
}

/** Whether two scenes look the same but for what lies on top. */
function sameScene(a: Scene, b: Scene): boolean {
  return a.model === b.model && a.selected === b.selected && a.target === b.target && a.found === b.found && a.path === b.path && a.out === b.out && a.into === b.into;
}

/** "#0a5ba8" as numbers. */
function channels(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.replace("#", ""), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function Picture({ model, selected, target, found, path, onSelect, onTarget, describe, label }: Props): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null);
  const [cursor, setCursor] = useState(-1);
  const [hover, setHover] = useState(-1);
  const [focused, setFocused] = useState(false);
  const out = useMemo(() => (selected >= 0 ? model.out(selected) : []), [model, selected]);
  const into = useMemo(() => (selected >= 0 ? model.into(selected) : []), [model, selected]);
  const scene: Scene = { model, selected, target, cursor: focused ? cursor : -1, hover, found, path, out, into };

  useLayoutEffect(() => {
    const made = (painter.current = new Painter(canvas.current!));
    made.resize();
    made.readColours();
    const watcher = new ResizeObserver(() => {
      if (!made.resize()) return;
      made.view = null;
      made.ask();
    });
    watcher.observe(canvas.current!);
    const stop = colours.subscribe(() => made.readColours());
    return () => {
      watcher.disconnect();
      stop();
      made.end();
    };
  }, []);

  useLayoutEffect(() => painter.current!.show(scene));

  const reveal = (release: number) => {
    const { current } = painter;
    if (release < 0 || !current?.view) return;
    current.move(showing(current.view, model.release(release), model, current.size));
  };
  // What comes to be selected is brought into sight.
  useEffect(() => reveal(selected), [model, selected]);
  useEffect(() => reveal(target), [model, target]);
  const onlyFound = found.size > 0 ? [...found][0]! : -1;
  useEffect(() => reveal(onlyFound), [onlyFound]);
  useEffect(() => {
    if (cursor >= model.data.releases.length) setCursor(-1);
  }, [model]);

  const zoom = (factor: number, x?: number, y?: number) => {
    const { current } = painter;
    if (!current?.view) return;
    current.move(zoomed(current.view, factor, x ?? current.size.width / 2, y ?? current.size.height / 2, model, current.size));
  };
  const all = () => {
    const { current } = painter;
    if (current) current.move(fit(model, current.size));
  };
  usePointers(canvas, painter, model, { setHover, zoom, onClick: (release, isTarget) => (isTarget ? onTarget(release) : onSelect(release)), selected });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = cursor >= 0 ? cursor : selected >= 0 ? selected : model.data.releases.length - 1;
    const go = (release: number) => {
      if (release < 0) return;
      setCursor(release);
      reveal(release);
    };
    const key = event.key;
    if (key === "ArrowRight") go(neighbour(model, at, 1));
    else if (key === "ArrowLeft") go(neighbour(model, at, -1));
    else if (key === "ArrowUp") go(across(model, at, -1));
    else if (key === "ArrowDown") go(across(model, at, 1));
    else if (key === "Home") go(edgeOfLane(model, at, -1));
    else if (key === "End") go(edgeOfLane(model, at, 1));
    else if (key === "Enter" || key === " ") {
      if (event.shiftKey && selected >= 0) onTarget(at);
      else onSelect(at);
      setCursor(at);
    } else if (key === "e" || key === "E") {
      if (out.length === 0) return;
      const place = out.findIndex((edge) => edge.to === target);
      const next = key === "e" ? (place + 1) % out.length : place <= 0 ? out.length - 1 : place - 1;
      onTarget(out[next]!.to);
    } else if (key === "+" || key === "=") zoom(1.4);
    else if (key === "-") zoom(1 / 1.4);
    else if (key === "0") all();
    else if (key === "Escape" && (target >= 0 || selected >= 0)) {
      if (target >= 0) onTarget(-1);
      else onSelect(-1);
    } else return;
    event.preventDefault();
  };

  return (
    <div class="picture">
      <div
        class="picture-frame"
        role="application"
        aria-roledescription="picture of the graph"
        aria-label={label}
        aria-describedby="picture-keys"
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        data-picture=""
        style={{ height: `clamp(260px, ${150 + 84 * model.rows}px, max(300px, 56vh))` }}
      >
        <canvas ref={canvas} aria-hidden="true" />
      </div>
      <p id="picture-keys" class="off-screen">Arrow keys move between releases, Enter selects, e goes through its updates, plus and minus scale. The table below says the same.</p>
      <p class="off-screen" role="status">{focused && cursor >= 0 ? describe(cursor) : ""}</p>
      {hover >= 0 && !focused && <p class="picture-hint">{describe(hover)}</p>}
      {focused && cursor >= 0 && <p class="picture-hint" aria-hidden="true">{describe(cursor)}</p>}
      <div class="picture-tools">
        <button type="button" class="small" aria-label="Closer" onClick={() => zoom(1.4)}>+</button>
        <button type="button" class="small" aria-label="Farther" onClick={() => zoom(1 / 1.4)}>−</button>
        <button type="button" class="small" onClick={all}>All</button>
      </div>
    </div>
  );
}

interface PointerActs {
  setHover: (release: number) => void;
  zoom: (factor: number, x?: number, y?: number) => void;
  onClick: (release: number, isTarget: boolean) => void;
  selected: number;
}

/** Dragging moves, two fingers scale, a click selects; a click on another release with shift asks for the update between. */
function usePointers(canvas: { current: HTMLCanvasElement | null }, painter: { current: Painter | null }, model: GraphModel, acts: PointerActs): void {
  const latest = useRef(acts);
  latest.current = acts;
  useEffect(() => {
    const element = canvas.current!;
    const down = new Map<number, { x: number; y: number }>();
    let dragged = 0;
    let hovered = -1;
    const point = (event: PointerEvent | WheelEvent) => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const near = (event: PointerEvent) => {
      const { current } = painter;
      if (!current?.view) return -1;
      const { x, y } = point(event);
      return releaseNear(current.view, model, x, y);
    };
    const begin = (event: PointerEvent) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      if (down.size === 0) dragged = 0;
      down.set(event.pointerId, point(event));
    };
    const during = (event: PointerEvent) => {
      const before = down.get(event.pointerId);
      const { current } = painter;
      if (!before || !current?.view) {
        const found = near(event);
        if (found !== hovered) latest.current.setHover((hovered = found));
        element.style.cursor = found >= 0 ? "pointer" : "grab";
        return;
      }
      const now = point(event);
      const other = [...down.entries()].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const wide = Math.hypot(before.x - other.x, before.y - other.y);
        const wider = Math.hypot(now.x - other.x, now.y - other.y);
        if (wide > 10) latest.current.zoom(wider / wide, (now.x + other.x) / 2, (now.y + other.y) / 2);
        dragged = 100;
      } else {
        dragged += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
        if (dragged > DRAG_BEGINS) {
          element.style.cursor = "grabbing";
          current.move(bounded({ ...current.view, left: current.view.left + now.x - before.x, top: current.view.top + now.y - before.y }, model, current.size));
        }
      }
      down.set(event.pointerId, now);
    };
    const finish = (event: PointerEvent) => {
      if (!down.delete(event.pointerId) || event.type !== "pointerup" || dragged > DRAG_BEGINS) return;
      const found = near(event);
      if (found >= 0) latest.current.onClick(found, event.shiftKey && latest.current.selected >= 0);
    };
    const leave = () => {
      if (hovered >= 0) latest.current.setHover((hovered = -1));
    };
    const wheel = (event: WheelEvent) => {
      const { current } = painter;
      if (!current?.view) return;
      const isFocused = document.activeElement === element.parentElement;
      if (event.ctrlKey || event.metaKey || (isFocused && Math.abs(event.deltaY) > Math.abs(event.deltaX))) {
        const { x, y } = point(event);
        latest.current.zoom(Math.exp(-event.deltaY * 0.0022), x, y);
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        current.move(bounded({ ...current.view, left: current.view.left - (event.deltaX || event.deltaY) }, model, current.size));
      } else return;
      event.preventDefault();
    };
    element.addEventListener("pointerdown", begin);
    element.addEventListener("pointermove", during);
    element.addEventListener("pointerup", finish);
    element.addEventListener("pointercancel", finish);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      element.removeEventListener("pointerdown", begin);
      element.removeEventListener("pointermove", during);
      element.removeEventListener("pointerup", finish);
      element.removeEventListener("pointercancel", finish);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("wheel", wheel);
    };
  }, [model]);
}

/** The next release of the lane in a direction. */
function neighbour(model: GraphModel, from: number, step: number): number {
  const { x, y } = model.release(from);
  for (let column = x + step; column >= 0 && column < model.data.width; column += step) {
    const found = model.releaseAt(column, y);
    if (found >= 0) return found;
  }
  return from;
}

/** The release of the next lane in a direction that is nearest to this column. */
function across(model: GraphModel, from: number, step: number): number {
  const { x, y } = model.release(from);
  for (let row = y + step; row >= 0 && row < model.rows; row += step) {
    for (let away = 0; away < model.data.width; away += 1) {
      const left = model.releaseAt(x - away, row);
      if (left >= 0) return left;
      const right = model.releaseAt(x + away, row);
      if (right >= 0) return right;
    }
  }
  return from;
}

function edgeOfLane(model: GraphModel, from: number, step: number): number {
  let at = from;
  for (let next = neighbour(model, at, step); next !== at; next = neighbour(model, at, step)) at = next;
  return at;
}
