/** Settings of the charts, kept in this browser. */
import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { SeriesKind } from "../protocol";

interface ChartState {
  kinds: readonly SeriesKind[];
  /** The time range in seconds of the network's time; null for all. */
  seconds: number | null;
  /** Names of fixed ports; null to follow the selection. */
  fixed: readonly string[] | null;
  isPaused: boolean;
  isZoomed: boolean;
  showsRecords: boolean;
}

export const useCharts = create<ChartState>()(
  persist(
    (): ChartState => ({
      kinds: ["throughput", "queue"],
      seconds: 30,
      fixed: null,
      isPaused: false,
      isZoomed: false,
      showsRecords: false,
    }),
    { name: "wanlab.charts", partialize: ({ kinds, seconds }) => ({ kinds, seconds }) },
  ),
);

export const TITLES: Readonly<Record<SeriesKind, string>> = {
  throughput: "Throughput (sent)",
  queue: "Queue",
  cwnd: "cwnd",
  rtt: "RTT",
  drops: "Drops",
  load: "Busiest core",
};

export const UNITS: Readonly<Record<SeriesKind, string>> = {
  throughput: "bit/s",
  queue: "B",
  cwnd: "B",
  rtt: "s",
  drops: "packets",
  load: "%",
};
