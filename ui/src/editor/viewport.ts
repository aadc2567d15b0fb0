/** Zoom, fit and scroll the canvas from elsewhere, once React Flow's instance exists. */
import { getViewportForBounds, type ReactFlowInstance } from "@xyflow/react";
import type { Point } from "./geometry";

let flow: ReactFlowInstance | null = null;
let box: HTMLElement | null = null;
const SLOW_MS = 180;
export const MIN_ZOOM = 0.1;
const MAX_FIT_ZOOM = 1.25;
/** Room for the texts below nodes, and for the zoom buttons. */
const AROUND = { top: "36px", left: "56px", right: "56px", bottom: "76px" } as const;

export function setFlow(instance: ReactFlowInstance | null, element: HTMLElement | null): void {
  flow = instance;
  box = element;
}

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const duration = () => (calm.matches ? 0 : SLOW_MS);

export function fit(): void {
  const nodes = flow?.getNodes() ?? [];
  if (flow === null || box === null || nodes.length === 0) return;
  // Not `fitView`, which waits until all nodes have been measured: in a large network only those that
  // are visible ever are.
  const bounds = flow.getNodesBounds(nodes);
  const { width, height } = box.getBoundingClientRect();
  void flow.setViewport(getViewportForBounds(bounds, width, height, MIN_ZOOM, MAX_FIT_ZOOM, AROUND), { duration: duration() });
}

export function zoomIn(): void {
  void flow?.zoomIn({ duration: duration() });
}

export function zoomOut(): void {
  void flow?.zoomOut({ duration: duration() });
}

export function zoomTo(zoom: number): void {
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
    x > frame.left + margin &&
    x < frame.right - margin &&
    y > frame.top + margin &&
    y < frame.bottom - margin;
  if (!isVisible) void flow.setCenter(point.x, point.y, { zoom: flow.getZoom(), duration: duration() });
}

export function focusCanvas(): void {
  box?.focus();
}

/** Focus an element on the canvas as soon as it is drawn. */
export function focusElement(id: string): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      box?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`)?.focus();
    }),
  );
}
