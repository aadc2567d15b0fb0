/* The page of an exported run: it draws everything from the data in it and needs no server. */
/* eslint-disable no-control-regex -- terminals speak in control characters */
"use strict";

const run = JSON.parse(document.getElementById("run").textContent);
const slider = document.getElementById("instant");
const SVG = "http://www.w3.org/2000/svg";
const COLUMNS = 2000;
let now_s = run.end_s;
let shown = 0;

function make(name, attributes, parent, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** The index of the last time at or before an instant. */
function rowAt(times, at_s) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= at_s) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** "94.2 Mbit/s" */
function amount(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "s") return `${(value * 1000).toPrecision(3)} ms`;
  const step = value < 1 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  return `${+(value / 1000 ** step).toPrecision(3)} ${["", "k", "M", "G", "T"][step]}${unit}`;
}

/** What a terminal shows after some output: enough of ECMA-48 for shells and measuring programs. */
function screenOf(text) {
  const lines = [""];
  let [row, column] = [0, 0];
  const parts =
    text.match(/\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\r\n\b]|[^\x1b\r\n\b]+/g) ?? [];
  for (const part of parts) {
    if (part === "\n") {
      row += 1;
      if (row === lines.length) lines.push("");
    } else if (part === "\r") column = 0;
    else if (part === "\b") column = Math.max(0, column - 1);
    else if (/^\x1b\[\d*J$/.test(part) || part === "\x1bc") {
      lines.splice(0, lines.length, "");
      [row, column] = [0, 0];
    } else if (part === "\x1b[K") lines[row] = lines[row].slice(0, column);
    else if (/^\x1b\[\d*[CD]$/.test(part)) {
      const by = Number(part.slice(2, -1) || 1);
      column = Math.max(0, column + (part.endsWith("C") ? by : -by));
    } else if (!part.startsWith("\x1b")) {
      const plain = part.replace(/[\x00-\x08\x0e-\x1f]/g, "");
      lines[row] = lines[row].padEnd(column).slice(0, column) + plain + lines[row].slice(column + plain.length);
      column += plain.length;
      if (column > COLUMNS) column = COLUMNS;
    }
  }
  return lines.join("\n");
}

// -- the network ------------------------------------------------------------------------------------

const canvas = document.getElementById("canvas");
const xs = run.nodes.map(({ x }) => x);
const ys = run.nodes.map(({ y }) => y);
const [left, top_] = [Math.min(...xs, 0) - 60, Math.min(...ys, 0) - 50];
canvas.setAttribute(
  "viewBox",
  `${left} ${top_} ${Math.max(...xs, 200) - left + 60} ${Math.max(...ys, 100) - top_ + 60}`,
);
const lines = run.links.map(({ a, b, text }) => {
  const [from, to] = [run.nodes[a], run.nodes[b]];
  const line = make("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: "link" }, canvas);
  const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
  make("text", { x, y: y - 18, class: "note" }, canvas, text);
  return { line, rate: make("text", { x, y: y - 6, class: "note" }, canvas) };
});
for (const { name, kind, x, y } of run.nodes) {
  make("rect", { x: x - 27, y: y - 21, width: 54, height: 42, rx: 9, class: `node ${kind}` }, canvas);
  make("text", { x, y: y + 4, class: "kind" }, canvas, kind);
  make("text", { x, y: y + 36, class: "name" }, canvas, name);
}

function drawLinks() {
  run.links.forEach(({ ports }, index) => {
    const rates = ports.map((port) => {
      const curve = run.charts[0]?.curves.find(({ key }) => key === port);
      return curve?.values[rowAt(run.charts[0].times_s, now_s)] ?? 0;
    });
    const most = Math.max(...rates, 0);
    lines[index].line.style.strokeWidth = most < 100 ? 2 : Math.min(9, 2.4 + Math.max(0, Math.log10(most) - 3));
    lines[index].line.classList.toggle("used", most >= 100);
    lines[index].rate.textContent = most >= 100 ? amount(most, "bit/s") : "";
  });
}

// -- charts -----------------------------------------------------------------------------------------

const [WIDTH, HEIGHT] = [600, 150];
const charts = run.charts.map(({ title, unit, times_s, curves }) => {
  const box = document.createElement("figure");
  const head = document.createElement("figcaption");
  const legend = document.createElement("p");
  head.textContent = title;
  const plot = document.createElementNS(SVG, "svg");
  plot.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  plot.setAttribute("preserveAspectRatio", "none");
  const top = Math.max(...curves.flatMap(({ values }) => values.map(Number)), 1e-9) * 1.05;
  for (const { colour, values } of curves) {
    let path = "";
    let isGap = true;
    values.forEach((value, row) => {
      if (value === null) isGap = true;
      else {
        const [x, y] = [(times_s[row] / Math.max(run.end_s, 1e-9)) * WIDTH, HEIGHT - (value / top) * HEIGHT];
        path += `${isGap ? "M" : "L"}${x.toFixed(1)},${y.toFixed(1)}`;
        isGap = false;
      }
    });
    make("path", { d: path, stroke: colour, class: "curve" }, plot);
  }
  const cursor = make("line", { y1: 0, y2: HEIGHT, class: "cursor" }, plot);
  const texts = curves.map(({ title: name, colour }) => {
    const row = document.createElement("span");
    const mark = document.createElement("i");
    mark.style.background = colour;
    const value = document.createElement("b");
    row.append(mark, `${name} `, value);
    legend.append(row);
    return value;
  });
  plot.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) return;
    const { left: from, width } = plot.getBoundingClientRect();
    show(((event.clientX - from) / width) * run.end_s);
  });
  plot.addEventListener("pointerdown", (event) => {
    const { left: from, width } = plot.getBoundingClientRect();
    show(((event.clientX - from) / width) * run.end_s);
  });
  box.append(head, legend, plot);
  document.getElementById("charts").append(box);
  return () => {
    const x = (now_s / Math.max(run.end_s, 1e-9)) * WIDTH;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    const row = rowAt(times_s, now_s);
    curves.forEach(({ values }, index) => (texts[index].textContent = amount(values[row], unit)));
  };
});

// -- terminals --------------------------------------------------------------------------------------

const tabs = document.getElementById("tabs");
const screen = document.getElementById("screen");
run.terminals.forEach(({ title }, index) => {
  const tab = document.createElement("button");
  tab.textContent = title;
  tab.addEventListener("click", () => {
    shown = index;
    drawTerminal();
  });
  tabs.append(tab);
});

function drawTerminal() {
  [...tabs.children].forEach((tab, index) => tab.setAttribute("aria-pressed", String(index === shown)));
  const terminal = run.terminals[shown];
  if (terminal === undefined) return;
  const isOpen = terminal.opened_s <= now_s && (terminal.closed_s === null || terminal.closed_s > now_s);
  const text = terminal.output.filter(([at_s]) => at_s <= now_s).map(([, part]) => part);
  screen.textContent = isOpen ? screenOf(text.join("")) : "Not open at this instant.";
  screen.scrollTop = screen.scrollHeight;
}

// -- time -------------------------------------------------------------------------------------------

const clock = document.getElementById("clock");
const last = document.getElementById("last");
slider.max = run.end_s;
slider.step = "any";
for (const { at_s, until_s, kind, text } of run.events) {
  const mark = document.createElement("span");
  mark.className = `event ${kind}`;
  mark.title = `${at_s.toFixed(3)} s  ${text}`;
  mark.style.left = `${(at_s / Math.max(run.end_s, 1e-9)) * 100}%`;
  mark.style.width = `${((until_s - at_s) / Math.max(run.end_s, 1e-9)) * 100}%`;
  document.getElementById("events").append(mark);
}

function show(at_s) {
  now_s = Math.min(Math.max(at_s, 0), run.end_s);
  slider.value = now_s;
  clock.textContent = `${now_s.toFixed(3)} s`;
  last.textContent = run.events.filter((event) => event.at_s <= now_s).at(-1)?.text ?? "";
  drawLinks();
  charts.forEach((draw) => draw());
  drawTerminal();
}

slider.addEventListener("input", () => show(Number(slider.value)));
const play = document.getElementById("play");
let playedAt_ms = null;
function step(real_ms) {
  if (playedAt_ms === null) return;
  show(now_s + (real_ms - playedAt_ms) / 1000);
  playedAt_ms = now_s >= run.end_s ? null : real_ms;
  play.textContent = playedAt_ms === null ? "Play" : "Pause";
  requestAnimationFrame(step);
}
play.addEventListener("click", () => {
  if (playedAt_ms !== null) playedAt_ms = null;
  else {
    if (now_s >= run.end_s) show(0);
    playedAt_ms = performance.now();
    requestAnimationFrame(step);
  }
  play.textContent = playedAt_ms === null ? "Play" : "Pause";
});
show(run.end_s);
