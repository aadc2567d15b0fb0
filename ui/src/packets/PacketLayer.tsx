/** Packets in flight: dots on the links of the canvas, in the colours of their flows. */
import "./packets.css";
import { useStore, useStoreApi } from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useDocument } from "../stores/document";
import { useBranches } from "../stores/branches";
import { useRunning } from "../stores/running";
import { isDark, useView } from "../stores/view";
import { course, endPart, type Course, type Point } from "../editor/geometry";
import type { AnyFlow, LinkFlow } from "../editor/flow";
import { colourOf, flowTitle, spotOf, type Flight } from "./flights";
import { flights, onPackets, shownTime, usePackets } from "./store";

const QUEUE_AT = 44;
const MAX_IN_QUEUE_DRAWN = 24;
const FALL = 46;
const MAX_FLOWS_NAMED = 8;
const DATA_RADIUS = 6;
const ACK_RADIUS = 4;

type Places = ReadonlyMap<string, Point>;

interface View {
  width: number;
  height: number;
  transform: readonly [number, number, number];
}

export function PacketLayer({ lines, drawn }: { lines: readonly LinkFlow[]; drawn: readonly AnyFlow[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const byLink = useMemo(() => new Map(lines.map((line) => [line.id, line])), [lines]);
  const places = useRef<Places>(new Map());
  useEffect(() => {
    places.current = new Map(drawn.map(({ id, position }) => [id, position]));
  }, [drawn]);
  useEffect(() => {
    let frame = 0;
    const draw = (real_ms: number) => {
      frame = 0;
      if (canvas.current !== null && paint(canvas.current, store.getState(), byLink, places.current, real_ms))
        request();
    };
    const request = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const endings = [
      onPackets(request),
      store.subscribe(request),
      useRunning.subscribe(request),
      useBranches.subscribe(request),
      useView.subscribe(request),
    ];
    request();
    return () => {
      cancelAnimationFrame(frame);
      for (const end of endings) end();
    };
  }, [store, byLink, width, height]);
  return <canvas ref={canvas} className="packet-layer" aria-hidden="true" />;
}

/** Draw all packets; returns whether any of them may still move. */
function paint(
  canvas: HTMLCanvasElement,
  view: View,
  byLink: ReadonlyMap<string, LinkFlow>,
  places: Places,
  real_ms: number,
): boolean {
  const { width, height, transform } = view;
  const [x, y, zoom] = transform;
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  }
  const pen = canvas.getContext("2d");
  if (pen === null) return false;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  canvas.dataset.shown = "0";
  // While an earlier instant is shown, the packets of now are not on these links.
  if (flights.size === 0 || !useView.getState().showsPackets || useBranches.getState().shown !== null) return false;
  const { now_ns, speed, isMoving } = shownTime(real_ms);
  const dark = isDark();
  const waiting = new Map<string, Flight[]>();
  const courses = new Map<string, Course | null>();
  const courseOf = (link: string): Course | null => {
    let known = courses.get(link);
    if (known === undefined) {
      const line = byLink.get(link);
      const [a, b] = [line && places.get(line.source), line && places.get(line.target)];
      known = line?.data && a && b ? course(a, b, line.data.lane, line.data.isForward) : null;
      courses.set(link, known);
    }
    return known;
  };
  const dot = (at: Point, flight: Flight, alpha = 1) => {
    const radius = (flight.packet.is_data ? DATA_RADIUS : ACK_RADIUS) * Math.max(zoom, 0.5);
    pen.globalAlpha = alpha;
    pen.fillStyle = colourOf(flight.packet.flow, dark);
    pen.strokeStyle = dark ? "#0e1318" : "#ffffff";
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.arc(at.x * zoom + x, at.y * zoom + y, radius, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
    pen.globalAlpha = 1;
  };
  let shown = 0;
  let isFalling = false;
  for (const [number, flight] of flights) {
    const { link, end } = flight.packet;
    const line = courseOf(link);
    const spot = spotOf(flight, now_ns, real_ms, speed);
    if (spot.kind === "gone" || line === null) {
      flights.delete(number);
      continue;
    }
    if (flight.packet.queued_ns > now_ns) continue;
    shown += 1;
    if (spot.kind === "queued") {
      const key = `${link} ${end}`;
      waiting.set(key, [...(waiting.get(key) ?? []), flight]);
      continue;
    }
    const first = endPart(line.length, QUEUE_AT);
    const along = spot.kind === "flying" ? first + spot.part * (1 - 2 * first) : first;
    const at = line.at(end === "a" ? along : 1 - along);
    if (spot.kind === "flying") dot(at, flight);
    else {
      isFalling = true;
      const fallen = { x: at.x, y: at.y + FALL * spot.part * spot.part };
      dot(fallen, flight, 1 - spot.part);
      cross(pen, { x: fallen.x * zoom + x, y: fallen.y * zoom + y }, 1 - spot.part);
    }
  }
  for (const [key, queue] of waiting) {
    const [link, end] = key.split(" ") as [string, "a" | "b"];
    const line = courseOf(link)!;
    const part = endPart(line.length, QUEUE_AT);
    const [at, next] = end === "a" ? [line.at(part), line.at(part + 0.02)] : [line.at(1 - part), line.at(0.98 - part)];
    const length = Math.hypot(next.x - at.x, next.y - at.y) || 1;
    const aside = { x: -(next.y - at.y) / length, y: (next.x - at.x) / length };
    queue.slice(0, MAX_IN_QUEUE_DRAWN).forEach((flight, index) => {
      const far = (index + 1) * 7;
      dot({ x: at.x + aside.x * far, y: at.y + aside.y * far }, flight, 0.85);
    });
  }
  canvas.dataset.shown = String(shown);
  return isFalling || (isMoving && flights.size > 0);
}

function cross(pen: CanvasRenderingContext2D, { x, y }: Point, alpha: number): void {
  pen.globalAlpha = alpha;
  pen.strokeStyle = "#d2452f";
  pen.lineWidth = 2.5;
  pen.beginPath();
  for (const turn of [1, -1]) {
    pen.moveTo(x - 6, y - 6 * turn);
    pen.lineTo(x + 6, y + 6 * turn);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

const LEGEND_MS = 500;

/** The legend: the colours of flows and the meaning of the dots, and below it the last packets. */
export function PacketLegend() {
  const hasAny = usePackets((state) => state.hasAny);
  const leftOut = usePackets((state) => state.leftOut);
  const isWanted = useView((state) => state.showsPackets);
  const dark = useView(isDark);
  const ports = useRunning((state) => state.run.ports);
  const isSlow = useRunning(({ clock }) => clock.is_paused || (clock.pace === "real" && clock.wanted_speed <= 0.1));
  const nodes = useDocument((state) => state.nodes);
  const [flows, setFlows] = useState<readonly string[]>([]);
  useEffect(() => {
    const update = () => {
      const seen = new Set([...flights.values()].reverse().map(({ packet }) => packet.flow));
      seen.delete("");
      setFlows((before) => {
        const kept = [
          ...before.filter((flow) => seen.has(flow)),
          ...[...seen].filter((flow) => !before.includes(flow)),
        ];
        return kept.slice(0, MAX_FLOWS_NAMED).join() === before.join() ? before : kept.slice(0, MAX_FLOWS_NAMED);
      });
    };
    const timer = window.setInterval(update, LEGEND_MS);
    return () => window.clearInterval(timer);
  }, []);
  const isPast = useBranches((state) => state.shown !== null);
  if (isPast || !hasAny || !isWanted || !isSlow || flows.length === 0) return null;
  const names = new Map(
    ports.flatMap(({ addresses, node }) =>
      addresses.map((one) => [one.split("/")[0]!, nodes[node]?.name ?? node] as const),
    ),
  );
  return (
    <div className="packet-legend" role="group" aria-label="Packets in flight">
      <ul>
        {flows.map((flow) => (
          <li key={flow}>
            <span className="packet-mark" style={{ background: colourOf(flow, dark) }} aria-hidden="true" />
            {flowTitle(flow, (address) => names.get(address))}
          </li>
        ))}
      </ul>
      {leftOut > 0 && (
        <p className="hint">{leftOut === 1 ? "1 more packet is" : `${leftOut} more packets are`} not drawn</p>
      )}
    </div>
  );
}
