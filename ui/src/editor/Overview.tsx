/** The overview of a large network: its nodes as dots, and the visible part as a frame that can be moved. */
import { useStore } from "@xyflow/react";
import { useEffect, useMemo, useRef, type PointerEvent } from "react";
import type { AnyFlow } from "./flow";
import type { Point } from "./geometry";
import { boundsOf } from "./nearby";
import { centreOn } from "./viewport";

const WIDTH = 150;
const HEIGHT = 100;
const MARGIN = 6;

export function Overview({ drawn, colourOf }: { drawn: readonly AnyFlow[]; colourOf: (node: AnyFlow) => string }) {
  const dots = useRef<HTMLCanvasElement>(null);
  const theme = document.documentElement.dataset.theme;
  const scale = useMemo(() => scaleOf(drawn), [drawn]);
  const frame = useStore(({ width, height, transform: [x, y, zoom] }) =>
    [scale.toX(-x / zoom), scale.toY(-y / zoom), (width / zoom) * scale.factor, (height / zoom) * scale.factor]
      .map((value) => value.toFixed(1))
      .join(" "),
  );
  useEffect(() => {
    const pen = dots.current?.getContext("2d");
    if (!pen) return;
    pen.clearRect(0, 0, WIDTH, HEIGHT);
    const style = getComputedStyle(document.documentElement);
    const colours = new Map<string, string>();
    for (const node of drawn) {
      const name = colourOf(node);
      if (!colours.has(name)) colours.set(name, style.getPropertyValue(name.slice(4, -1)).trim());
      pen.fillStyle = colours.get(name)!;
      pen.fillRect(scale.toX(node.position.x) - 1, scale.toY(node.position.y) - 1, 2, 2);
    }
  }, [drawn, colourOf, theme, scale]);
  const go = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    event.currentTarget.setPointerCapture(event.pointerId);
    centreOn(scale.toDocument({ x: event.clientX - box.left, y: event.clientY - box.top }));
  };
  const [left, top, width, height] = frame.split(" ").map(Number);
  return (
    <div className="overview" role="img" aria-label="Overview" onPointerDown={go} onPointerMove={go}>
      <canvas ref={dots} width={WIDTH} height={HEIGHT} />
      <div className="overview-frame" style={{ left, top, width, height }} />
    </div>
  );
}

/** From the document to the overview, and back. */
function scaleOf(drawn: readonly AnyFlow[]) {
  const { left, top, right, bottom } = boundsOf(drawn);
  const factor = Math.min(
    (WIDTH - 2 * MARGIN) / Math.max(1, right - left),
    (HEIGHT - 2 * MARGIN) / Math.max(1, bottom - top),
  );
  const [x0, y0] = [(WIDTH - (right - left) * factor) / 2, (HEIGHT - (bottom - top) * factor) / 2];
  return {
    factor,
    toX: (x: number) => x0 + (x - left) * factor,
    toY: (y: number) => y0 + (y - top) * factor,
    toDocument: ({ x, y }: Point): Point => ({ x: left + (x - x0) / factor, y: top + (y - y0) / factor }),
  };
}
