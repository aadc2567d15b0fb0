/** The content of charts in tabs beside terminals. It survives a reload, as the tabs do. */
import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import { onPush } from "../connection";
import type { SeriesKind } from "../protocol";
import { chartTab, paneOf, showBeside } from "../terminals/panes";
import { rearrange, showTab, useTabs } from "../terminals/tabs";
import { TITLES } from "./state";

export interface ChartChoice {
  kinds: readonly SeriesKind[];
  /** Names of ports; null to follow the selection. */
  ports: readonly string[] | null;
  /** Flows, as in "10.0.0.1:37236 > 10.0.0.3:5201"; null for all that pass the ports. */
  flows: readonly string[] | null;
}

interface ChartTabs {
  charts: Readonly<Record<string, ChartChoice>>;
  lastId: number;
}

export const useChartTabs = create<ChartTabs>()(
  persist((): ChartTabs => ({ charts: {}, lastId: 0 }), {
    name: "wanlab.chartTabs",
    storage: createJSONStorage(() => sessionStorage),
  }),
);

/** Open a chart in a new tab. */
export function openChart(choice: ChartChoice): void {
  showTab(chartTab(added(choice)));
}

function added(choice: ChartChoice): string {
  const id = String(useChartTabs.getState().lastId + 1);
  useChartTabs.setState(({ charts, lastId }) => ({ charts: { ...charts, [id]: choice }, lastId: lastId + 1 }));
  return id;
}

/** Show the chart of a port's queue beside the terminals, where the focus stays. */
function showQueue(port: string): void {
  const isIt = ({ kinds, ports }: ChartChoice) => kinds.join() === "queue" && ports?.join() === port;
  const known = Object.entries(useChartTabs.getState().charts).find(([, choice]) => isIt(choice));
  const id = known?.[0] ?? added({ kinds: ["queue"], ports: [port], flows: null });
  rearrange((panes) => showBeside(panes, chartTab(id)));
}

// `plot_q.sh PORT` in a terminal.
onPush("queue_chart", ({ port }) => showQueue(port));

export function changeChart(id: string, change: Partial<ChartChoice>): void {
  useChartTabs.setState(({ charts }) => {
    const chart = charts[id];
    return chart === undefined ? { charts } : { charts: { ...charts, [id]: { ...chart, ...change } } };
  });
}

const MAX_NAMES = 2;

/** "Queue s1-eth2", "Throughput, cwnd" */
export function titleOf({ kinds, ports }: ChartChoice): string {
  const what = kinds.map((kind) => TITLES[kind].replace(" (sent)", "")).join(", ") || "Chart";
  if (ports === null) return what;
  return ports.length <= MAX_NAMES ? `${what} ${ports.join(" ")}`.trim() : `${what} of ${ports.length} ports`;
}

/** Forget charts whose tabs were closed. */
useTabs.subscribe((state) => {
  const { charts } = useChartTabs.getState();
  const kept = Object.entries(charts).filter(([id]) => paneOf(state, chartTab(id)) !== undefined);
  // A chart is known a moment before its tab is.
  const isLast = (id: string) => id === String(useChartTabs.getState().lastId);
  const gone = Object.keys(charts).filter((id) => !kept.some(([one]) => one === id) && !isLast(id));
  if (gone.length > 0)
    useChartTabs.setState({ charts: Object.fromEntries(Object.entries(charts).filter(([id]) => !gone.includes(id))) });
});
