/** The links of a large network that is seen from afar: lines on one canvas.
 *
 *  A thousand SVG elements take a tenth of a second for every frame in which they move.
 */
import { useStore, useStoreApi } from "@xyflow/react";
import { useEffect, useRef } from "react";
import type { DrawnLink } from "../protocol";
import { useDocument, type ById } from "../stores/document";
import { useRunning } from "../stores/running";
import { useSelection } from "../stores/selection";
import { useTraffic } from "../stores/traffic";
import { useView } from "../stores/view";
import { TILE, type Point } from "./geometry";
import { loadOf } from "./LinkEdge";

const NEAR_PX = 7;
const COLOURS = { used: "#2f86d6", busy: "#d88a00", full: "#d2452f" } as const;

export function FarLinks() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  useEffect(() => {
    let frame = 0;
    const draw = () => {
      frame = 0;
      if (canvas.current !== null) paint(canvas.current, store.getState());
    };
    const request = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const endings = [store, useDocument, useRunning, useSelection, useTraffic, useView].map((one) => one.subscribe(request));
    request();
    return () => {
      cancelAnimationFrame(frame);
      for (const end of endings) end();
    };
  }, [store, width, height]);
  return <canvas ref={canvas} className="far-links" aria-hidden="true" />;
}

interface FlowState {
  width: number;
  height: number;
  transform: readonly [number, number, number];
  nodeLookup: ReadonlyMap<string, { internals: { positionAbsolute: Point } }>;
}

function paint(canvas: HTMLCanvasElement, { width, height, transform: [x, y, zoom], nodeLookup }: FlowState): void {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
  }
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const [plain, chosen, down, control] = ["--link", "--accent", "--link-down", "--control-link"].map(colour);
  const { links, nodes } = useDocument.getState();
  const { ids } = useSelection.getState();
  const { linksDown } = useRunning.getState();
  const traffic = useTraffic.getState().links;
  const at = (id: string) => {
    const corner = nodeLookup.get(id)?.internals.positionAbsolute;
    return corner && { x: (corner.x + TILE.width / 2) * zoom + x, y: (corner.y + TILE.height / 2) * zoom + y };
  };
  for (const link of Object.values(links)) {
    const [a, b] = [at(link.a), at(link.b)];
    if (!a || !b || Math.max(a.x, b.x) < 0 || Math.min(a.x, b.x) > width || Math.max(a.y, b.y) < 0 || Math.min(a.y, b.y) > height) continue;
    const load = traffic[link.id] && !linksDown.has(link.id) ? loadOf(link, traffic[link.id]!, {}) : null;
    const isControl = nodes[link.a]?.kind === "controller" || nodes[link.b]?.kind === "controller";
    pen.strokeStyle = ids.has(link.id)
      ? chosen!
      : linksDown.has(link.id)
        ? down!
        : load !== null
          ? COLOURS[load.level as keyof typeof COLOURS]
          : isControl
            ? control!
            : plain!;
    pen.lineWidth = Math.max(1, (ids.has(link.id) ? 4 : (load?.width ?? 2)) * zoom);
    pen.beginPath();
    pen.moveTo(a.x, a.y);
    pen.lineTo(b.x, b.y);
    pen.stroke();
  }
}

/** The link that is drawn next to a point of the document; null if there is none near enough. */
export function linkNear(point: Point, zoom: number, links: ById<DrawnLink>, positions: ReadonlyMap<string, Point>): string | null {
  let [best, found]: [number, string | null] = [NEAR_PX / zoom, null];
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
