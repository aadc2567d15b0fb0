/** What the canvas offers to the rest: React Flow's instance, once it is there. */
import type { ReactFlowInstance } from "@xyflow/react";
import type { Point } from "./geometry";

let flow: ReactFlowInstance | null = null;
let box: HTMLElement | null = null;
const SLOW_MS = 180;

export function setFlow(instance: ReactFlowInstance | null, element: HTMLElement | null): void {
  flow = instance;
  box = element;
}

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const duration = () => (calm.matches ? 0 : SLOW_MS);

export function fit(): void {
  // Without anything to fit, React Flow would wait for the first thing and jump to it.
  if (flow === null || flow.getNodes().length === 0) return;
  void flow.fitView({ padding: 0.18, maxZoom: 1.25, duration: duration() });
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

/** A point of the document for one of the window. */
export function toDocument(point: Point): Point {
  return flow?.screenToFlowPosition(point) ?? point;
}

/** The middle of what is shown. */
export function middle(): Point {
  const frame = box?.getBoundingClientRect();
  if (frame === undefined) return { x: 200, y: 150 };
  return toDocument({ x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 });
}

/** Bring a point into view, unless it is there already. */
export function show(point: Point): void {
  const frame = box?.getBoundingClientRect();
  if (flow === null || frame === undefined) return;
  const { x, y } = flow.flowToScreenPosition(point);
  const margin = 40;
  const isIn =
    x > frame.left + margin &&
    x < frame.right - margin &&
    y > frame.top + margin &&
    y < frame.bottom - margin;
  if (!isIn) void flow.setCenter(point.x, point.y, { zoom: flow.getZoom(), duration: duration() });
}

export function focusCanvas(): void {
  box?.focus();
}

/** Focus a thing on the canvas, as soon as it is drawn. */
export function focusThing(id: string): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      box?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`)?.focus();
    }),
  );
}
