/** The texts of a link, the places that they may take, and the places that they have taken. */
import { create } from "zustand";
import type { DrawnLink, DrawnNode, LivePort } from "../protocol";
import { useDocument, type ById } from "../stores/document";
import { addressesShown, portsOf, tcOf, usePlanned, type Ports } from "../stores/ports";
import { isRunning, useRunning } from "../stores/running";
import { useView } from "../stores/view";
import { summary, wrapped, type SetByTc } from "./conditions";
import { flowLinks } from "./flow";
import { course, endPart, TILE, type Course, type Point } from "./geometry";
import { placeTexts, type Box, type Candidate, type Wanted } from "./labels";

/** The place of a text at an end: its distance in pixels from the middle of the tile, how much farther from
 *  the line than usual it is, and whether it is on the other side of the line. */
export interface EndPlace {
  distance: number;
  away: number;
  isFlipped: boolean;
}

/** The place of the conditions: the part of the line, and whether they are on its other side. */
export interface MiddlePlace {
  part: number;
  isFlipped: boolean;
}

/** Below a tile are its own texts. */
const [NAME_AT, NAME_BELOW_AT] = [62, 84];
/** A line leaves its tile below if the sine of its downward angle is at least this. */
const DOWNWARD = 0.55;
/** Texts beside steeper lines (in degrees) are not rotated. */
const STEEP = 62;
const [BESIDE_X, BESIDE_Y] = [18, 9];
/** The width of a letter, and the heights of lines, in pixels. */
const [LETTER, END_LETTER] = [6, 5.8];
export const [LINE_HEIGHT, END_LINE_HEIGHT] = [13, 12];
/** Rotated texts are compared as squares of about this size. */
const CHUNK = 14;
/** How far texts at ends may be moved along the line, and away from it, in the order of preference. */
const [ALONG, AWAY] = [
  [0, 16, -12, 32],
  [0, 14, 28, 42],
];
/** In larger drawings, texts take their usual places. */
const MAX_LINKS = 150;
const DELAY_MS = 120;
const EXAMPLE_RATE = "→ 10.0 Mbit/s";

export function endTexts(port: LivePort | undefined, node: DrawnNode | undefined, isAlone: boolean): string[] {
  if (port === undefined) return [];
  const { showsPorts, showsAddresses } = useView.getState();
  const short =
    node !== undefined && port.name.startsWith(`${node.name}-`) ? port.name.slice(node.name.length + 1) : port.name;
  // A host with one port has its address below its name.
  return [showsPorts ? short : "", showsAddresses && !isAlone ? addressesShown(port) : ""].filter((one) => one !== "");
}

export function middleTexts(link: DrawnLink, tc: SetByTc, line: Course, isForward: boolean): string[] {
  if (!useView.getState().showsConditions) return [];
  const { both, a, b } = summary(link, tc);
  const [toB, toA] = isForward ? ["→", "←"] : ["←", "→"];
  const room = Math.max(12, (line.length - TILE.width - 16) / LETTER);
  return [both, a && `${toB} ${a}`, b && `${toA} ${b}`, tc.a || tc.b ? "(set by tc)" : ""]
    .filter(Boolean)
    .flatMap((text) => wrapped(text, room));
}

/** The usual place of the text at an end. */
function usualEnd(line: Course, end: "a" | "b"): EndPlace {
  const [here, there] = end === "a" ? [line.at(0), line.at(1)] : [line.at(1), line.at(0)];
  const isBelow = line.length > 0 && (there.y - here.y) / line.length > DOWNWARD;
  return { distance: isBelow ? NAME_BELOW_AT : NAME_AT, away: 0, isFlipped: false };
}

/** Where the first line of the text at an end stands: the middle of its base line. */
export function endSpot(line: Course, end: "a" | "b", place: EndPlace | undefined): Point {
  const { distance, away, isFlipped } = place ?? usualEnd(line, end);
  const part = endPart(line.length, distance);
  const { x, y } = beside(line, end === "a" ? part : 1 - part, away, isFlipped);
  return { x, y: y + 4 };
}

/** A point beside the line for a text: below it, because the conditions are above; left of a steep line. */
function beside(line: Course, part: number, away: number, isFlipped: boolean): Point {
  const at = line.at(part);
  const [before, after] = [line.at(part - 0.02), line.at(part + 0.02)];
  const length = Math.hypot(after.x - before.x, after.y - before.y) || 1;
  let normal = { x: (after.y - before.y) / length, y: -(after.x - before.x) / length };
  if (normal.y < -0.2 || (Math.abs(normal.y) <= 0.2 && normal.x > 0)) normal = { x: -normal.x, y: -normal.y };
  const side = isFlipped ? -1 : 1;
  return { x: at.x + side * normal.x * (BESIDE_X + away), y: at.y + side * normal.y * (BESIDE_Y + away) };
}

/** How the conditions stand: at a point, turned, with the position of their first line there. */
export interface MiddleSpot {
  at: Point;
  angle: number;
  x: number;
  first: number;
  anchor: "start" | "middle" | "end";
}

export function middleSpot(line: Course, count: number, place: MiddlePlace | undefined): MiddleSpot {
  const { part, isFlipped } = place ?? { part: 0.5, isFlipped: false };
  const angle = angleOf(line, part);
  if (Math.abs(angle) > STEEP) {
    const first = 4 - ((count - 1) * LINE_HEIGHT) / 2;
    return { at: line.at(part), angle: 0, x: isFlipped ? -9 : 9, first, anchor: isFlipped ? "end" : "start" };
  }
  const first = isFlipped ? 16 : -7 - (count - 1) * LINE_HEIGHT;
  return { at: line.at(part), angle, x: 0, first, anchor: "middle" };
}

/** The angle of the line, from -90 to 90 degrees so that texts are upright. */
function angleOf(line: Course, part: number): number {
  const [before, after] = [line.at(part - 0.02), line.at(part + 0.02)];
  const angle = (Math.atan2(after.y - before.y, after.x - before.x) * 180) / Math.PI;
  return angle > 90 ? angle - 180 : angle < -90 ? angle + 180 : angle;
}

function endBox(line: Course, end: "a" | "b", texts: readonly string[], place: EndPlace): Box {
  const { x, y } = endSpot(line, end, place);
  const width = Math.max(...texts.map((text) => text.length)) * END_LETTER;
  return { x: x - width / 2, y: y - 9, width, height: texts.length * END_LINE_HEIGHT };
}

function middleBoxes(line: Course, texts: readonly string[], place: MiddlePlace): Box[] {
  const { at, angle, x, first, anchor } = middleSpot(line, texts.length, place);
  const [cos, sin] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  return texts.flatMap((text, row) => {
    const width = text.length * LETTER;
    const left = anchor === "middle" ? x - width / 2 : anchor === "end" ? x - width : x;
    const count = Math.max(1, Math.round(width / CHUNK));
    return Array.from({ length: count }, (_, index): Box => {
      const along = left + ((index + 0.5) * width) / count;
      const across = first + row * LINE_HEIGHT - 4;
      const middle = { x: at.x + along * cos - across * sin, y: at.y + along * sin + across * cos };
      const wide = width / count;
      return { x: middle.x - wide / 2, y: middle.y - 5.5, width: wide, height: 11 };
    });
  });
}

/** What a node covers: its tile, and the texts below it. */
function nodeBoxes(node: DrawnNode, addresses: readonly string[]): Box[] {
  const letters = Math.max(node.name.length * 7, addresses.join(", ").length * 6.2);
  const [width, top] = [letters + 6, node.y + TILE.height / 2];
  return [
    { x: node.x - TILE.width / 2, y: node.y - TILE.height / 2, width: TILE.width, height: TILE.height },
    { x: node.x - width / 2, y: top, width, height: addresses.length > 0 ? 33 : 18 },
  ];
}

export type TextPlace = EndPlace | MiddlePlace;

interface Drawn {
  nodes: ById<DrawnNode>;
  links: ById<DrawnLink>;
  /** By link and end. */
  ports: Ports;
  /** Whether links may show their throughput. */
  showsRates: boolean;
}

/** The places of all texts of links: "l1 a", "l1 b" and "l1 middle". */
export function textPlaces({ nodes, links, ports, showsRates }: Drawn): ReadonlyMap<string, TextPlace> {
  const lines = flowLinks(links, nodes, new Set(), []).filter(({ data }) => data && !data.isControl);
  if (lines.length > MAX_LINKS) return new Map();
  const alone = (node: DrawnNode) => node.kind === "host" && portsOf(node.id, ports).length === 1;
  const obstacles = Object.values(nodes).flatMap((node) => {
    const shown = useView.getState().showsAddresses && alone(node) ? [addressesShown(portsOf(node.id, ports)[0])] : [];
    return nodeBoxes(
      node,
      shown.filter((text) => text !== ""),
    );
  });
  const [middles, ends]: [Wanted<TextPlace>[], { letters: number; wanted: Wanted<TextPlace> }[]] = [[], []];
  for (const { id, source, target, data } of lines) {
    const [a, b] = [nodes[source], nodes[target]];
    if (a === undefined || b === undefined || data === undefined) continue;
    const line = course(a, b, data.lane, data.isForward);
    const conditions = middleTexts(data.link, tcOf(ports, id), line, a.x <= b.x);
    const texts = showsRates ? [...conditions, EXAMPLE_RATE] : conditions;
    if (texts.length > 0 && line.length >= 60) middles.push(middleOf(id, line, texts));
    for (const [end, node] of [
      ["a", a],
      ["b", b],
    ] as const) {
      const own = endTexts(ports[`${id} ${end}`], node, alone(node));
      if (own.length > 0 && line.length >= 90) {
        const letters = own.join("").length;
        ends.push({ letters, wanted: endOf(id, line, end, own) });
      }
    }
  }
  // Long texts first: short ones find a place more easily.
  ends.sort((one, other) => other.letters - one.letters);
  return placeTexts([...middles, ...ends.map(({ wanted }) => wanted)], obstacles);
}

function middleOf(id: string, line: Course, texts: readonly string[]): Wanted<TextPlace> {
  const places = [false, true].flatMap((isFlipped) =>
    [0.5, 0.42, 0.58, 0.34, 0.66].map((part) => ({ part, isFlipped })),
  );
  const candidates = places.map((choice): Candidate<TextPlace> => ({
    choice,
    boxes: middleBoxes(line, texts, choice),
  }));
  return { key: `${id} middle`, candidates };
}

function endOf(id: string, line: Course, end: "a" | "b", texts: readonly string[]): Wanted<TextPlace> {
  const usual = usualEnd(line, end).distance;
  const places = AWAY.flatMap((away) =>
    ALONG.flatMap((more) => [false, true].map((isFlipped): EndPlace => ({ distance: usual + more, away, isFlipped }))),
  );
  const candidates = places.map((choice): Candidate<TextPlace> => ({
    choice,
    boxes: [endBox(line, end, texts, choice)],
  }));
  return { key: `${id} ${end}`, candidates };
}

/** The places that texts have now. Texts that are not in it take their usual places. */
export const useTextPlaces = create<{ places: ReadonlyMap<string, TextPlace> }>(() => ({ places: new Map() }));

let timer: ReturnType<typeof setTimeout> | undefined;

/** Find places soon; of several changes in a row, after the last. */
function update(): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const { nodes, links } = useDocument.getState();
    const ports = { ...usePlanned.getState().ports, ...useRunning.getState().ports };
    const showsRates = isRunning() && useView.getState().showsTraffic;
    useTextPlaces.setState({ places: textPlaces({ nodes, links, ports, showsRates }) });
  }, DELAY_MS);
}

useDocument.subscribe((now, before) => {
  if (now.nodes !== before.nodes || now.links !== before.links) update();
});
usePlanned.subscribe(update);
useRunning.subscribe((now, before) => {
  if (now.ports !== before.ports || now.run.phase !== before.run.phase) update();
});
useView.subscribe(update);
// The network may have been here before this module, which is loaded with the canvas.
update();
