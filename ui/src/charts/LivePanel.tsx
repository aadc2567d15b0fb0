import { useEffect, useRef } from "react";
import type { WatchedSeries, SeriesKind } from "../protocol";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { branchInView, showInstant, useBranches } from "../stores/branches";
import { onSamples, type Curve, type Tables } from "../stores/samples";
import { isDark, useView } from "../stores/view";
import { isOfFlows } from "./chosen";
import { PanelFrame } from "./PanelFrame";
import { endsOf, flowTitles, passes } from "./paths";
import { look, Plot, type CurveLook } from "./Plot";
import { TITLES, UNITS, useCharts } from "./state";
import { flowEntries } from "./flowEntries";
import { chartView, type ChartView } from "./view";
import { csv, rowsBetween, sideBySide, spanOf, type Data } from "./window";

const DRAW_MS = 100;
/** What a chart without curves says. */
const NOTHING: Partial<Record<SeriesKind, string>> = {
  cwnd: "No TCP flow passes here.",
  rtt: "No TCP flow passes here.",
  load: "No node here has a processor: see its properties.",
};
/** How many of the last samples decide which window is the largest. */
const WINDOW_ROWS = 100;

interface Props {
  kind: SeriesKind;
  series: readonly WatchedSeries[];
  /** The elements whose flows are drawn; null for all. */
  ids: ReadonlySet<string> | null;
  /** The flows that are drawn; null for all that pass the elements. */
  flows: readonly string[] | null;
  /** Open this chart in a pane beside the terminals. */
  onPane?: () => void;
}

interface Drawn {
  looks: (CurveLook & { name: string })[];
  unit: string;
  data: Data;
}

/** The live chart of one quantity: a curve for each port or flow. */
export function LivePanel({ kind, series, ids, flows, onPane }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);

  useEffect(() => {
    if (container.current === null) return;
    const chart = new Plot(
      container.current,
      TITLES[kind],
      UNITS[kind],
      (isZoomed) => useCharts.setState({ isZoomed }),
      NOTHING[kind] ?? "No samples yet.",
      (at_s) => {
        const branch = branchInView(useBranches.getState());
        if (branch !== null) showInstant(branch, at_s * 1e9);
      },
    );
    plot.current = chart;
    let drawnAt = 0;
    let frame = 0;
    const draw = (now: number) => {
      frame = 0;
      if (now - drawnAt < DRAW_MS) requestDraw();
      else {
        drawnAt = now;
        const { seconds, isZoomed } = useCharts.getState();
        const view = chartView();
        const span = spanOf(
          timesOf(view.tables),
          timesOf(view.compared?.tables),
          view.until_s,
          isZoomed ? null : seconds,
        );
        const { looks, unit, data } = drawn(kind, series, ids, flows, view, span);
        chart.show(looks, unit, data, isZoomed ? null : span);
      }
    };
    const requestDraw = () => {
      // A hidden chart is not drawn; it catches up when it is visible again.
      if (frame === 0 && container.current?.offsetParent) frame = requestAnimationFrame(draw);
    };
    const endings = [
      onSamples(() => !useCharts.getState().isPaused && requestDraw()),
      useCharts.subscribe(requestDraw),
      useBranches.subscribe(requestDraw),
      useView.subscribe((now, before) => {
        if (isDark(now) !== isDark(before)) chart.repaint(drawn(kind, series, ids, flows, chartView(), ALL).looks);
        requestDraw();
      }),
    ];
    requestDraw();
    return () => {
      cancelAnimationFrame(frame);
      for (const end of endings) end();
      chart.destroy();
    };
  }, [kind, series, ids, flows]);

  const all = () => {
    const { looks, unit, data } = drawn(kind, series, ids, flows, chartView(), ALL);
    return csv(
      looks.map(({ name }) => `${name} [${unit}]`),
      data,
    );
  };
  return (
    <PanelFrame
      title={TITLES[kind]}
      name={kind}
      {...(onPane ? { onPane } : {})}
      {...(isOfFlows(kind) ? { more: () => flowEntries(flowsNow(kind, series, ids, flows)) } : {})}
      csv={all}
      figure={() => plot.current?.figure() ?? null}
    >
      <div className="plot" ref={container} role="group" aria-label={`Chart: ${TITLES[kind]}`} />
    </PanelFrame>
  );
}

/** The flows that are drawn, with their titles. */
function flowsNow(
  kind: SeriesKind,
  series: readonly WatchedSeries[],
  ids: ReadonlySet<string> | null,
  flows: readonly string[] | null,
): readonly { flow: string; title: string }[] {
  const curves = curvesOf(kind, chartView().tables, series, ids, flows);
  return looksOf(curves).map(({ title }, index) => ({ title, flow: curves[index]!.flow }));
}

const ALL: [number, number] = [0, Infinity];
const DASH = [5, 4];

/** The curves between two times, and those of the compared branch, dashed in the same colours. */
function drawn(
  kind: SeriesKind,
  series: readonly WatchedSeries[],
  ids: ReadonlySet<string> | null,
  flows: readonly string[] | null,
  { tables, until_s, compared }: ChartView,
  [from_s, to_s]: [number, number],
): Drawn {
  const end_s = Math.min(to_s, until_s);
  const curves = curvesOf(kind, tables, series, ids, flows);
  const looks = looksOf(curves);
  const rows = rowsBetween(
    tables[kind].times_s,
    curves.map(({ values }) => values),
    from_s,
    end_s,
  );
  const unit = curves[0]?.unit ?? UNITS[kind];
  if (compared === null) return { looks, unit, data: rows };
  const others = curvesOf(kind, compared.tables, series, ids, flows);
  const otherLooks = looksOf(others).map((one, index) => ({
    ...(looks.find(({ key }) => key === one.key) ?? looks[index] ?? one),
    key: `${compared.name} ${one.key}`,
    title: `${one.title} · ${compared.name}`,
    name: `${compared.name}: ${one.name}`,
    dash: DASH,
  }));
  const otherRows = rowsBetween(
    compared.tables[kind].times_s,
    others.map(({ values }) => values),
    from_s,
    end_s,
  );
  return {
    looks: [...looks, ...otherLooks],
    unit: curves.length > 0 ? unit : (others[0]?.unit ?? unit),
    data: sideBySide(rows, otherRows),
  };
}

/** The curves of the watched series; the table also has series that were watched earlier. */
function curvesOf(
  kind: SeriesKind,
  tables: Tables,
  series: readonly WatchedSeries[],
  ids: ReadonlySet<string> | null,
  flows: readonly string[] | null,
): Curve[] {
  if (isOfFlows(kind)) {
    return flowsThrough(kind, tables, flows === null ? ids : null).filter(({ flow }) => flows?.includes(flow) ?? true);
  }
  const ofKind = series.filter((one) => one.kind === kind);
  const ports = new Set(ofKind.map((one) => one.port));
  const curves = [...tables[kind].columns.values()].filter((curve) => ports.has("") || ports.has(curve.port));
  return curves.sort((a, b) => a.key.localeCompare(b.key, "en", { numeric: true }));
}

/** The flows that pass the elements, the one with the largest window first: that of the sender. */
function flowsThrough(kind: SeriesKind, tables: Tables, ids: ReadonlySet<string> | null): Curve[] {
  const { ports } = useRunning.getState().run;
  const curves = [...tables[kind].columns.values()].filter((curve) => {
    if (ids === null) return true;
    const ends = endsOf(curve.flow, ports);
    return ends !== null && passes(ends, ids, ports);
  });
  const largest = (curve: Curve) =>
    Math.max(0, ...(tables.cwnd.columns.get(curve.key)?.values.slice(-WINDOW_ROWS) ?? []).map(Number));
  const sizes = new Map(curves.map((curve) => [curve, largest(curve)]));
  return curves.sort((a, b) => sizes.get(b)! - sizes.get(a)! || a.key.localeCompare(b.key, "en", { numeric: true }));
}

function timesOf(tables: Tables | undefined): (readonly number[])[] {
  return tables === undefined ? [] : Object.values(tables).map((table) => table.times_s);
}

function looksOf(curves: readonly Curve[]): (CurveLook & { name: string })[] {
  const dark = isDark();
  const { ports } = useRunning.getState().run;
  const { nodes } = useDocument.getState();
  const flows = flowTitles(
    curves.map(({ flow }) => flow),
    ports,
    (node) => nodes[node]?.name ?? node,
  );
  return curves.map(({ key, port, flow }, index) => ({
    key,
    name: key,
    title: flow ? flows[index]! : port,
    ...look(index, dark),
  }));
}
