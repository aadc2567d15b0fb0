/** Decide which nodes and links of a large network are elements of the page.
 *
 *  An element costs far more than a drawing on a canvas. In a network of more than MANY nodes, elements are
 *  what is visible and large enough to read, and what the pointer or the focus needs. `FarLayer` draws the rest.
 */
import { useStore } from "@xyflow/react";
import { useMemo, useRef } from "react";
import { create } from "zustand";
import type { DrawnLink } from "../protocol";
import type { ById } from "../stores/document";
import type { AnyFlow, LinkFlow } from "./flow";
import { TILE, type Point } from "./geometry";
import { useTool } from "./tool";

export const MANY = 150;
/** Below this zoom, texts at lines are too small to read. */
export const TEXTS_FROM = 0.6;
/** More visible nodes than this are drawn on the canvas at any zoom. */
const MAX_ELEMENTS = 300;
/** Nodes outside the window that are elements, because a link leads to them. */
const MAX_LINK_ENDS = 150;
/** The visible part is widened to multiples of this, so that it seldom changes while it is moved. React
 *  Flow makes elements of what is visible in it. */
const CELL = 400;
/** The texts around a node. */
const AROUND = 100;
const LINK_NEAR_PX = 7;

export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

interface Viewport {
  width: number;
  height: number;
  transform: readonly [number, number, number];
}

/** The nodes under the pointer and with the focus, which are elements at any zoom. */
export const useAttention = create<{ hovered: string | null; focused: string | null }>(() => ({
  hovered: null,
  focused: null,
}));

interface Visible {
  nodes: ReadonlySet<string>;
  links: LinkFlow[];
}

export interface Nearby {
  nodes: AnyFlow[];
  links: LinkFlow[];
  /** Whether nodes are drawn on a canvas because of their number. */
  isFar: boolean;
}

/** The nodes and links that are elements of the page. While nodes are dragged, these stay the same ones, and
 *  the links the same array, because React Flow reads all links of a new one. */
export function useNearby(drawn: AnyFlow[], lines: LinkFlow[]): Nearby {
  const isMany = drawn.length > MANY;
  const cell = useStore((state) => (isMany ? cellOf(state) : ""));
  const { hovered, focused } = useAttention();
  const linkFrom = useTool((state) => state.linkFrom);
  const last = useRef<{ cell: string; lines: LinkFlow[]; visible: Visible | null } | null>(null);
  return useMemo(() => {
    if (!isMany) return { nodes: drawn, links: lines, isFar: false };
    const wanted = new Set([hovered, linkFrom].filter((id) => id !== null));
    for (const id of neighbours(drawn, focused)) wanted.add(id);
    const isKept =
      last.current?.cell === cell && last.current.lines === lines && drawn.some(({ dragging }) => dragging);
    if (!isKept) last.current = { cell, lines, visible: cell === "" ? null : visibleIn(rectOf(cell), drawn, lines) };
    const visible = last.current?.visible ?? null;
    const isWanted = ({ id, type }: AnyFlow) => type !== "device" || wanted.has(id);
    if (visible === null) return { nodes: drawn.filter(isWanted), links: [], isFar: true };
    return {
      nodes: drawn.filter((node) => visible.nodes.has(node.id) || isWanted(node)),
      links: visible.links,
      isFar: false,
    };
  }, [isMany, drawn, lines, cell, hovered, focused, linkFrom]);
}

/** The visible part of the document in whole cells; "" if it is too far away to read. */
export function cellOf({ width, height, transform: [x, y, zoom] }: Viewport): string {
  if (zoom < TEXTS_FROM) return "";
  const first = (shift: number) => Math.floor((-shift / zoom - AROUND) / CELL);
  const last = (shift: number, size: number) => Math.ceil(((size - shift) / zoom + AROUND) / CELL);
  return [first(x), first(y), last(x, width), last(y, height)].join(" ");
}

function rectOf(cell: string): Rect {
  const [left = 0, top = 0, right = 0, bottom = 0] = cell.split(" ").map((part) => Number(part) * CELL);
  return { left, top, right, bottom };
}

/** The nodes and links of a part of the document; null if these are too many. A link is there if both ends are. */
export function visibleIn(rect: Rect, drawn: readonly AnyFlow[], lines: readonly LinkFlow[]): Visible | null {
  const at = new Map(drawn.map(({ id, position }) => [id, position]));
  const nodes = new Set(drawn.filter(({ position }) => isIn(rect, position, position)).map(({ id }) => id));
  if (nodes.size > MAX_ELEMENTS) return null;
  const max = nodes.size + MAX_LINK_ENDS;
  const links: LinkFlow[] = [];
  for (const line of lines) {
    const [a, b] = [at.get(line.source), at.get(line.target)];
    if (!a || !b || !isIn(rect, a, b)) continue;
    const more = [line.source, line.target].filter((id) => !nodes.has(id));
    if (nodes.size + more.length > max) continue;
    for (const id of more) nodes.add(id);
    links.push(line);
  }
  return { nodes, links };
}

/** Whether the box around two points touches a part of the document. */
function isIn({ left, top, right, bottom }: Rect, a: Point, b: Point): boolean {
  return (
    Math.max(a.x, b.x) >= left &&
    Math.min(a.x, b.x) <= right &&
    Math.max(a.y, b.y) >= top &&
    Math.min(a.y, b.y) <= bottom
  );
}

/** A node with those before and after it, to which Tab leads; without a node the first and the last one. */
export function neighbours(drawn: readonly AnyFlow[], id: string | null): string[] {
  const at = id === null ? -1 : drawn.findIndex((node) => node.id === id);
  const near = at === -1 ? [drawn[0], drawn.at(-1)] : [drawn[at - 1], drawn[at], drawn[at + 1]];
  return near.filter((node) => node !== undefined).map((node) => node.id);
}

/** The node whose tile contains a point of the document; the last one is on top. */
export function nodeAt({ x, y }: Point, drawn: readonly AnyFlow[]): string | null {
  const node = drawn.findLast(
    ({ type, position }) =>
      type === "device" && Math.abs(position.x - x) <= TILE.width / 2 && Math.abs(position.y - y) <= TILE.height / 2,
  );
  return node?.id ?? null;
}

/** The box around the middles of elements. */
export function boundsOf(drawn: readonly AnyFlow[]): Rect {
  const rect = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const {
    position: { x, y },
  } of drawn) {
    rect.left = Math.min(rect.left, x);
    rect.right = Math.max(rect.right, x);
    rect.top = Math.min(rect.top, y);
    rect.bottom = Math.max(rect.bottom, y);
  }
  return rect;
}

/** The elements that a rectangle of the document touches. */
export function touched({ left, top, right, bottom }: Rect, drawn: readonly AnyFlow[]): string[] {
  return drawn
    .filter(({ position: { x, y }, measured }) => {
      const [width, height] = [measured?.width ?? TILE.width, measured?.height ?? TILE.height];
      return x + width / 2 >= left && x - width / 2 <= right && y + height / 2 >= top && y - height / 2 <= bottom;
    })
    .map(({ id }) => id);
}

/** The link that is drawn next to a point of the document; null if there is none near enough. */
export function linkNear(
  point: Point,
  zoom: number,
  links: ById<DrawnLink>,
  positions: ReadonlyMap<string, Point>,
): string | null {
  let [best, found]: [number, string | null] = [LINK_NEAR_PX / zoom, null];
  for (const { id, a, b } of Object.values(links)) {
    const [from, to] = [positions.get(a), positions.get(b)];
    if (!from || !to) continue;
    const far = distance(point, from, to);
    if (far < best) [best, found] = [far, id];
  }
  return found;
}

/** From a point to a line between two points. */
function distance(point: Point, a: Point, b: Point): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = dx * dx + dy * dy;
  const part = length === 0 ? 0 : Math.min(1, Math.max(0, ((point.x - a.x) * dx + (point.y - a.y) * dy) / length));
  return Math.hypot(point.x - a.x - dx * part, point.y - a.y - dy * part);
}
