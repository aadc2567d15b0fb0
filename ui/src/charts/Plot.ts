/** A chart: uPlot, its legend and its mouse actions. It is not a React component, because it draws ten
 *  times a second and must not delay the rest of the page. */

import uPlot from "uplot";
import { tickText } from "../clock/time";
import type { Figure } from "./figure";
import { ticks, valueText } from "./units";
import { endHover, hoverAt, useHover } from "../stores/hover";
import type { Data } from "./window";

export interface CurveLook {
  key: string;
  title: string;
  colour: string;
  dash?: number[];
}

const MAX_FIGURE_CURVES = 40;
const [CLICK_PX, DOUBLE_CLICK_MS] = [3, 250];
/** Wide enough for "0.25 Gbit/s"; the same in all charts, so that their time axes line up. */
const VALUES_WIDTH = 74;
const [MIN_WIDTH, MIN_HEIGHT] = [120, 70];
/** All charts share their cursor and zoom. */
const SYNC = "wanlab";

export class Plot {
  private plot: uPlot | null = null;
  private data: Data = [[]];
  private looks: readonly CurveLook[] = [];
  private readonly legend = document.createElement("div");
  private readonly picture = document.createElement("div");
  private readonly nothing = document.createElement("p");
  private readonly hidden = new Set<string>();
  private readonly watcher = new ResizeObserver(() => this.resize());
  private rows: HTMLElement[] = [];
  private readonly endHovering: () => void;
  private clicking = 0;

  constructor(
    private readonly place: HTMLElement,
    readonly title: string,
    private unit: string,
    /** Called when the user zooms in or out: while zoomed, new samples do not move the chart. */
    private readonly onZoom: (isZoomed: boolean) => void,
    /** Shown while there is no curve. */
    whenEmpty = "",
    /** Called with the time that was clicked. */
    private readonly onPick: (at_s: number) => void = () => undefined,
  ) {
    this.legend.className = "plot-legend";
    this.picture.className = "plot-picture";
    this.nothing.className = "plot-empty";
    this.nothing.textContent = whenEmpty;
    place.append(this.legend, this.picture, this.nothing);
    this.watcher.observe(this.picture);
    this.endHovering = useHover.subscribe(({ at_s, from }) => from !== "chart" && this.markTime(at_s));
  }

  /** Draw. `span`: the first and last time to show, or null to keep the zoom. */
  show(looks: readonly CurveLook[], unit: string, data: Data, span: [number, number] | null): void {
    const isSame =
      looks.length === this.looks.length && looks.every((look, index) => look.key === this.looks[index]!.key);
    this.data = data;
    this.place.classList.toggle("plot-without-curves", looks.length === 0);
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
    // Curves that are not always 0 come first in a legend that has space for a few.
    this.rows.forEach((row, index) => {
      const isFlat = !data[index + 1]?.some((value) => value);
      row.parentElement!.style.order = isFlat ? "1" : "0";
    });
  }

  /** Draw again after the theme has changed. */
  repaint(looks: readonly CurveLook[]): void {
    this.looks = looks;
    this.build();
  }

  destroy(): void {
    this.watcher.disconnect();
    this.endHovering();
    window.clearTimeout(this.clicking);
    this.plot?.destroy();
    this.picture.remove();
    this.nothing.remove();
    this.legend.remove();
  }

  /** What is drawn, as a figure; null if there is nothing. */
  figure(): Figure | null {
    const { min, max } = this.plot?.scales["x"] ?? {};
    const isShown = this.looks.map((look) => !this.hidden.has(look.key));
    const curves = this.looks
      .filter((_, index) => isShown[index])
      .slice(0, MAX_FIGURE_CURVES)
      .map((look) => ({ ...look, colour: onPaper(look.colour) }));
    if (min == null || max == null || curves.length === 0) return null;
    const values = this.data.slice(1).filter((_, index) => isShown[index]);
    return { title: this.title, unit: this.unit, curves, data: [this.data[0], ...values] as Data, span_s: [min, max] };
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
      font: `11px ${colour("--font")}`,
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
        {
          ...axis,
          size: 26,
          values: (_plot, values) =>
            values.map((value) => tickText(value, values.length > 1 ? values[1]! - values[0]! : 1)),
        },
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
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  /** Put the cursor at a time under the pointer elsewhere; null takes it away. */
  private markTime(at_s: number | null): void {
    const left = at_s === null ? -10 : (this.plot?.valToPos(at_s, "x") ?? -10);
    // Not passed on: all charts do this.
    this.plot?.setCursor({ left, top: -10 }, false);
    this.showValues();
  }

  private listen(plot: uPlot): void {
    const timeAt = (event: PointerEvent | MouseEvent) => plot.posToVal(event.offsetX, "x");
    let pressed: number | null = null;
    plot.over.addEventListener("pointermove", (event) => hoverAt(timeAt(event), "chart"));
    plot.over.addEventListener("pointerleave", () => endHover("chart"));
    plot.over.addEventListener("pointerdown", (event) => (pressed = event.offsetX));
    plot.over.addEventListener("click", (event) => {
      const isDrag = pressed === null || Math.abs(event.offsetX - pressed) > CLICK_PX;
      if (isDrag || event.detail > 1) return;
      const at_s = timeAt(event);
      this.clicking = window.setTimeout(() => this.onPick(at_s), DOUBLE_CLICK_MS);
    });
    plot.over.addEventListener("dblclick", () => {
      window.clearTimeout(this.clicking);
      this.onZoom(false);
    });
  }

  private row(look: CurveLook, index: number): HTMLElement {
    const row = document.createElement("button");
    row.type = "button";
    row.className = "plot-row";
    row.title = `${look.title}: show or hide`;
    const mark = document.createElement("span");
    mark.className = "plot-mark";
    mark.style.background = look.dash
      ? `repeating-linear-gradient(90deg, ${look.colour} 0 4px, transparent 4px 6px)`
      : look.colour;
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
    const { clientWidth, clientHeight } = this.picture;
    return { width: Math.max(clientWidth, MIN_WIDTH), height: Math.max(clientHeight, MIN_HEIGHT) };
  }

  private resize(): void {
    if (this.picture.clientWidth > 0) this.plot?.setSize(this.size());
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

/** The colour for a white background, which figures have in the dark theme, too. */
export function onPaper(hsl: string): string {
  return hsl.replace(/^hsl\((\d+) .*/, (_, hue: string) => `hsl(${hue} ${lightTheme(Number(hue))})`);
}

function lightTheme(hue: number): string {
  return `70% ${hue > 40 && hue < 110 ? 34 : 42}%`;
}

const HUES = [215, 28, 145, 350, 275, 190, 55, 320, 95, 240];

/** Colour and dash of the n-th curve: ten colours, then the same colours dashed. */
export function look(number: number, isDark: boolean): { colour: string; dash?: number[] } {
  const hue = HUES[number % HUES.length]!;
  const round = Math.floor(number / HUES.length);
  const dashes = [undefined, [6, 3], [2, 3], [10, 4], [8, 3, 2, 3]];
  const dash = dashes[round % dashes.length];
  return { colour: `hsl(${hue} ${isDark ? "72% 66%" : lightTheme(hue)})`, ...(dash ? { dash } : {}) };
}
