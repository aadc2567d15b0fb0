import { useInternalNode, type EdgeProps } from "@xyflow/react";
import { memo, useRef } from "react";
import { useShallow } from "zustand/react/shallow";
import type { DrawnLink } from "../protocol";
import { useDocument } from "../stores/document";
import { usePort, useTc } from "../stores/ports";
import { limitBytes, lostText, queueText, useQueues } from "../stores/queues";
import { useRunning } from "../stores/running";
import { shownRate, useTraffic, type Traffic } from "../stores/traffic";
import { useView } from "../stores/view";
import type { SetByTc } from "./conditions";
import type { LinkFlow } from "./flow";
import { loadOf } from "./load";
import { course, TILE, type Course, type Point } from "./geometry";
import {
  END_LINE_HEIGHT,
  endSpot,
  endTexts,
  LINE_HEIGHT,
  middleSpot,
  middleTexts,
  useTextPlaces,
  type EndPlace,
  type MiddlePlace,
} from "./linkTexts";
import { problemText, useProblemsOf } from "./problems";

const GLASS = { width: 11, height: 26 };
/** Where the glass of a queue stands: from the middle of the tile, and from the line. */
const [GLASS_AT, GLASS_AWAY] = [37, 4];
/** Width in pixels in which a click hits a line. */
const HIT_WIDTH = 18;
/** While a node with more links than this is dragged, their texts are hidden. */
const MAX_MOVED_TEXTS = 12;

/** A link: a line between two tiles, with its conditions in the middle and its ports at the ends. */
export const LinkEdge = memo(function LinkEdge({ id, source, target, data, selected }: EdgeProps<LinkFlow>) {
  const [from, to] = [useInternalNode(source), useInternalNode(target)];
  const [a, b] = [from?.internals.positionAbsolute, to?.internals.positionAbsolute];
  const hidesTexts = useDocument(({ links }) => [from, to].some((node) => node?.dragging && isHub(node.id, links)));
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
      {!isControl && !hidesTexts && (
        <>
          <End link={link} end="a" node={source} line={line} />
          <End link={link} end="b" node={target} line={line} />
          <Glass link={link} end="a" line={line} tc={tc} />
          <Glass link={link} end="b" line={line} tc={tc} />
          <Middle link={link} line={line} traffic={traffic} tc={tc} isDown={isDown} />
        </>
      )}
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
  useView(useShallow(({ showsPorts, showsAddresses }) => ({ showsPorts, showsAddresses })));
  const drawn = useDocument((state) => state.nodes[node]);
  const isAlone = useDocument((state) => state.nodes[node]?.kind === "host" && linkCounts(state.links).get(node) === 1);
  const place = useTextPlaces(({ places }) => places.get(`${link.id} ${end}`) as EndPlace | undefined);
  const texts = endTexts(port, drawn, isAlone);
  if (texts.length === 0 || line.length < 90) return null;
  const at = endSpot(line, end, place);
  const lost = port?.lost ?? "";
  return (
    // Moved by a transformation, because a text whose x changes is laid out again.
    <text
      className={`line-text line-end${lost === "" ? "" : " has-lost"}`}
      transform={`translate(${at.x},${at.y})`}
      textAnchor="middle"
    >
      {lost !== "" && <title>{lostText(lost)}</title>}
      {texts.map((text, index) => (
        <tspan key={index} x={0} dy={index === 0 ? 0 : END_LINE_HEIGHT}>
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

/** Whether a node has so many links that moving their texts takes longer than a frame. */
function isHub(node: string, links: Readonly<Record<string, DrawnLink>>): boolean {
  return (linkCounts(links).get(node) ?? 0) > MAX_MOVED_TEXTS;
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
  useView((state) => state.showsConditions);
  const isForward = useDocument((state) => (state.nodes[link.a]?.x ?? 0) <= (state.nodes[link.b]?.x ?? 0));
  const place = useTextPlaces(({ places }) => places.get(`${link.id} middle`) as MiddlePlace | undefined);
  const lines = middleTexts(link, tc, line, isForward);
  if (traffic !== undefined && !isDown && Math.max(traffic.a_bps, traffic.b_bps) >= 100) {
    const way = traffic.a_bps >= traffic.b_bps === isForward ? "→" : "←";
    lines.push(`${way} ${shownRate(Math.max(traffic.a_bps, traffic.b_bps))}`);
  }
  if (lines.length === 0 || line.length < 60) return null;
  const { at, angle, x, first, anchor } = middleSpot(line, lines.length, place);
  return (
    <text className="line-text" transform={`translate(${at.x},${at.y}) rotate(${angle})`} textAnchor={anchor}>
      {lines.map((text, index) => (
        <tspan key={index} x={x} y={first + index * LINE_HEIGHT}>
          {text}
        </tspan>
      ))}
    </text>
  );
}

/** The queue of a port while it holds something: a glass that fills up to its limit, and what was dropped. */
function Glass({ link, end, line, tc }: { link: DrawnLink; end: "a" | "b"; line: Course; tc: SetByTc }) {
  const queue = useQueues(({ queues }) => queues[`${link.id} ${end}`]);
  const isShown = useView((state) => state.showsTraffic);
  const port = usePort(link.id, end);
  const limit = limitBytes(link, end, tc);
  const most = useRef(0);
  if (queue === undefined || !isShown || line.length < 90) return null;
  most.current = Math.max(most.current, queue.bytes);
  // Without a known limit, the glass is as high as the longest queue so far.
  const part = Math.min(1, queue.bytes / (limit ?? Math.max(most.current, 1)));
  const { x, y } = endSpot(line, end, { distance: GLASS_AT, away: GLASS_AWAY, isFlipped: true });
  const level = queue.drops > 0 || part >= 0.9 ? "full" : part >= 0.6 ? "busy" : "used";
  const { width, height } = GLASS;
  // The number grows away from the middle of the line, where its conditions are written.
  const inwards = endSpot(line, end, { distance: GLASS_AT + 10, away: GLASS_AWAY, isFlipped: true }).x - x;
  const anchor = Math.abs(inwards) < 5 ? "middle" : inwards > 0 ? "end" : "start";
  return (
    <g className={`glass glass-${level}`} transform={`translate(${x - width / 2},${y - height + 4})`}>
      <title>{queueText(port?.name ?? "this port", queue, limit, port?.lost ?? "")}</title>
      <rect className="glass-fill" y={height * (1 - part)} width={width} height={height * part} />
      <path className="glass-wall" d={`M0,0 V${height} H${width} V0`} />
      {limit !== null && <path className="glass-limit" d={`M-3,0 H${width + 3}`} />}
      {queue.drops > 0 && (
        <text
          className="glass-drops"
          x={{ start: -3, middle: width / 2, end: width + 3 }[anchor]}
          y={-4}
          textAnchor={anchor}
        >
          −{queue.drops}
        </text>
      )}
    </g>
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
