/** Geometry of lines, their texts and guides. */

export interface Point {
  x: number;
  y: number;
}

/** Size of a node's tile; its texts are below it. */
export const TILE = { width: 54, height: 42 };
const BETWEEN_PARALLEL = 26;

export interface Course {
  /** The path in SVG syntax. */
  path: string;
  /** A point of the line, at a fraction from its beginning (0) to its end (1). */
  at: (part: number) => Point;
  length: number;
}

/** The line between the centres of two tiles. Parallel links are curved: `lane` counts from the middle,
 *  0 is straight. `isForward` says from which end lanes are counted, so that they do not cross. */
export function course(a: Point, b: Point, lane: number, isForward: boolean): Course {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length = Math.hypot(dx, dy);
  if (lane === 0 || length === 0) {
    return {
      path: `M${a.x},${a.y}L${b.x},${b.y}`,
      at: (part) => ({ x: a.x + dx * part, y: a.y + dy * part }),
      length,
    };
  }
  const side = (isForward ? 1 : -1) * lane * BETWEEN_PARALLEL * 2;
  const control = {
    x: (a.x + b.x) / 2 - (dy / length) * side,
    y: (a.y + b.y) / 2 + (dx / length) * side,
  };
  const at = (part: number): Point => {
    const rest = 1 - part;
    return {
      x: rest * rest * a.x + 2 * rest * part * control.x + part * part * b.x,
      y: rest * rest * a.y + 2 * rest * part * control.y + part * part * b.y,
    };
  };
  return { path: `M${a.x},${a.y}Q${control.x},${control.y} ${b.x},${b.y}`, at, length };
}

/** The lanes of `count` parallel links: 0; -0.5, 0.5; -1, 0, 1; ... */
export function laneOf(index: number, count: number): number {
  return index - (count - 1) / 2;
}

/** Where to put the text of an end: outside the tile, but not past the middle. */
export function endPart(length: number, distance: number): number {
  return length === 0 ? 0 : Math.min(distance / length, 0.42);
}

export interface Guide {
  axis: "x" | "y";
  at: number;
}

/** How far to move a dragged group to align it with nearby elements, and the guides to draw. */
export function align(
  moved: readonly Point[],
  others: readonly Point[],
  distance: number,
): { dx: number; dy: number; guides: Guide[] } {
  const best = { x: distance, y: distance };
  const shift = { x: 0, y: 0 };
  const guides: { x: Guide | null; y: Guide | null } = { x: null, y: null };
  for (const axis of ["x", "y"] as const) {
    for (const point of moved) {
      for (const other of others) {
        const gap = other[axis] - point[axis];
        if (Math.abs(gap) < best[axis]) {
          best[axis] = Math.abs(gap);
          shift[axis] = gap;
          guides[axis] = { axis, at: other[axis] };
        }
      }
    }
  }
  return {
    dx: shift.x,
    dy: shift.y,
    guides: [guides.x, guides.y].filter((guide) => guide !== null),
  };
}

export interface Placed extends Point {
  id: string;
}

export type Edge = "left" | "centre" | "right" | "top" | "middle" | "bottom";

/** Align elements. */
export function aligned(elements: readonly Placed[], edge: Edge): Placed[] {
  const axis = edge === "left" || edge === "centre" || edge === "right" ? "x" : "y";
  const values = elements.map((element) => element[axis]);
  const min = Math.min(...values);
  const max = Math.max(...values);
  const target = { left: min, top: min, right: max, bottom: max }[edge as string];
  return elements.map((element) => ({ ...element, [axis]: target ?? Math.round((min + max) / 2) }));
}

/** Distribute elements evenly from the first to the last. */
export function distributed(elements: readonly Placed[], axis: "x" | "y"): Placed[] {
  const sorted = [...elements].sort((one, other) => one[axis] - other[axis]);
  const first = sorted[0]?.[axis] ?? 0;
  const last = sorted.at(-1)?.[axis] ?? 0;
  const step = (last - first) / Math.max(sorted.length - 1, 1);
  return sorted.map((element, index) => ({ ...element, [axis]: Math.round(first + step * index) }));
}

/** Arrange elements in a circle, in the order of the list. */
export function inCircle(elements: readonly Placed[]): Placed[] {
  const middle = centre(elements);
  const radius = Math.max(110, (elements.length * 90) / (2 * Math.PI));
  return elements.map((element, index) => {
    const angle = (2 * Math.PI * index) / elements.length - Math.PI / 2;
    return {
      ...element,
      x: Math.round(middle.x + radius * Math.cos(angle)),
      y: Math.round(middle.y + radius * Math.sin(angle)),
    };
  });
}

export function centre(points: readonly Point[]): Point {
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  return {
    x: (Math.min(...xs) + Math.max(...xs)) / 2,
    y: (Math.min(...ys) + Math.max(...ys)) / 2,
  };
}

/** A free position: the first one on a spiral around `wanted`. */
export function freePlace(target: Point, taken: readonly Point[], room = 80): Point {
  for (let ring = 0; ring < 40; ring += 1) {
    const places = Math.max(1, ring * 8);
    for (let step = 0; step < places; step += 1) {
      const angle = (2 * Math.PI * step) / places;
      const x = Math.round(target.x + Math.cos(angle) * ring * room);
      const y = Math.round(target.y + Math.sin(angle) * ring * room);
      const isFree = taken.every((point) => Math.hypot(point.x - x, point.y - y) >= room * 0.8);
      if (isFree) return { x, y };
    }
  }
  return target;
}
