/** Zoom, fit and scroll the canvas from elsewhere, once React Flow's instance exists. */
import { getViewportForBounds, type ReactFlowInstance, type Viewport } from "@xyflow/react";
import { useDocument } from "../stores/document";
import { TILE, type Point } from "./geometry";
import { useAttention } from "./nearby";

let flow: ReactFlowInstance | null = null;
let box: HTMLElement | null = null;
const SLOW_MS = 180;
export const MIN_ZOOM = 0.1;
const MAX_FIT_ZOOM = 1.25;
/** Space for the texts below nodes and for the zoom buttons, which are below the drawing, or beside it if
 *  there is little height. */
const AROUND = { top: "36px", left: "56px", right: "56px", bottom: "76px" } as const;
const AROUND_LOW = { top: "14px", left: "112px", right: "24px", bottom: "32px" } as const;
const LOW = 260;

export function setFlow(instance: ReactFlowInstance | null, element: HTMLElement | null): void {
  flow = instance;
  box = element;
}

interface Size {
  width: number;
  height: number;
}

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const duration = () => (calm.matches ? 0 : SLOW_MS);

/** Whether the drawing has been fitted to the window, and has not been zoomed or moved since. */
let isFitted = false;
/** The user's zoom and position, and the canvas's size, before panes made the canvas smaller. */
let before: ({ viewport: Viewport } & Size) | null = null;

export function fit(): void {
  leaveFit();
  fitIn(duration());
}

/** Adapt to a new size of the canvas. A fitted drawing is fitted again. Another drawing is made smaller if a
 *  visible part of it would be hidden, and gets its old zoom back once there is enough space for all of it,
 *  including elements added meanwhile. */
export function fitAgain(was: Size, hidesSome: boolean): void {
  if (flow === null || box === null) return;
  if (isFitted) return fitIn(0);
  if (before === null && hidesSome) before = { viewport: flow.getViewport(), ...was };
  if (before === null) return;
  const { width, height } = box.getBoundingClientRect();
  if (width >= before.width && height >= before.height && showsAll(before.viewport, { width, height })) {
    void flow.setViewport(before.viewport);
    before = null;
  } else {
    fitIn(0, before.viewport.zoom);
    isFitted = false;
  }
}

/** Note that the user has zoomed or moved the canvas. */
export function leaveFit(): void {
  isFitted = false;
  before = null;
}

/** Whether the whole drawing is visible in a canvas of this size at this zoom and position. */
function showsAll({ x, y, zoom }: Viewport, { width, height }: Size): boolean {
  const { nodes, labels, frames } = useDocument.getState();
  const [wide, high] = [(TILE.width / 2) * zoom, (TILE.height / 2) * zoom];
  return [nodes, labels, frames]
    .flatMap((elements) => Object.values(elements))
    .every((point: Point) => {
      const [across, down] = [point.x * zoom + x, point.y * zoom + y];
      return across >= wide && across <= width - wide && down >= high && down <= height - high;
    });
}

function fitIn(ms: number, maxZoom = MAX_FIT_ZOOM): void {
  const { nodes, labels, frames } = useDocument.getState();
  const corners = Object.values(frames).flatMap(({ x, y, width, height }) => [
    { id: "", x, y },
    { id: "", x: x + width, y: y + height },
  ]);
  const points = [...Object.values(nodes), ...Object.values(labels), ...corners];
  if (flow === null || box === null || points.length === 0) return;
  // Not `fitView`, which knows only the nodes that are elements of the page, and not before they have
  // been measured.
  const bounds = { x: Infinity, y: Infinity, right: -Infinity, bottom: -Infinity };
  for (const point of points) {
    const size = flow.getInternalNode(point.id)?.measured;
    const [wide, high] =
      point.id === "" ? [0, 0] : [(size?.width ?? TILE.width) / 2, (size?.height ?? TILE.height) / 2];
    bounds.x = Math.min(bounds.x, point.x - wide);
    bounds.y = Math.min(bounds.y, point.y - high);
    bounds.right = Math.max(bounds.right, point.x + wide);
    bounds.bottom = Math.max(bounds.bottom, point.y + high);
  }
  const area = { x: bounds.x, y: bounds.y, width: bounds.right - bounds.x, height: bounds.bottom - bounds.y };
  const { width, height } = box.getBoundingClientRect();
  void flow.setViewport(
    getViewportForBounds(
      area,
      width,
      height,
      MIN_ZOOM,
      Math.min(maxZoom, MAX_FIT_ZOOM),
      height < LOW ? AROUND_LOW : AROUND,
    ),
    { duration: ms },
  );
  isFitted = true;
}

export function zoomIn(): void {
  leaveFit();
  void flow?.zoomIn({ duration: duration() });
}

export function zoomOut(): void {
  leaveFit();
  void flow?.zoomOut({ duration: duration() });
}

export function zoomTo(zoom: number): void {
  leaveFit();
  void flow?.zoomTo(zoom, { duration: duration() });
}

/** Convert a point of the window to one of the document. */
export function toDocument(point: Point): Point {
  return flow?.screenToFlowPosition(point) ?? point;
}

/** The middle of the visible part, in the document. */
export function middle(): Point {
  const frame = box?.getBoundingClientRect();
  if (frame === undefined) return { x: 200, y: 150 };
  return toDocument({ x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 });
}

/** Scroll a point into view, unless it is visible. */
export function show(point: Point): void {
  const frame = box?.getBoundingClientRect();
  if (flow === null || frame === undefined) return;
  const { x, y } = flow.flowToScreenPosition(point);
  const margin = 40;
  const isVisible =
    x > frame.left + margin && x < frame.right - margin && y > frame.top + margin && y < frame.bottom - margin;
  if (isVisible) return;
  leaveFit();
  void flow.setCenter(point.x, point.y, { zoom: flow.getZoom(), duration: duration() });
}

/** Move a point of the document into the middle of the window. */
export function centreOn(point: Point): void {
  leaveFit();
  void flow?.setCenter(point.x, point.y, { zoom: flow.getZoom() });
}

export function focusCanvas(): void {
  box?.focus();
}

/** Focus an element on the canvas as soon as it is drawn. */
export function focusElement(id: string): void {
  useAttention.setState({ focused: id });
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      elementOf(id)?.focus();
    }),
  );
}

/** The node with this id, if it is an element of the page. */
export function elementOf(id: string): HTMLElement | null {
  return box?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`) ?? null;
}
