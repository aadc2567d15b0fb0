import "uplot/dist/uPlot.min.css";
import "./charts.css";
import { useEffect, useMemo } from "react";
import { useShallow } from "zustand/react/shallow";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { branchInView, useBranches } from "../stores/branches";
import { fetchHistory, fetchRecorded, KINDS, watch } from "../stores/samples";
import { useSelection } from "../stores/selection";
import { useView } from "../stores/view";
import type { LivePort, SeriesKind } from "../protocol";
import { CaptureTool } from "./CaptureTool";
import { ComparedNumbers } from "./ComparedNumbers";
import { CompareChoice } from "./CompareChoice";
import { branchesDrawn } from "./view";
import { namesOf, portsOf, seriesOf } from "./chosen";
import { LivePanel } from "./LivePanel";
import { Records } from "./Records";
import { RecordTool } from "./RecordTool";
import { TITLES, useCharts } from "./state";
import { openChart } from "./tabs";

const WINDOWS: readonly [string, number | null][] = [
  ["last 10 s", 10],
  ["last 30 s", 30],
  ["last minute", 60],
  ["last 5 minutes", 300],
  ["all", null],
];

/** Live charts of the selection, or saved records. */
export function Charts() {
  useEffect(makeRoom, []);
  const showsRecords = useCharts((state) => state.showsRecords);
  return (
    <div className="charts">
      <ChartTools />
      {showsRecords ? <Records /> : <Live />}
    </div>
  );
}

const READABLE_HEIGHT = 300;

/** A chart needs more space than a terminal. */
function makeRoom(): void {
  if (useView.getState().dockHeight < READABLE_HEIGHT) useView.setState({ dockHeight: READABLE_HEIGHT });
}

function ChartTools() {
  const { kinds, fixed, isPaused, showsRecords } = useCharts();
  const names = useChosenNames();
  const ports = usePortsOf(fixed);
  return (
    <div className="chart-tools" role="toolbar" aria-label="Charts">
      <Quantities
        kinds={showsRecords ? [] : kinds}
        isDisabled={showsRecords}
        onChange={(chosen) => useCharts.setState({ kinds: chosen })}
      />
      {!showsRecords && (
        <>
          <button
            type="button"
            className="icon-button"
            aria-pressed={fixed !== null}
            title={
              fixed === null
                ? `The charts follow the selection (now ${names}). Click to keep these ports`
                : "The charts keep these ports. Click to follow the selection on the canvas"
            }
            onClick={() => useCharts.setState({ fixed: fixed === null ? ports.map((port) => port.name) : null })}
          >
            {fixed === null ? names : `${fixed.length} fixed ${fixed.length === 1 ? "port" : "ports"}`}
          </button>
          <TimeRange />
          <button
            type="button"
            className="icon-button"
            aria-pressed={isPaused}
            title={
              isPaused ? "Draw new samples again" : "Stop drawing new samples; the network and the sampling continue"
            }
            onClick={() => useCharts.setState({ isPaused: !isPaused })}
          >
            {isPaused ? "Unfreeze" : "Freeze"}
          </button>
        </>
      )}
      <RecordTool />
      <CaptureTool />
      <button
        type="button"
        className="icon-button bar-end"
        aria-pressed={showsRecords}
        onClick={() => useCharts.setState({ showsRecords: !showsRecords })}
      >
        {showsRecords ? "Live charts" : "Records"}
      </button>
    </div>
  );
}

/** The quantities of a chart, as buttons. */
export function Quantities({ kinds, isDisabled = false, onChange }: QuantitiesProps) {
  const toggle = (kind: SeriesKind) =>
    onChange(KINDS.filter((one) => (one === kind ? !kinds.includes(kind) : kinds.includes(one))));
  return (
    <div className="choice-row" role="group" aria-label="Quantities">
      {KINDS.map((kind) => (
        <button
          key={kind}
          type="button"
          aria-pressed={kinds.includes(kind)}
          disabled={isDisabled}
          onClick={() => toggle(kind)}
        >
          {TITLES[kind]}
        </button>
      ))}
    </div>
  );
}

interface QuantitiesProps {
  kinds: readonly SeriesKind[];
  isDisabled?: boolean;
  onChange: (kinds: readonly SeriesKind[]) => void;
}

/** The time range of all charts, and the choice of a branch to compare with. */
export function TimeRange() {
  const seconds = useCharts((state) => state.seconds);
  return (
    <>
      <label className="clock-choice">
        <select
          aria-label="Time range"
          title="Time range"
          value={seconds ?? "all"}
          onChange={(event) => {
            const value = event.target.value;
            useCharts.setState({ seconds: value === "all" ? null : Number(value), isZoomed: false });
          }}
        >
          {WINDOWS.map(([title, value]) => (
            <option key={title} value={value ?? "all"}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <CompareChoice />
    </>
  );
}

/** The ports with these names; null for those of the selection. */
export function usePortsOf(fixed: readonly string[] | null): readonly LivePort[] {
  const selected = useSelection((state) => state.ids);
  const ports = useRunning((state) => state.run.ports);
  return useMemo(() => {
    if (fixed !== null) return ports.filter((port) => fixed.includes(port.name));
    return portsOf(selected, ports);
  }, [selected, ports, fixed]);
}

/** The elements whose flows are drawn; null for all flows. */
export function useFlowFilter(fixed: readonly string[] | null): ReadonlySet<string> | null {
  const selected = useSelection((state) => state.ids);
  const ports = useRunning((state) => state.run.ports);
  return useMemo(() => {
    if (fixed !== null) return new Set(ports.filter((port) => fixed.includes(port.name)).map((port) => port.link));
    const known = [...selected].filter((id) => ports.some((port) => port.link === id || port.node === id));
    return known.length ? new Set(known) : null;
  }, [selected, ports, fixed]);
}

function useChosenNames(): string {
  const selected = useSelection((state) => state.ids);
  const { nodes, links } = useDocument(useShallow(({ nodes, links }) => ({ nodes, links })));
  return namesOf(selected, nodes, links);
}

function Live() {
  const kinds = useCharts((state) => state.kinds);
  const fixed = useCharts((state) => state.fixed);
  const ports = usePortsOf(fixed);
  const ids = useFlowFilter(fixed);
  return <Panels owner="charts" kinds={kinds} ports={ports} ids={ids} flows={null} />;
}

interface PanelsProps {
  /** The name under which this view subscribes to samples. */
  owner: string;
  kinds: readonly SeriesKind[];
  ports: readonly LivePort[];
  ids: ReadonlySet<string> | null;
  flows: readonly string[] | null;
  /** Whether all panels are stacked in one column. */
  isStacked?: boolean;
}

/** A panel for each quantity. */
export function Panels({ owner, kinds, ports, ids, flows, isStacked = false }: PanelsProps) {
  const phase = useRunning((state) => state.run.phase);
  const nodes = useDocument(useShallow((state) => ports.flatMap(({ node }) => state.nodes[node]?.name ?? [])));
  const series = useMemo(() => seriesOf(kinds, ports, nodes), [kinds, ports, nodes]);
  useEffect(() => {
    watch(owner, phase === "running" ? series : []);
    if (phase === "running") void fetchHistory(series);
    return () => watch(owner, []);
  }, [owner, series, phase]);
  const drawn = useBranches((state) => `${branchInView(state)} ${state.compared} ${state.live}`);
  useEffect(() => {
    for (const branch of branchesDrawn()) void fetchRecorded(branch, series);
  }, [series, drawn]);

  const isCompared = useBranches(({ compared }) => compared !== null) && !isStacked;
  const toPane = (kind: SeriesKind) => openChart({ kinds: [kind], ports: ports.map(({ name }) => name), flows: null });
  if (!kinds.length) return <p className="empty">Choose at least one quantity.</p>;
  return (
    <div className="chart-panels" data-count={isStacked ? 1 : kinds.length + (isCompared ? 1 : 0)}>
      {kinds.map((kind) => (
        <LivePanel
          key={kind}
          kind={kind}
          series={series}
          ids={ids}
          flows={flows}
          {...(isStacked ? {} : { onPane: () => toPane(kind) })}
        />
      ))}
      {isCompared && <ComparedNumbers />}
    </div>
  );
}
