/** The nodes and links of a large network that are not elements of the page, drawn on one canvas.
 *
 *  A thousand elements take a tenth of a second for every frame in which they move; a canvas takes
 *  milliseconds.
 */
import { useStore, useStoreApi } from "@xyflow/react";
import { useEffect, useRef, type RefObject } from "react";
import { useDocument } from "../stores/document";
import { tcOf } from "../stores/ports";
import { useRunning } from "../stores/running";
import { useSelection } from "../stores/selection";
import { useTraffic } from "../stores/traffic";
import { useView } from "../stores/view";
import type { AnyFlow, LinkFlow } from "./flow";
import { TILE, type Point } from "./geometry";
import { iconPath } from "./iconPath";
import { kindOf, type Kind } from "./kinds";
import { loadOf } from "./load";
import { useAttention, type Nearby } from "./nearby";
import { problemsById } from "./problems";

const LOADS = { used: "#2f86d6", busy: "#d88a00", full: "#d2452f" } as const;
/** Below this scale, icons and names cannot be recognised. */
const ICONS_FROM = 0.3;
const NAMES_FROM = 0.4;
const NAME_SIZE = 15;
const TAG_SIZE = 12;

/** What is drawn: all nodes and links, and which of them are elements. */
export interface Scene {
  drawn: readonly AnyFlow[];
  lines: readonly LinkFlow[];
  nearby: Nearby;
}

interface Viewport {
  width: number;
  height: number;
  transform: readonly [number, number, number];
}

export function FarLayer({ scene }: { scene: Scene }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const now = useRef(scene);
  const request = useRequest(() => {
    if (canvas.current !== null) paint(canvas.current, store.getState(), now.current);
  });
  useEffect(() => {
    now.current = scene;
    request();
  }, [request, scene, width, height]);
  useEffect(() => {
    const sources = [store, useDocument, useRunning, useSelection, useTraffic, useView, useAttention];
    const endings = sources.map((one) => one.subscribe(request));
    return () => {
      for (const end of endings) end();
    };
  }, [request, store]);
  return <canvas ref={canvas} className="far-layer" aria-hidden="true" />;
}

/** Return a function that draws once with the next frame, however often it is called before. */
function useRequest(draw: () => void): () => void {
  const frame = useRef(0);
  const latest: RefObject<() => void> = useRef(draw);
  latest.current = draw;
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return useRef(() => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      latest.current();
    });
  }).current;
}

function paint(canvas: HTMLCanvasElement, view: Viewport, scene: Scene): void {
  const { width, height } = view;
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const colours = themeColours();
  const [x, y, zoom] = view.transform;
  const places = new Map(
    scene.drawn.map(({ id, position }) => [id, { x: position.x * zoom + x, y: position.y * zoom + y }]),
  );
  paintLinks(pen, view, scene, places, colours);
  const count = scene.nearby.isFar ? paintNodes(pen, view, scene, places, colours, ratio) : 0;
  canvas.dataset.nodes = String(count);
}

type Places = ReadonlyMap<string, Point>;
type Pen = CanvasRenderingContext2D;

function paintLinks(
  pen: Pen,
  { width, height, transform: [, , zoom] }: Viewport,
  scene: Scene,
  places: Places,
  colours: Colours,
): void {
  const { linksDown, ports } = useRunning.getState();
  const traffic = useTraffic.getState().links;
  const elements = new Set(scene.nearby.links.map(({ id }) => id));
  // One stroke for all lines that look the same.
  const strokes = new Map<string, { colour: string; width: number; path: Path2D }>();
  for (const { id, source, target, data, selected } of scene.lines) {
    const [a, b] = [places.get(source), places.get(target)];
    if (elements.has(id) || !a || !b || !data) continue;
    if (Math.max(a.x, b.x) < 0 || Math.min(a.x, b.x) > width || Math.max(a.y, b.y) < 0 || Math.min(a.y, b.y) > height)
      continue;
    const isDown = linksDown.has(id);
    const load = traffic[id] && !isDown ? loadOf(data.link, traffic[id], tcOf(ports, id)) : null;
    const colour = selected
      ? colours.accent
      : isDown
        ? colours["link-down"]
        : load !== null
          ? LOADS[load.level]
          : colours[data.isControl ? "control-link" : "link"];
    const lineWidth = Math.max(1, (selected ? 4 : (load?.width ?? 2)) * zoom);
    const key = `${colour} ${lineWidth}`;
    const stroke = strokes.get(key) ?? { colour, width: lineWidth, path: new Path2D() };
    strokes.set(key, stroke);
    stroke.path.moveTo(a.x, a.y);
    stroke.path.lineTo(b.x, b.y);
  }
  for (const stroke of strokes.values()) {
    pen.strokeStyle = stroke.colour;
    pen.lineWidth = stroke.width;
    pen.stroke(stroke.path);
  }
}

/** Draw the tiles, and the names if they can be read; returns how many nodes were drawn. */
function paintNodes(
  pen: Pen,
  view: Viewport,
  { drawn }: Scene,
  places: Places,
  colours: Colours,
  ratio: number,
): number {
  const { width, height } = view;
  const zoom = view.transform[2];
  const [wide, high] = [TILE.width * zoom, TILE.height * zoom];
  const problems = problemsById(useDocument.getState().problems);
  const { hovered, focused } = useAttention.getState();
  const tiles = new Map<Kind, HTMLCanvasElement>();
  const named: [AnyFlow, Point][] = [];
  const tagged: [string, Point][] = [];
  const names = zoom >= NAMES_FROM;
  let count = 0;
  for (const node of drawn) {
    const at = places.get(node.id);
    if (node.type !== "device" || at === undefined) continue;
    if (at.x + wide < 0 || at.x - wide > width || at.y + high < 0 || at.y - high > height) continue;
    const kind = kindOf(node.data.node);
    let tile = tiles.get(kind);
    if (tile === undefined) tiles.set(kind, (tile = tileOf(kind, zoom, ratio, colours)));
    pen.drawImage(tile, at.x - wide / 2, at.y - high / 2, wide, high);
    count += 1;
    if (node.selected) outline(pen, at, wide, high, colours.accent, 2);
    if (problems.has(node.id)) outline(pen, at, wide, high, colours.error, 2);
    if (node.id === hovered || node.id === focused) tagged.push([node.data.node.name, at]);
    else if (names) named.push([node, at]);
  }
  if (names) {
    pen.font = `600 ${NAME_SIZE * zoom}px ${colours.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    pen.fillStyle = colours.text;
    for (const [node, at] of named) {
      if (node.type === "device") pen.fillText(node.data.node.name, at.x, at.y + high / 2 + 2);
    }
  }
  for (const [name, at] of tagged) tag(pen, name, at, high, colours);
  return count;
}

function outline(pen: Pen, at: Point, wide: number, high: number, colour: string, width: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.strokeRect(at.x - wide / 2 - 1, at.y - high / 2 - 1, wide + 2, high + 2);
}

/** The name of a node that is too small to carry it. */
function tag(pen: Pen, name: string, at: Point, high: number, colours: Colours): void {
  pen.font = `600 ${TAG_SIZE}px ${colours.font}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const wide = pen.measureText(name).width + 10;
  const y = at.y + high / 2 + 13;
  pen.fillStyle = colours["panel-raised"];
  pen.strokeStyle = colours["line-strong"];
  pen.lineWidth = 1;
  pen.beginPath();
  pen.roundRect(at.x - wide / 2, y - 9, wide, 18, 4);
  pen.fill();
  pen.stroke();
  pen.fillStyle = colours.text;
  pen.fillText(name, at.x, y);
}

/** A tile as a picture, because drawing a picture a thousand times is quicker than drawing its parts. */
function tileOf(kind: Kind, zoom: number, ratio: number, colours: Colours): HTMLCanvasElement {
  const picture = document.createElement("canvas");
  picture.width = Math.max(2, Math.round(TILE.width * zoom * ratio));
  picture.height = Math.max(2, Math.round(TILE.height * zoom * ratio));
  const pen = picture.getContext("2d");
  if (pen === null) return picture;
  const name: Device = kind === "bridge" ? "switch" : kind;
  pen.scale(picture.width / TILE.width, picture.height / TILE.height);
  pen.beginPath();
  pen.roundRect(1, 1, TILE.width - 2, TILE.height - 2, kind === "router" ? 20 : 9);
  const fill = `${name}-fill` as const;
  pen.fillStyle = colours[zoom >= ICONS_FROM ? fill : name];
  pen.fill();
  pen.strokeStyle = colours[name];
  pen.lineWidth = 1.5;
  pen.stroke();
  if (zoom < ICONS_FROM) return picture;
  pen.translate(TILE.width / 2 - 14, TILE.height / 2 - 14);
  pen.scale(28 / 24, 28 / 24);
  pen.lineWidth = 1.6;
  pen.stroke(iconPath(kind));
  return picture;
}

const DEVICES = ["host", "switch", "ovs", "router", "controller"] as const;
const OTHERS = [
  "link",
  "link-down",
  "control-link",
  "accent",
  "error",
  "text",
  "panel-raised",
  "line-strong",
  "font",
] as const;
type Device = (typeof DEVICES)[number];
type Colours = Record<Device | `${Device}-fill` | (typeof OTHERS)[number], string>;
let known: { theme: string | undefined; colours: Colours } | null = null;

/** The colours of the theme; reading them from the style sheet takes a while. */
function themeColours(): Colours {
  const root = document.documentElement;
  if (known === null || known.theme !== root.dataset.theme) {
    const style = getComputedStyle(root);
    const names = [...OTHERS, ...DEVICES, ...DEVICES.map((device) => `${device}-fill` as const)];
    const colours = Object.fromEntries(
      names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
    ) as Colours;
    known = { theme: root.dataset.theme, colours };
  }
  return known.colours;
}
