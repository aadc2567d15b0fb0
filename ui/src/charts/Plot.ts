/** A chart: uPlot, its legend and its mouse actions. It is not a React component, because it draws ten
 *  times a second and must not delay the rest of the page. */

import uPlot from "uplot";
import { ticks, valueText } from "./units";
import type { Data } from "./window";

export interface CurveLook {
  key: string;
  title: string;
  colour: string;
  dash?: number[];
}

const [MIN_LEGEND_WIDTH, MAX_LEGEND_WIDTH] = [150, 260];
const LEGEND_SHARE = 0.3;
const MIN_WIDTH_WITH_LEGEND = 340;
/** Wide enough for "0.25 Gbit/s"; the same in all charts, so that their time axes line up. */
const VALUES_WIDTH = 82;
/** All charts share their cursor and zoom. */
const SYNC = "wanlab";

export class Plot {
  private plot: uPlot | null = null;
  private data: Data = [[]];
  private looks: readonly CurveLook[] = [];
  private readonly legend = document.createElement("div");
  private readonly picture = document.createElement("div");
  private readonly hidden = new Set<string>();
  private readonly watcher = new ResizeObserver(() => this.resize());
  private rows: HTMLElement[] = [];

  constructor(
    private readonly place: HTMLElement,
    readonly title: string,
    private unit: string,
    /** Called when the user zooms in or out: while zoomed, new samples do not move the chart. */
    private readonly onZoom: (isZoomed: boolean) => void,
  ) {
    this.legend.className = "plot-legend";
    this.picture.className = "plot-picture";
    place.append(this.picture, this.legend);
    this.watcher.observe(place);
  }

  /** Draw. `span`: the first and last time to show, or null to keep the zoom. */
  show(looks: readonly CurveLook[], unit: string, data: Data, span: [number, number] | null): void {
    const isSame = looks.length === this.looks.length && looks.every((look, index) => look.key === this.looks[index]!.key);
    this.data = data;
    if (!isSame || unit !== this.unit || !this.plot) {
      this.looks = looks;
      this.unit = unit;
      this.build();
    } else {
      this.plot.setData(data as uPlot.AlignedData, false);
    }
    if (span !== null) this.plot?.setScale("x", { min: span[0], max: span[1] });
    else this.plot?.redraw();
    this.showValues();
  }

  /** Draw again after the theme has changed. */
  repaint(looks: readonly CurveLook[]): void {
    this.looks = looks;
    this.build();
  }

  destroy(): void {
    this.watcher.disconnect();
    this.plot?.destroy();
    this.picture.remove();
    this.legend.remove();
  }

  /** The chart with title and legend as a PNG. */
  picturePng(): Promise<Blob | null> {
    const from = this.plot?.ctx.canvas;
    if (!from) return Promise.resolve(null);
    const ratio = devicePixelRatio || 1;
    const shown = this.looks.filter((look) => !this.hidden.has(look.key)).slice(0, 24);
    const [top, line] = [26 * ratio, 18 * ratio];
    const canvas = document.createElement("canvas");
    canvas.width = from.width;
    canvas.height = from.height + top + line * Math.ceil(shown.length / 2) + 6 * ratio;
    const pen = canvas.getContext("2d");
    if (!pen) return Promise.resolve(null);
    pen.fillStyle = colour("--panel");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = colour("--text");
    pen.font = `600 ${14 * ratio}px system-ui, sans-serif`;
    pen.fillText(this.title, 8 * ratio, 18 * ratio);
    pen.drawImage(from, 0, top);
    pen.font = `${12 * ratio}px system-ui, sans-serif`;
    shown.forEach((look, index) => {
      const x = 10 * ratio + (index % 2) * (canvas.width / 2);
      const y = from.height + top + line * (Math.floor(index / 2) + 0.7);
      pen.fillStyle = look.colour;
      pen.fillRect(x, y - 5 * ratio, 16 * ratio, 3 * ratio);
      pen.fillStyle = colour("--text");
      pen.fillText(look.title, x + 22 * ratio, y);
    });
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  private build(): void {
    this.plot?.destroy();
    this.plot = new uPlot(this.options(), this.data as uPlot.AlignedData, this.picture);
    this.legend.replaceChildren(...this.looks.map((look, index) => this.row(look, index)));
    this.rows = [...this.legend.querySelectorAll<HTMLElement>(".plot-value")];
    this.showValues();
  }

  private options(): uPlot.Options {
    const axis = {
      stroke: colour("--text-soft"),
      font: "11px system-ui, sans-serif",
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
    };
    return {
      ...this.size(),
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: SYNC, scales: ["x", null] },
        drag: { x: true, y: false, setScale: true },
        points: { size: 6 },
      },
      scales: {
        x: { time: false },
        y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.06 : 1] },
      },
      axes: [
        { ...axis, size: 26, values: (_plot, values) => values.map((value) => `${+value.toFixed(6)} s`) },
        { ...axis, size: VALUES_WIDTH, values: (_plot, values) => ticks(values, this.unit) },
      ],
      series: [
        {},
        ...this.looks.map((look) => ({
          label: look.title,
          stroke: look.colour,
          width: 1.5,
          show: !this.hidden.has(look.key),
          points: { show: false },
          ...(look.dash ? { dash: look.dash } : {}),
        })),
      ],
      hooks: {
        setCursor: [() => this.showValues()],
        setSelect: [(plot) => plot.select.width > 0 && this.onZoom(true)],
        ready: [
          (plot) => plot.over.addEventListener("dblclick", () => this.onZoom(false)),
        ],
      },
    };
  }

  private row(look: CurveLook, index: number): HTMLElement {
    const row = document.createElement("button");
    row.type = "button";
    row.className = "plot-row";
    row.title = `${look.title}: show or hide`;
    const mark = document.createElement("span");
    mark.className = "plot-mark";
    mark.style.background = look.dash ? `repeating-linear-gradient(90deg, ${look.colour} 0 4px, transparent 4px 6px)` : look.colour;
    const name = document.createElement("span");
    name.className = "plot-name";
    name.textContent = look.title;
    const value = document.createElement("span");
    value.className = "plot-value";
    row.append(mark, name, value);
    const paint = () => row.setAttribute("aria-pressed", String(!this.hidden.has(look.key)));
    row.addEventListener("click", () => {
      if (!this.hidden.delete(look.key)) this.hidden.add(look.key);
      this.plot?.setSeries(index + 1, { show: !this.hidden.has(look.key) });
      paint();
    });
    row.addEventListener("pointerenter", () => this.plot?.setSeries(index + 1, { focus: true }));
    row.addEventListener("pointerleave", () => this.plot?.setSeries(null as unknown as number, { focus: false }));
    paint();
    return row;
  }

  /** Show the values at the cursor, or the last ones. */
  private showValues(): void {
    const at = this.plot?.cursor.idx ?? null;
    this.rows.forEach((row, index) => {
      const values = this.data[index + 1] ?? [];
      row.textContent = valueText(at === null ? lastOf(values) : values[at], this.unit);
    });
  }

  private size(): { width: number; height: number } {
    const { clientWidth, clientHeight } = this.place;
    const hasRoom = clientWidth > MIN_WIDTH_WITH_LEGEND;
    this.place.classList.toggle("plot-narrow", !hasRoom);
    const legend = Math.min(Math.max(LEGEND_SHARE * clientWidth, MIN_LEGEND_WIDTH), MAX_LEGEND_WIDTH);
    const width = hasRoom ? clientWidth - legend : clientWidth;
    return { width: Math.max(width, 120), height: Math.max(hasRoom ? clientHeight : clientHeight - 60, 90) };
  }

  private resize(): void {
    if (this.place.clientWidth > 0) this.plot?.setSize(this.size());
  }
}

function lastOf(values: readonly (number | null)[]): number | null {
  for (let row = values.length - 1; row >= 0; row -= 1) {
    const value = values[row];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
}

const HUES = [215, 28, 145, 350, 275, 190, 55, 320, 95, 240];

/** Colour and dash of the n-th curve: ten colours, then the same colours dashed. */
export function look(number: number, isDark: boolean): { colour: string; dash?: number[] } {
  const hue = HUES[number % HUES.length]!;
  const round = Math.floor(number / HUES.length);
  const [saturation, light] = isDark ? [72, 66] : [70, hue > 40 && hue < 110 ? 34 : 42];
  const dashes = [undefined, [6, 3], [2, 3], [10, 4], [8, 3, 2, 3]];
  const dash = dashes[round % dashes.length];
  return { colour: `hsl(${hue} ${saturation}% ${light}%)`, ...(dash ? { dash } : {}) };
}
