/** Draws a time-sequence graph on a canvas. Every mark has a shape of its own, not only a colour. */
import { tickText } from "../clock/time";
import { roundTicks } from "../charts/figure";
import { ticks } from "../charts/units";
import { lastBefore } from "../stores/hover";
import { toX, toY, type Sequence, type Size, type View } from "./sequence";

export const LEFT = 66;
export const BOTTOM = 22;
const CAP_PX = 2.5;
const CROSS_PX = 4;
const MIN_LENGTH_PX = 2;
const MANY = 4000;

export interface Colours {
  grid: string;
  text: string;
  sent: string;
  again: string;
  acknowledged: string;
  sack: string;
  window: string;
  mark: string;
  font: string;
}

export interface Picture {
  sequence: Sequence;
  view: View;
  colours: Colours;
  /** An instant that is marked, as of the pointer in a chart. */
  at_s: number | null;
  /** The rectangle that is being dragged. */
  dragged: { x: number; y: number; toX: number; toY: number } | null;
}

/** Draw into a context whose unit is a pixel of the page; `whole` is the size with the axes. */
export function draw(context: CanvasRenderingContext2D, whole: Size, picture: Picture): void {
  const { sequence, view, colours } = picture;
  const size = { width: whole.width - LEFT, height: whole.height - BOTTOM };
  context.clearRect(0, 0, whole.width, whole.height);
  if (size.width < 20 || size.height < 20) return;
  axes(context, size, view, colours);
  context.save();
  context.translate(LEFT, 0);
  context.beginPath();
  context.rect(0, 0, size.width, size.height);
  context.clip();
  answers(context, size, sequence, view, colours);
  segments(context, size, sequence, view, colours);
  if (picture.at_s !== null) line(context, colours.mark, 1, toX(view, size, picture.at_s), 0, size.height);
  if (picture.dragged !== null) {
    const { x, y, toX: right, toY: low } = picture.dragged;
    context.fillStyle = colours.mark;
    context.globalAlpha = 0.15;
    context.fillRect(Math.min(x, right), Math.min(y, low), Math.abs(right - x), Math.abs(low - y));
  }
  context.restore();
}

function axes(context: CanvasRenderingContext2D, size: Size, view: View, colours: Colours): void {
  const times = roundTicks(view.from_s, view.to_s, Math.max(2, size.width / 110));
  const bytes = roundTicks(Math.max(view.from_b, 0), view.to_b, Math.max(2, size.height / 45));
  context.font = `11px ${colours.font}`;
  context.strokeStyle = colours.grid;
  context.fillStyle = colours.text;
  context.lineWidth = 1;
  context.beginPath();
  for (const at of times) {
    const x = Math.round(LEFT + toX(view, size, at)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, size.height);
  }
  for (const at of bytes) {
    const y = Math.round(toY(view, size, at)) + 0.5;
    context.moveTo(LEFT, y);
    context.lineTo(LEFT + size.width, y);
  }
  context.stroke();
  context.textAlign = "center";
  context.textBaseline = "top";
  const step = times.length > 1 ? times[1]! - times[0]! : 1;
  for (const at of times) {
    const x = LEFT + toX(view, size, at);
    if (x > LEFT + 12 && x < LEFT + size.width - 12) context.fillText(tickText(at, step), x, size.height + 5);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  const words = ticks(bytes, "B");
  bytes.forEach((at, index) => {
    const y = toY(view, size, at);
    if (y > 6 && y < size.height - 4) context.fillText(words[index]!, LEFT - 6, y);
  });
}

/** The rows within the view, and one on each side, so that lines go on to the edge. */
function rowsIn(times_s: readonly number[], view: View): [number, number] {
  return [
    Math.max(lastBefore(times_s, view.from_s), 0),
    Math.min(lastBefore(times_s, view.to_s) + 1, times_s.length - 1),
  ];
}

function answers(
  context: CanvasRenderingContext2D,
  size: Size,
  { page, answered_s }: Sequence,
  view: View,
  colours: Colours,
): void {
  const [first, last] = rowsIn(answered_s, view);
  const { acks, window_ends, sacks, duplicates } = page.answers;
  const stairs = (values: readonly (number | null)[], colour: string, width: number, dash: readonly number[]) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash([...dash]);
    context.beginPath();
    let y: number | null = null;
    for (let row = first; row <= last; row += 1) {
      const value = values[row];
      if (value == null) continue;
      const x = toX(view, size, answered_s[row]!);
      if (y === null) context.moveTo(x, toY(view, size, value));
      else context.lineTo(x, y);
      y = toY(view, size, value);
      context.lineTo(x, y);
    }
    if (y !== null && last === answered_s.length - 1) context.lineTo(size.width, y);
    context.stroke();
    context.setLineDash([]);
  };
  stairs(window_ends, colours.window, 1, [5, 3]);
  stairs(acks, colours.acknowledged, 1.5, []);
  for (let row = first; row <= last; row += 1) {
    const x = toX(view, size, answered_s[row]!);
    for (const [start, end] of sacks[row]!) {
      line(context, colours.sack, 2.5, x, toY(view, size, end!), toY(view, size, start!));
    }
    if (duplicates[row]) {
      const y = toY(view, size, acks[row]!);
      line(context, colours.acknowledged, 1, x, y - 5, y);
    }
  }
}

function segments(
  context: CanvasRenderingContext2D,
  size: Size,
  { page, sent_s }: Sequence,
  view: View,
  colours: Colours,
): void {
  const [first, last] = rowsIn(sent_s, view);
  const { starts, ends, kinds, fates } = page.sent;
  const hasCaps = last - first < MANY;
  for (const isAgain of [false, true]) {
    context.strokeStyle = isAgain ? colours.again : colours.sent;
    context.lineWidth = isAgain ? 2.5 : 1.2;
    context.beginPath();
    for (let row = first; row <= last; row += 1) {
      if ((kinds[row] !== "new") !== isAgain) continue;
      const x = toX(view, size, sent_s[row]!);
      const low = toY(view, size, starts[row]!);
      const high = Math.min(toY(view, size, ends[row]!), low - MIN_LENGTH_PX);
      context.moveTo(x, low);
      context.lineTo(x, high);
      if (hasCaps && low - high > 4 * CAP_PX) {
        for (const [y, way] of [
          [low, -1],
          [high, 1],
        ] as const) {
          context.moveTo(x - CAP_PX, y + way * CAP_PX);
          context.lineTo(x, y);
          context.lineTo(x + CAP_PX, y + way * CAP_PX);
        }
      }
    }
    context.stroke();
  }
  context.strokeStyle = colours.again;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let row = first; row <= last; row += 1) {
    const fate = fates[row];
    if (fate !== "lost" && fate !== "resent") continue;
    const x = toX(view, size, sent_s[row]!);
    const y = (toY(view, size, starts[row]!) + toY(view, size, ends[row]!)) / 2;
    if (fate === "lost") {
      context.moveTo(x - CROSS_PX, y - CROSS_PX);
      context.lineTo(x + CROSS_PX, y + CROSS_PX);
      context.moveTo(x - CROSS_PX, y + CROSS_PX);
      context.lineTo(x + CROSS_PX, y - CROSS_PX);
    } else {
      context.moveTo(x + CROSS_PX, y);
      context.arc(x, y, CROSS_PX, 0, 2 * Math.PI);
    }
  }
  context.stroke();
}

function line(
  context: CanvasRenderingContext2D,
  colour: string,
  width: number,
  x: number,
  y: number,
  to: number,
): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x, Math.abs(to - y) < 1 ? y + 1 : to);
  context.stroke();
}
