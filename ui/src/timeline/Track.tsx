import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { clockText, tickText } from "../clock/time";
import type { BranchInfo, SessionEvent } from "../protocol";
import { showBranch, showInstant, showNow, useBranches } from "../stores/branches";
import { endHover, hoverAt, useHover } from "../stores/hover";
import {
  barsOf,
  eventText,
  instantAt,
  isFailed,
  lastText,
  MARGIN,
  marksOf,
  neighbour,
  stepNs,
  tickNs,
  ticksOf,
  xOf,
  type Scale,
} from "./layout";

const NO_EVENTS: readonly SessionEvent[] = [];
const BAR_HEIGHT = 13;
const [STRIP_HEIGHT, STRIP_BAR_HEIGHT, STRIP_ROWS] = [26, 4, 2];
const LANE_HEIGHT = 9;
const AXIS_HEIGHT = 15;
/** Within this distance of the live branch's end, the handle snaps back to now. */
const NOW_PX = 5;
/** The smallest width of a bar with a text. */
const LETTER_PX = 6.2;
const MIN_END_NS = 1e9;
const BIG_STEPS = 10;

interface Props {
  branch: BranchInfo;
  branches: readonly BranchInfo[];
  /** The last instant of each branch. */
  ends: readonly number[];
  /** Without texts, axis and other branches, in the height of a button. */
  isStrip?: boolean;
}

/** The line itself, with the handle that is dragged to an instant. */
export function Track({ branch, branches, ends, isStrip = false }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  const shown = useBranches((state) => state.shown);
  const live = useBranches((state) => state.live);
  const events = useBranches((state) => state.events[branch.id]) ?? NO_EVENTS;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);

  const end_ns = ends[branches.indexOf(branch)] ?? 0;
  const scale: Scale = { width, end_ns: Math.max(MIN_END_NS, ...ends) };
  const at_ns = shown?.at_ns ?? end_ns;
  const goTo = (wanted_ns: number) => {
    if (wanted_ns >= end_ns) showBranch(branch.id);
    else showInstant(branch.id, wanted_ns);
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    const track = event.currentTarget;
    const left = track.getBoundingClientRect().left;
    const move = ({ clientX }: { clientX: number }) => {
      const isNow = branch.id === live && clientX - left >= xOf(end_ns, scale) - NOW_PX;
      if (isNow) showNow();
      else goTo(instantAt(clientX - left, scale));
    };
    track.setPointerCapture(event.pointerId);
    move(event);
    track.addEventListener("pointermove", move);
    track.addEventListener("lostpointercapture", () => track.removeEventListener("pointermove", move), { once: true });
  };
  const press = (event: KeyboardEvent) => {
    const wanted = keyTarget(event, at_ns, end_ns, events);
    if (wanted === undefined) return;
    event.preventDefault();
    goTo(wanted);
  };
  const last = lastText(events, at_ns);
  const handle = xOf(at_ns, scale);
  return (
    <div
      className="timeline-track"
      ref={box}
      onPointerDown={drag}
      onPointerMove={({ clientX, currentTarget }) =>
        hoverAt(instantAt(clientX - currentTarget.getBoundingClientRect().left, scale) / 1e9, "timeline")
      }
      onPointerLeave={() => endHover("timeline")}
    >
      <HoverMark scale={scale} />
      <Drawing {...{ branch, branches, ends, isStrip, events, scale, at_ns }} />
      <div
        className="timeline-handle"
        style={{ left: handle }}
        role="slider"
        tabIndex={0}
        aria-label="Instant"
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={end_ns / 1e9}
        aria-valuenow={at_ns / 1e9}
        aria-valuetext={`${shown === null ? "now, " : ""}${clockText(at_ns)}${last === "" ? "" : `; last: ${last}`}`}
        title="Drag to an instant. Arrow keys move it, with Ctrl from event to event; Home goes to the start, End to the end."
        onKeyDown={press}
      />
    </div>
  );
}

/** The instant under the pointer in a chart or a list of packets. */
function HoverMark({ scale }: { scale: Scale }) {
  const at_s = useHover((state) => (state.from === "timeline" ? null : state.at_s));
  if (at_s === null || at_s < 0 || at_s * 1e9 > scale.end_ns) return null;
  return <div className="timeline-hover" style={{ left: xOf(at_s * 1e9, scale) }} aria-hidden="true" />;
}

/** The instant that a key leads to; Infinity is the end. */
function keyTarget(
  { key, ctrlKey }: KeyboardEvent,
  at_ns: number,
  end_ns: number,
  events: readonly SessionEvent[],
): number | undefined {
  const step = stepNs(end_ns);
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      return ctrlKey ? (neighbour(events, at_ns, -1)?.at_ns ?? 0) : at_ns - step;
    case "ArrowRight":
    case "ArrowUp":
      return ctrlKey ? (neighbour(events, at_ns, 1)?.at_ns ?? Infinity) : at_ns + step;
    case "PageDown":
      return at_ns - BIG_STEPS * step;
    case "PageUp":
      return at_ns + BIG_STEPS * step;
    case "Home":
      return 0;
    case "End":
      return Infinity;
    default:
      return undefined;
  }
}

interface DrawingProps extends Props {
  events: readonly SessionEvent[];
  scale: Scale;
  at_ns: number;
}

function Drawing({ branch, branches: all, ends: allEnds, isStrip, events, scale, at_ns }: DrawingProps) {
  const end_ns = allEnds[all.indexOf(branch)] ?? 0;
  const branches = isStrip ? [branch] : all;
  const ends = isStrip ? [end_ns] : allEnds;
  const { bars, rows } = barsOf(events, scale, end_ns);
  const barHeight = isStrip ? STRIP_BAR_HEIGHT : BAR_HEIGHT;
  const barY = (row: number) => 3 + (isStrip ? Math.min(row, STRIP_ROWS - 1) : row) * (barHeight + 2);
  const lanesTop = isStrip ? STRIP_HEIGHT - 13 : 4 + rows * (BAR_HEIGHT + 2);
  const laneY = (index: number) => lanesTop + 5 + index * LANE_HEIGHT;
  const own = laneY(branches.indexOf(branch));
  const axis = laneY(branches.length - 1) + 7;
  const step = tickNs(scale);
  return (
    <svg
      className="timeline-drawing"
      width={scale.width}
      height={isStrip ? STRIP_HEIGHT : axis + AXIS_HEIGHT}
      aria-hidden="true"
    >
      {ticksOf(scale).map((tick) => (
        <g key={tick}>
          <line className="timeline-grid" x1={xOf(tick, scale)} x2={xOf(tick, scale)} y1={2} y2={axis} />
          {!isStrip && (
            <text
              className="timeline-tick"
              x={xOf(tick, scale)}
              y={axis + 11}
              textAnchor={tick === 0 ? "start" : "middle"}
            >
              {tickText(tick / 1e9, step / 1e9)}
            </text>
          )}
        </g>
      ))}
      {branches.map((one, index) => (
        <Lane
          key={one.id}
          from={xOf(one.left_ns, scale)}
          to={xOf(ends[index] ?? 0, scale)}
          y={laneY(index)}
          parentY={
            one.parent === null
              ? null
              : laneY(
                  Math.max(
                    0,
                    branches.findIndex(({ id }) => id === one.parent),
                  ),
                )
          }
          isOwn={one === branch}
        />
      ))}
      {bars.map(({ event, row, x, width }) => (
        <g
          key={event.number}
          className={`timeline-command ${isFailed(event) ? "is-failed" : ""} ${event.at_ns > at_ns ? "is-later" : ""}`}
        >
          <title>{`${clockText(event.at_ns)}  ${eventText(event)}`}</title>
          <rect x={x} y={barY(row)} width={width} height={barHeight} rx={isStrip ? 1.5 : 3} />
          {width > 30 && !isStrip && (
            <text x={x + 4} y={barY(row) + 10}>
              {clipped(`${event.where} ${event.text}`, (width - 6) / LETTER_PX)}
            </text>
          )}
        </g>
      ))}
      {marksOf(events, scale).map(({ event, x, end }) => (
        <g
          key={event.number}
          className={`timeline-mark timeline-${event.kind} ${event.at_ns > at_ns ? "is-later" : ""}`}
        >
          <title>{`${clockText(event.at_ns)}  ${eventText(event)}`}</title>
          <Mark event={event} x={x} end={end} y={own} />
        </g>
      ))}
      <line className="timeline-cursor" x1={xOf(at_ns, scale)} x2={xOf(at_ns, scale)} y1={0} y2={axis} />
    </svg>
  );
}

interface LaneProps {
  from: number;
  to: number;
  y: number;
  parentY: number | null;
  isOwn: boolean;
}

/** A branch: where it leaves its parent, and how far it goes. */
function Lane({ from, to, y, parentY, isOwn }: LaneProps) {
  const bend =
    parentY === null
      ? ""
      : `M ${from - 5} ${parentY} Q ${from} ${parentY} ${from} ${(parentY + y) / 2} T ${from + 5} ${y} `;
  const start = parentY === null ? MARGIN : Math.min(from + 5, to);
  return (
    <path
      className={`timeline-lane ${isOwn ? "is-own" : ""}`}
      d={`${bend}M ${start} ${y} H ${Math.max(to, start + 1)}`}
    />
  );
}

function Mark({ event, x, end, y }: { event: SessionEvent; x: number; end: number; y: number }) {
  switch (event.kind) {
    case "drop":
      return <rect x={x - 1} y={y + 2} width={Math.max(2, end - x)} height={3.5} rx={1} />;
    case "marker":
      return <path d={`M ${x} ${y + 2} V ${y - 10} l 8 3 l -8 3`} />;
    case "breakpoint":
      return <path d={`M ${x - 3} ${y - 4} h 2 v 8 h -2 z M ${x + 1} ${y - 4} h 2 v 8 h -2 z`} />;
    default:
      return <path d={`M ${x} ${y - 4.5} l 4.5 4.5 l -4.5 4.5 l -4.5 -4.5 z`} />;
  }
}

function clipped(text: string, letters: number): string {
  return text.length <= letters ? text : `${text.slice(0, Math.max(0, Math.floor(letters) - 1))}…`;
}
