import { useEffect, useRef } from "react";
import type { WatchedSeries, SeriesKind } from "../protocol";
import { onSamples, tables, type Curve } from "../stores/samples";
import { isDark, useView } from "../stores/view";
import { PanelFrame } from "./PanelFrame";
import { look, Plot, type CurveLook } from "./Plot";
import { TITLES, UNITS, useCharts } from "./state";
import { csv, lately, type Data } from "./window";

const DRAW_MS = 100;

interface Props {
  kind: SeriesKind;
  series: readonly WatchedSeries[];
}

/** One quantity: a curve for each port or flow, drawn as samples come. */
export function LivePanel({ kind, series }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);

  useEffect(() => {
    if (place.current === null) return;
    const made = new Plot(place.current, TITLES[kind], UNITS[kind], (isZoomed) => useCharts.setState({ isZoomed }));
    plot.current = made;
    let drawnAt = 0;
    let asked = 0;
    const draw = (now: number) => {
      asked = 0;
      if (now - drawnAt < DRAW_MS) ask();
      else {
        drawnAt = now;
        const { seconds, isZoomed } = useCharts.getState();
        const curves = wanted(kind, series);
        const data = dataOf(kind, curves, isZoomed ? null : seconds);
        made.show(looksOf(curves), curves[0]?.unit ?? UNITS[kind], data, isZoomed ? null : spanOf(seconds));
      }
    };
    const ask = () => {
      // Behind another tab nothing is drawn; what came meanwhile is drawn when it is seen again.
      if (asked === 0 && place.current?.offsetParent) asked = requestAnimationFrame(draw);
    };
    const endings = [
      onSamples(() => !useCharts.getState().isPaused && ask()),
      useCharts.subscribe(ask),
      useView.subscribe((now, before) => {
        if (now.theme !== before.theme) made.repaint(looksOf(wanted(kind, series)));
        ask();
      }),
    ];
    ask();
    return () => {
      cancelAnimationFrame(asked);
      for (const end of endings) end();
      made.destroy();
    };
  }, [kind, series]);

  const all = () => {
    const curves = wanted(kind, series);
    return csv(curves.map((curve) => `${curve.key} [${curve.unit}]`), dataOf(kind, curves, null, true));
  };
  return (
    <PanelFrame title={TITLES[kind]} name={kind} csv={all} png={() => plot.current?.picturePng() ?? Promise.resolve(null)}>
      <div className="plot" ref={place} role="img" aria-label={`Chart: ${TITLES[kind]}`} />
    </PanelFrame>
  );
}

/** Curves of the series that are wanted now; a table also has those that were wanted before. */
function wanted(kind: SeriesKind, series: readonly WatchedSeries[]): Curve[] {
  const own = series.filter((one) => one.kind === kind);
  const ports = new Set(own.map((one) => one.port));
  const curves = [...tables[kind].columns.values()].filter((curve) => ports.has("") || ports.has(curve.port));
  return curves.sort((a, b) => a.key.localeCompare(b.key, "en", { numeric: true }));
}

function dataOf(kind: SeriesKind, curves: readonly Curve[], seconds: number | null, isWhole = false): Data {
  const { times_s } = tables[kind];
  const columns = curves.map((curve) => curve.values);
  return isWhole ? [times_s, ...columns] : lately(times_s, columns, seconds);
}

/** The same for all panels, so that what stands below one another happened at one time. */
function spanOf(seconds: number | null): [number, number] {
  const all = Object.values(tables).map((table) => table.times_s);
  const last = Math.max(...all.map((times_s) => times_s.at(-1) ?? 0), 0);
  const first = Math.min(...all.map((times_s) => times_s[0] ?? Infinity), last);
  const from = seconds === null ? first : Math.max(first, last - seconds);
  return [from, last > from ? last : from + 1];
}

function looksOf(curves: readonly Curve[]): CurveLook[] {
  const dark = isDark(useView.getState().theme);
  return curves.map((curve, index) => ({ key: curve.key, title: curve.flow || curve.port, ...look(index, dark) }));
}
