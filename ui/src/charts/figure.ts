/** A chart as a figure for a report: axes with titles, all curves, and a legend with their dashes.
 *
 *  It is drawn from the data, not copied from the screen, so it has the same size everywhere and can be
 *  scaled. `drawingOf` describes it; `svgOf` and pdf.ts write the description.
 */
import { tickText } from "../clock/time";
import { ticks } from "./units";
import type { Data } from "./window";

export interface FigureCurve {
  title: string;
  colour: string;
  dash?: number[];
}

export interface Figure {
  title: string;
  unit: string;
  curves: readonly FigureCurve[];
  data: Data;
  /** The first and last time that are drawn. */
  span_s: readonly [number, number];
}

export type Anchor = "start" | "middle" | "end";

export interface Line {
  points: readonly (readonly [number, number])[];
  colour: string;
  width: number;
  dash: readonly number[];
}

export interface Text {
  x: number;
  y: number;
  text: string;
  size: number;
  anchor: Anchor;
  isBold: boolean;
  /** Whether it is written upwards. */
  isUpright: boolean;
}

/** Lines and texts in points, from the upper left corner. Lines of curves are clipped to `clip`. */
export interface Drawing {
  width: number;
  height: number;
  lines: readonly Line[];
  curves: readonly Line[];
  texts: readonly Text[];
  clip: { x: number; y: number; width: number; height: number };
}

const [WIDTH, HEIGHT] = [640, 360];
const LEFT = 76;
const [TOP, RIGHT, BOTTOM] = [34, 16, 44];
const LEGEND_ROW = 17;
const LETTER = 5.6;
const [INK, GRID] = ["#222222", "#d9dde3"];

/** Round values between two others: multiples of 1, 2 or 5 times a power of ten. */
export function roundTicks(from: number, to: number, count: number): number[] {
  const wanted = (to - from) / count;
  if (!(wanted > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = power * ([1, 2, 5].find((one) => one * power >= wanted) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  const found: number[] = [];
  for (let at = first; at * step <= to + step * 1e-9; at += 1) found.push(+(at * step).toPrecision(12));
  return found;
}

export function drawingOf({ title, unit, curves, data, span_s }: Figure): Drawing {
  const [from_s, to_s] = span_s;
  const rows = legendRows(curves);
  const bottom = HEIGHT - BOTTOM;
  const [innerWidth, innerHeight] = [WIDTH - LEFT - RIGHT, bottom - TOP];
  const isShown = data[0].map((time) => time >= from_s && time <= to_s);
  const shown = data.slice(1).flatMap((values) => values.filter((value, row) => isShown[row] && value != null));
  const largest = Math.max(0, ...shown.map(Number));
  const top = largest > 0 ? largest * 1.06 : 1;
  const x = (time: number) => LEFT + ((time - from_s) / Math.max(to_s - from_s, 1e-9)) * innerWidth;
  const y = (value: number) => bottom - (value / top) * innerHeight;
  const [times, values] = [roundTicks(from_s, to_s, 7), roundTicks(0, top, 5)];
  const line = (points: Line["points"], colour: string, width = 0.75, dash: readonly number[] = []): Line => ({
    points,
    colour,
    width,
    dash,
  });
  const text = (at: Partial<Text> & Pick<Text, "x" | "y" | "text">): Text => ({
    size: 10,
    anchor: "start",
    isBold: false,
    isUpright: false,
    ...at,
  });
  const stepOf = (all: readonly number[]) => (all.length > 1 ? all[1]! - all[0]! : 1);
  const legend = rows.flatMap((row, index) =>
    row.map(({ curve, at }) => ({ curve, at, below: HEIGHT + LEGEND_ROW * index + 6 })),
  );
  return {
    width: WIDTH,
    height: HEIGHT + LEGEND_ROW * rows.length + 8,
    clip: { x: LEFT, y: TOP, width: innerWidth, height: innerHeight },
    lines: [
      ...values.map((value) =>
        line(
          [
            [LEFT, y(value)],
            [WIDTH - RIGHT, y(value)],
          ],
          GRID,
        ),
      ),
      ...times.map((time) =>
        line(
          [
            [x(time), TOP],
            [x(time), bottom],
          ],
          GRID,
        ),
      ),
      line(
        [
          [LEFT, TOP],
          [LEFT, bottom],
          [WIDTH - RIGHT, bottom],
        ],
        INK,
        1,
      ),
      ...legend.map(({ curve, at, below }) =>
        line(
          [
            [at, below - 3.5],
            [at + 24, below - 3.5],
          ],
          curve.colour,
          1.75,
          curve.dash,
        ),
      ),
    ],
    curves: curves.flatMap((curve, index) =>
      runs(data[0], data[index + 1] ?? []).map((run) =>
        line(
          run.map(([time, value]) => [x(time), y(value)] as const),
          curve.colour,
          1.5,
          curve.dash,
        ),
      ),
    ),
    texts: [
      text({ x: LEFT, y: 20, text: title, size: 13, isBold: true }),
      ...times.map((time) =>
        text({ x: x(time), y: bottom + 14, text: tickText(time, stepOf(times)), anchor: "middle" }),
      ),
      ...ticks(values, unit).map((label, index) =>
        text({ x: LEFT - 6, y: y(values[index]!) + 3.5, text: label, anchor: "end" }),
      ),
      text({ x: LEFT + innerWidth / 2, y: HEIGHT - 12, text: "time of the network", anchor: "middle" }),
      text({ x: 13, y: TOP + innerHeight / 2, text: title, anchor: "middle", isUpright: true }),
      ...legend.map(({ curve, at, below }) => text({ x: at + 30, y: below, text: curve.title })),
    ],
  };
}

/** The parts of a curve between gaps. Undefined is a time of another curve and no gap. */
function runs(times: readonly number[], values: readonly (number | null | undefined)[]): [number, number][][] {
  const found: [number, number][][] = [[]];
  values.forEach((value, row) => {
    if (value === null) found.push([]);
    else if (value !== undefined) found.at(-1)!.push([times[row]!, value]);
  });
  return found.filter((run) => run.length > 1);
}

/** The entries of the legend in rows, as many in each as fit. */
function legendRows(curves: readonly FigureCurve[]): { curve: FigureCurve; at: number }[][] {
  const rows: { curve: FigureCurve; at: number }[][] = [];
  let end = Infinity;
  for (const curve of curves) {
    const width = 30 + curve.title.length * LETTER + 18;
    if (end + width > WIDTH - RIGHT) {
      rows.push([]);
      end = LEFT;
    }
    rows.at(-1)!.push({ curve, at: end });
    end += width;
  }
  return rows;
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ESCAPES[letter]!);
}

function near(value: number): string {
  return String(+value.toFixed(2));
}

/** The figure as SVG. */
export function svgOf(figure: Figure): string {
  const { width, height, lines, curves, texts, clip } = drawingOf(figure);
  const path = ({ points, colour, width: wide, dash }: Line) =>
    `<polyline points="${points.map(([x, y]) => `${near(x)},${near(y)}`).join(" ")}" fill="none" stroke="${escaped(colour)}" stroke-width="${wide}"${dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : ""}/>`;
  const word = ({ x, y, text, size, anchor, isBold, isUpright }: Text) =>
    `<text x="${near(x)}" y="${near(y)}" font-size="${size}" text-anchor="${anchor}"${isBold ? ' font-weight="bold"' : ""}${isUpright ? ` transform="rotate(-90 ${near(x)} ${near(y)})"` : ""}>${escaped(text)}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif" fill="${INK}">`,
    `<title>${escaped(figure.title)}</title>`,
    `<clipPath id="inside"><rect x="${clip.x}" y="${clip.y}" width="${clip.width}" height="${clip.height}"/></clipPath>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...lines.map(path),
    `<g clip-path="url(#inside)">`,
    ...curves.map(path),
    "</g>",
    ...texts.map(word),
    "</svg>",
    "",
  ].join("\n");
}

const PNG_SCALE = 3;

/** The figure in pixels, three for each of its points. */
export async function pngOf(figure: Figure): Promise<Blob | null> {
  const url = URL.createObjectURL(new Blob([svgOf(figure)], { type: "image/svg+xml" }));
  try {
    const picture = new Image();
    picture.src = url;
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.naturalWidth * PNG_SCALE, picture.naturalHeight * PNG_SCALE];
    canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}
