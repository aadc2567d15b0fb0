/** The throughput of each link of the running network, for the lines on the canvas. */
import { useEffect } from "react";
import { create } from "zustand";
import { useBranches } from "./branches";
import { follow } from "./following";
import type { Table, Tables } from "./samples";
import { queueAt, queueSeries, useQueues, type QueueState } from "./queues";
import { useRunning } from "./running";
import { useView } from "./view";

export interface Traffic {
  a_bps: number;
  b_bps: number;
}

export const useTraffic = create<{ links: Readonly<Record<string, Traffic>> }>(() => ({ links: {} }));

/** In larger networks, whose ports are too small to see, queues are not watched for the canvas. */
const MAX_QUEUES = 400;

/** Watch the throughput of all ports while the network runs and throughput is shown. */
export function useWatchedTraffic(): void {
  const ports = useRunning((state) => state.ports);
  const isWanted = useView((state) => state.showsTraffic);
  const isUp = useRunning((state) => state.run.phase === "running");
  useEffect(() => {
    const all = isWanted && isUp ? Object.values(ports) : [];
    const names = all.map(({ name }) => name);
    const series = [
      ...names.map((port) => ({ kind: "throughput" as const, port })),
      ...queueSeries(names.length > MAX_QUEUES ? [] : names),
    ];
    if (all.length === 0) {
      useTraffic.setState({ links: {} });
      useQueues.setState({ queues: {} });
      return undefined;
    }
    // At a past instant there are other ports, with which this begins again.
    return follow("canvas", series, (tables) => {
      useTraffic.setState(({ links }) => ({ links: latest(tables, links) }));
      useQueues.setState(({ queues }) => ({ queues: latestQueues(tables, queues) }));
    });
  }, [ports, isWanted, isUp]);
}

/** Traffic that did not change stays the same object, so that its line is not drawn again. */
function latest({ throughput: table }: Tables, before: Readonly<Record<string, Traffic>>): Record<string, Traffic> {
  const byLink: Record<string, { a_bps: number; b_bps: number }> = {};
  const { shown } = useBranches.getState();
  const row = shown === null ? table.times_s.length - 1 : rowAt(table, shown.at_ns / 1e9);
  for (const { link, end, name } of Object.values(useRunning.getState().ports)) {
    const values = table.columns.get(name)?.values;
    byLink[link] ??= { a_bps: 0, b_bps: 0 };
    byLink[link][`${end}_bps`] = values?.[row] ?? values?.[row - 1] ?? 0;
  }
  return Object.fromEntries(
    Object.entries(byLink).map(([link, traffic]) => {
      const old = before[link];
      const isSame = old !== undefined && old.a_bps === traffic.a_bps && old.b_bps === traffic.b_bps;
      return [link, isSame ? old : traffic];
    }),
  );
}

/** The queues that hold or have lost something. One that did not change stays the same object. */
function latestQueues(tables: Tables, before: Readonly<Record<string, QueueState>>): Record<string, QueueState> {
  const { shown } = useBranches.getState();
  const now_s = (shown?.at_ns ?? useRunning.getState().clock.now_ns) / 1e9;
  const found: Record<string, QueueState> = {};
  for (const { link, end, name } of Object.values(useRunning.getState().ports)) {
    const key = `${link} ${end}`;
    const state = queueAt(tables, name, now_s);
    const old = before[key];
    if (state.bytes === 0 && state.drops === 0) continue;
    found[key] = old?.bytes === state.bytes && old.drops === state.drops ? old : state;
  }
  return found;
}

/** The last row of a table at or before a time; -1 if there is none. */
function rowAt({ times_s }: Table, time_s: number): number {
  return times_s.findLastIndex((one) => one <= time_s);
}

/** "94.2 Mbit/s" */
export function shownRate(bps: number): string {
  if (bps < 1000) return `${Math.round(bps)} bit/s`;
  for (const [unit, scale] of [
    ["kbit/s", 1e3],
    ["Mbit/s", 1e6],
    ["Gbit/s", 1e9],
  ] as const) {
    const value = bps / scale;
    if (value < 999.5 || unit === "Gbit/s") return `${value.toFixed(value < 100 ? 1 : 0)} ${unit}`;
  }
  return "";
}
