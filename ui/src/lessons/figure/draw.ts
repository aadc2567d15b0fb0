/** Draw a figure as SVG. Its colours are in figure.css. */

import { type FlowLayout, layOut, LINE, type Measure, type PlacedEdge, type PlacedNode } from "./layout";
import { parse, type Sequence } from "./parse";

const FONT = '13px "Inter", system-ui, sans-serif';
/** The smallest scale of a figure; to fit beyond that, it is drawn from top to bottom instead. */
const MIN_SCALE = 0.8;
const LANE = 110;
const ROW = 40;

export function draw(source: string, room: number, measure: Measure = measureOnScreen): string {
  const figure = parse(source);
  if (figure.kind === "sequence") return drawSequence(figure, measure);
  let layout = layOut(figure, figure.direction, measure);
  if (figure.direction === "LR" && layout.width * MIN_SCALE > room) {
    const upright = layOut(figure, "TB", measure);
    if (upright.width < layout.width) layout = upright;
  }
  return drawFlow(layout);
}

let context: CanvasRenderingContext2D | null | undefined;

function measureOnScreen(text: string): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * 7;
  context.font = FONT;
  return context.measureText(text).width;
}

function drawFlow(layout: FlowLayout): string {
  const parts = [
    ...layout.groups.map((group) => `<g class="group">${box(group, 6)}</g>`),
    ...layout.edges.map(drawEdge),
    ...layout.groups.map((group) => {
      const y = group.y - group.height / 2 + LINE / 2 + 4;
      return `<g class="group-title">${text([group.title], group.x, y)}</g>`;
    }),
    ...layout.nodes.map(drawNode),
  ];
  return svg(layout.width, layout.height, parts);
}

function drawNode(node: PlacedNode): string {
  return `<g class="node ${node.shape}">${outline(node)}${text(node.lines, node.x, node.y)}</g>`;
}

function outline(node: PlacedNode): string {
  const { x, y, width, height } = node;
  if (node.shape === "circle") return `<circle cx="${round(x)}" cy="${round(y)}" r="${round(width / 2)}"/>`;
  if (node.shape === "diamond") {
    const corners = [
      [x, y - height / 2],
      [x + width / 2, y],
      [x, y + height / 2],
      [x - width / 2, y],
    ];
    return `<polygon points="${corners.map(([a, b]) => `${round(a!)},${round(b!)}`).join(" ")}"/>`;
  }
  return box(node, node.shape === "box" ? 3 : height / 2.5);
}

function box(place: { x: number; y: number; width: number; height: number }, radius: number): string {
  const { x, y, width, height } = place;
  return `<rect x="${round(x - width / 2)}" y="${round(y - height / 2)}" width="${round(width)}" height="${round(height)}" rx="${round(radius)}"/>`;
}

function drawEdge(edge: PlacedEdge): string {
  const path = edge.points.map((point) => `${round(point.x)} ${round(point.y)}`).join(" L ");
  const style = edge.isDashed ? ' stroke-dasharray="4 3"' : "";
  const end = edge.points.at(-1)!;
  const before = edge.points.at(-2) ?? end;
  const tip = edge.hasArrow ? arrow(before, end) : "";
  const label = edge.at ? `<g class="label">${box(edge.at, 2)}${text(edge.lines, edge.at.x, edge.at.y)}</g>` : "";
  return `<g class="edge"><path d="M ${path}"${style}/>${tip}${label}</g>`;
}

function arrow(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const angle = (Math.atan2(to.y - from.y, to.x - from.x) * 180) / Math.PI;
  return `<polygon class="arrow" points="0,0 -8,-4 -8,4" transform="translate(${round(to.x)} ${round(to.y)}) rotate(${round(angle)})"/>`;
}

function drawSequence(figure: Sequence, measure: Measure): string {
  const messages = figure.steps.filter((step) => step.kind === "message");
  const lane = Math.max(LANE, ...messages.map((step) => measure(step.text) + 20));
  const at = (actor: string) => lane / 2 + figure.actors.indexOf(actor) * lane;
  const width = lane * figure.actors.length;
  const height = ROW * (figure.steps.length + 1) + 10;
  const heads = figure.actors.map((actor) => {
    const x = at(actor);
    const place = { x, y: 18, width: Math.max(measure(actor) + 24, 60), height: 28 };
    return `<g class="edge"><path d="M ${round(x)} 32 V ${height - 4}" stroke-dasharray="2 3"/></g><g class="node">${box(place, 3)}${text([actor], x, 18)}</g>`;
  });
  const steps = figure.steps.map((step, index) => {
    const y = ROW * (index + 1) + 24;
    if (step.kind === "note") {
      const noteWidth = measure(step.text) + 16;
      // Above its line, but inside the figure.
      const x = Math.min(Math.max(at(step.over), noteWidth / 2 + 1), width - noteWidth / 2 - 1);
      const place = { x, y, width: noteWidth, height: 24 };
      return `<g class="note">${box(place, 2)}${text([step.text], x, y)}</g>`;
    }
    const [from, to] = [at(step.from), at(step.to)];
    return `<g class="edge"><path d="M ${round(from)} ${y} H ${round(to)}"/>${arrow({ x: from, y }, { x: to, y })}${text([step.text], (from + to) / 2, y - 9)}</g>`;
  });
  return svg(width, height, [...heads, ...steps]);
}

function text(lines: string[], x: number, y: number): string {
  const first = y - ((lines.length - 1) * LINE) / 2;
  return lines
    .map((line, index) => `<text x="${round(x)}" y="${round(first + index * LINE)}">${escaped(line)}</text>`)
    .join("");
}

function svg(width: number, height: number, parts: string[]): string {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  return `<svg viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img">${parts.join("")}</svg>`;
}

function escaped(value: string): string {
  return value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
