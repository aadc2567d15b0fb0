import { useInternalNode, type EdgeProps } from "@xyflow/react";
import { memo } from "react";
import type { DrawnLink } from "../protocol";
import { useDocument } from "../stores/document";
import { addressesShown, usePort, useTc } from "../stores/ports";
import { useRunning } from "../stores/running";
import { shownRate, useTraffic, type Traffic } from "../stores/traffic";
import { useView } from "../stores/view";
import { summary, wrapped, type SetByTc } from "./conditions";
import type { LinkFlow } from "./flow";
import { loadOf } from "./load";
import { course, endPart, TILE, type Course, type Point } from "./geometry";
import { problemText, useProblemsOf } from "./problems";

/** Distances, in pixels of the canvas, from the middle of a tile to the name of its port. Below a tile are its own texts. */
const [NAME_AT, NAME_BELOW_AT] = [62, 84];
/** A line leaves its tile below if the sine of its downward angle is at least this. */
const DOWNWARD = 0.55;
/** Width in pixels in which a click hits a line. */
const HIT_WIDTH = 18;
/** Texts beside steeper lines (in degrees) are not rotated. */
const STEEP = 62;
const BESIDE_X = 18;
const BESIDE_Y = 9;
/** Width of a letter in pixels, to find how much text fits a line. */
const LETTER = 6;

/** A link: a line between two tiles, with its conditions in the middle and its ports at the ends. */
export const LinkEdge = memo(function LinkEdge({ id, source, target, data, selected }: EdgeProps<LinkFlow>) {
  const a = useInternalNode(source)?.internals.positionAbsolute;
  const b = useInternalNode(target)?.internals.positionAbsolute;
  const isDown = useRunning((state) => state.linksDown.has(id));
  const traffic = useTraffic((state) => state.links[id]);
  const tc = useTc(id);
  const problems = useProblemsOf(id);
  if (a === undefined || b === undefined || data === undefined) return null;
  const line = course(centreOf(a), centreOf(b), data.lane, data.isForward);
  const { link, isControl } = data;
  const load = isDown || traffic === undefined ? null : loadOf(link, traffic, tc);
  const classes = [
    "line",
    isControl && "line-control",
    isDown && "line-down",
    selected && "is-selected",
    problems.length > 0 && "line-wrong",
    load !== null && `line-${load.level}`,
  ];
  return (
    <>
      <path
        className={classes.filter(Boolean).join(" ")}
        d={line.path}
        style={load === null ? undefined : { strokeWidth: load.width }}
      />
      <path className="line-hit react-flow__edge-interaction" d={line.path} strokeWidth={HIT_WIDTH}>
        {problems.length > 0 && <title>{problemText(problems)}</title>}
      </path>
      {!isControl && <End link={link} end="a" node={source} line={line} />}
      {!isControl && <End link={link} end="b" node={target} line={line} />}
      {!isControl && <Middle link={link} line={line} traffic={traffic} tc={tc} isDown={isDown} />}
      {problems.length > 0 && <Mark at={line.at(0.5)} text="!" />}
      {isDown && <Mark at={line.at(0.5)} text="✕" />}
    </>
  );
});

function centreOf(corner: Point): Point {
  return { x: corner.x + TILE.width / 2, y: corner.y + TILE.height / 2 };
}

/** Name and address of a port, where the line leaves the tile. */
function End({ link, end, node, line }: { link: DrawnLink; end: "a" | "b"; node: string; line: Course }) {
  const port = usePort(link.id, end);
  const showsPorts = useView((state) => state.showsPorts);
  const showsAddresses = useView((state) => state.showsAddresses);
  const name = useDocument((state) => state.nodes[node]?.name);
  const isAlone = useDocument((state) => state.nodes[node]?.kind === "host" && linkCounts(state.links).get(node) === 1);
  if (port === undefined) return null;
  const short = name !== undefined && port.name.startsWith(`${name}-`) ? port.name.slice(name.length + 1) : port.name;
  const texts = [
    showsPorts ? short : "",
    // A host with one port has its address below its name.
    showsAddresses && !isAlone ? addressesShown(port) : "",
  ].filter((text) => text !== "");
  if (texts.length === 0 || line.length < 90) return null;
  const [here, there] = end === "a" ? [line.at(0), line.at(1)] : [line.at(1), line.at(0)];
  const isBelow = line.length > 0 && (there.y - here.y) / line.length > DOWNWARD;
  const part = endPart(line.length, isBelow ? NAME_BELOW_AT : NAME_AT);
  const at = beside(line, end === "a" ? part : 1 - part);
  return (
    // Moved by a transformation, because a text whose x changes is laid out again.
    <text className="line-text line-end" transform={`translate(${at.x},${at.y + 4})`} textAnchor="middle">
      {texts.map((text, index) => (
        <tspan key={index} x={0} dy={index === 0 ? 0 : 12}>
          {text}
        </tspan>
      ))}
    </text>
  );
}

const counted = new WeakMap<object, Map<string, number>>();

/** How many links each node has. */
function linkCounts(links: Readonly<Record<string, DrawnLink>>): ReadonlyMap<string, number> {
  let counts = counted.get(links);
  if (counts === undefined) {
    counts = new Map();
    for (const { a, b } of Object.values(links)) {
      counts.set(a, (counts.get(a) ?? 0) + 1);
      counts.set(b, (counts.get(b) ?? 0) + 1);
    }
    counted.set(links, counts);
  }
  return counts;
}

/** A point beside the line for a text: below it, because the conditions are above; left of a steep line. */
function beside(line: Course, part: number): Point {
  const at = line.at(part);
  const [before, after] = [line.at(part - 0.02), line.at(part + 0.02)];
  const length = Math.hypot(after.x - before.x, after.y - before.y) || 1;
  let normal = { x: (after.y - before.y) / length, y: -(after.x - before.x) / length };
  if (normal.y < -0.2 || (Math.abs(normal.y) <= 0.2 && normal.x > 0)) normal = { x: -normal.x, y: -normal.y };
  return { x: at.x + normal.x * BESIDE_X, y: at.y + normal.y * BESIDE_Y };
}

/** The angle of the line in its middle, from -90 to 90 degrees so that texts are upright. */
function angleOf(line: Course): number {
  const [before, after] = [line.at(0.48), line.at(0.52)];
  const angle = (Math.atan2(after.y - before.y, after.x - before.x) * 180) / Math.PI;
  return angle > 90 ? angle - 180 : angle < -90 ? angle + 180 : angle;
}

interface MiddleProps {
  link: DrawnLink;
  line: Course;
  traffic: Traffic | undefined;
  tc: SetByTc;
  isDown: boolean;
}

/** The conditions of the link and, while it runs, its throughput. */
function Middle({ link, line, traffic, tc, isDown }: MiddleProps) {
  const showsConditions = useView((state) => state.showsConditions);
  const arrows = useDocument((state) => (state.nodes[link.a]?.x ?? 0) <= (state.nodes[link.b]?.x ?? 0));
  const { both, a, b } = summary(link, tc);
  const [toB, toA] = arrows ? ["→", "←"] : ["←", "→"];
  const room = Math.max(12, (line.length - TILE.width - 16) / LETTER);
  const lines = showsConditions
    ? [both, a && `${toB} ${a}`, b && `${toA} ${b}`, tc.a || tc.b ? "(set by tc)" : ""].filter(Boolean).flatMap((text) => wrapped(text, room))
    : [];
  if (traffic !== undefined && !isDown && Math.max(traffic.a_bps, traffic.b_bps) >= 100) {
    const way = traffic.a_bps >= traffic.b_bps ? toB : toA;
    lines.push(`${way} ${shownRate(Math.max(traffic.a_bps, traffic.b_bps))}`);
  }
  if (lines.length === 0 || line.length < 60) return null;
  const at = line.at(0.5);
  const angle = angleOf(line);
  const isSteep = Math.abs(angle) > STEEP;
  const x = isSteep ? 9 : 0;
  const first = isSteep ? 4 - (lines.length - 1) * 6.5 : -7 - (lines.length - 1) * 13;
  return (
    <text
      className="line-text"
      transform={`translate(${at.x},${at.y}) rotate(${isSteep ? 0 : angle})`}
      textAnchor={isSteep ? "start" : "middle"}
    >
      {lines.map((text, index) => (
        <tspan key={index} x={x} y={first + index * 13}>
          {text}
        </tspan>
      ))}
    </text>
  );
}

function Mark({ at, text }: { at: Point; text: string }) {
  return (
    <g className="line-mark" transform={`translate(${at.x},${at.y})`}>
      <circle r="8" />
      <text textAnchor="middle" y="4">
        {text}
      </text>
    </g>
  );
}
