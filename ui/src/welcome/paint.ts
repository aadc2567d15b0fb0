/** Draw an instant of the recorded run: the network, its packets, and the queue of the slow link. */
import { hueColour } from "../packets/flights";
import { BOTTLENECK, packetsAt, queueCurve, RECORDING, type RecordedFlight } from "./recording";

export const WIDTH = 440;
export const HEIGHT = 176;
const SCALE = 0.56;
const [LEFT, TOP] = [35, 16];
const TILE: [number, number] = [42, 24];
/** Where a packet leaves a tile, along a line in pixels. */
const EDGE = 24;
const CURVE = { x: 14, y: 136, width: WIDTH - 28, height: 32 };
const POINTS = 160;
const GLASS = { rows: 3, step: 6.5 };

const curve = queueCurve(RECORDING, POINTS);
const fullest = Math.max(...curve.lengths);
const places = RECORDING.nodes.map(({ x, y }) => ({ x: LEFT + SCALE * x, y: TOP + SCALE * y }));

interface Colours {
  text: string;
  soft: string;
  line: string;
  panel: string;
  host: string;
  switch: string;
  error: string;
  accent: string;
}

function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name);
  return {
    text: colour("--text"),
    soft: colour("--text-soft"),
    line: colour("--link"),
    panel: colour("--panel"),
    host: colour("--host"),
    switch: colour("--switch"),
    error: colour("--error"),
    accent: colour("--accent"),
  };
}

export function paint(canvas: HTMLCanvasElement, now_ns: number, isDark: boolean): void {
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const ratio = devicePixelRatio || 1;
  const size = [Math.round(WIDTH * ratio), Math.round(HEIGHT * ratio)] as const;
  if (canvas.width !== size[0]) [canvas.width, canvas.height] = size;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, WIDTH, HEIGHT);
  canvas.dataset.instant = String(Math.round(now_ns / 1e6));
  const colours = coloursOf(canvas);
  const font = getComputedStyle(canvas).fontFamily;
  paintLinks(pen, colours);
  paintPackets(pen, colours, now_ns, isDark);
  paintNodes(pen, colours, font);
  paintCurve(pen, colours, font, now_ns);
}

function paintLinks(pen: CanvasRenderingContext2D, colours: Colours): void {
  pen.strokeStyle = colours.line;
  RECORDING.links.forEach(([from, to], index) => {
    pen.lineWidth = String(index) === BOTTLENECK.link ? 1 : 2.5;
    pen.beginPath();
    pen.moveTo(places[from]!.x, places[from]!.y);
    pen.lineTo(places[to]!.x, places[to]!.y);
    pen.stroke();
  });
}

function paintNodes(pen: CanvasRenderingContext2D, colours: Colours, font: string): void {
  pen.font = `600 11px ${font}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineWidth = 1.5;
  RECORDING.nodes.forEach(({ name, kind }, index) => {
    const { x, y } = places[index]!;
    pen.fillStyle = colours.panel;
    pen.strokeStyle = kind === "host" ? colours.host : colours.switch;
    pen.beginPath();
    pen.roundRect(x - TILE[0] / 2, y - TILE[1] / 2, ...TILE, 6);
    pen.fill();
    pen.stroke();
    pen.fillStyle = colours.text;
    pen.fillText(name, x, y + 0.5);
  });
}

function paintPackets(pen: CanvasRenderingContext2D, colours: Colours, now_ns: number, isDark: boolean): void {
  const colourOf = ({ flow }: RecordedFlight) => (flow < 0 ? colours.soft : hueColour(flow, isDark));
  let queued = 0;
  for (const { flight, spot } of packetsAt(RECORDING, now_ns)) {
    const { link, end, is_data } = flight.packet;
    const [from, to] = RECORDING.links[Number(link)]!;
    const [a, b] = end === "a" ? [places[from]!, places[to]!] : [places[to]!, places[from]!];
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    const way = { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
    const at = (along: number, aside = 0) => ({
      x: a.x + along * way.x - aside * way.y,
      y: a.y + along * way.y + aside * way.x,
    });
    pen.fillStyle = colourOf(flight);
    const dot = ({ x, y }: { x: number; y: number }) => {
      pen.beginPath();
      pen.arc(x, y, is_data ? 3.2 : 2.2, 0, 2 * Math.PI);
      pen.fill();
    };
    if (spot.kind === "flying") dot(at(EDGE + spot.part * (length - 2 * EDGE)));
    else if (spot.kind === "queued" && link === BOTTLENECK.link && end === BOTTLENECK.end) {
      const column = Math.floor(queued / GLASS.rows);
      dot(at(EDGE + 5 + GLASS.step * column, -8 - GLASS.step * (queued % GLASS.rows)));
      queued += 1;
    } else if (spot.kind === "falling") {
      const { x, y } = at(EDGE + 5);
      pen.globalAlpha = 1 - spot.part;
      dot({ x, y: y + 40 * spot.part * spot.part });
      cross(pen, colours.error, x, y + 40 * spot.part * spot.part);
      pen.globalAlpha = 1;
    }
  }
  // The glass of the queue, as wide as it is full at most.
  const [from] = RECORDING.links[Number(BOTTLENECK.link)]!;
  const { x, y } = places[from]!;
  pen.strokeStyle = colours.soft;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.roundRect(
    x + EDGE,
    y - 8 - GLASS.step * GLASS.rows + 2,
    GLASS.step * Math.ceil(fullest / GLASS.rows) + 4,
    GLASS.step * GLASS.rows + 2,
    3,
  );
  pen.stroke();
}

function cross(pen: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const turn of [1, -1]) {
    pen.moveTo(x - 4, y - 4 * turn);
    pen.lineTo(x + 4, y + 4 * turn);
  }
  pen.stroke();
}

function paintCurve(pen: CanvasRenderingContext2D, colours: Colours, font: string, now_ns: number): void {
  const { x, y, width, height } = CURVE;
  const across = (part: number) => x + part * width;
  pen.font = `10.5px ${font}`;
  pen.textAlign = "center";
  pen.fillStyle = colours.soft;
  pen.fillText("queue of s1 and its drops", WIDTH / 2, y - 11);
  pen.strokeStyle = colours.error;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const drop_ns of curve.drops_ns) {
    pen.moveTo(across(drop_ns / RECORDING.length_ns), y - 1);
    pen.lineTo(across(drop_ns / RECORDING.length_ns), y + 5);
  }
  pen.stroke();
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 1.5;
  pen.beginPath();
  curve.lengths.forEach((length, index) => {
    pen.lineTo(across(index / (POINTS - 1)), y + height - (height - 6) * (length / fullest));
  });
  pen.stroke();
  const now = across(now_ns / RECORDING.length_ns);
  pen.strokeStyle = colours.text;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(now, y - 2);
  pen.lineTo(now, y + height);
  pen.stroke();
}
