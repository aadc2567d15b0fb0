/** What is measured of the running network while one looks: the canvas and the charts ask for it here,
 *  and the server is told of all of it together.
 *
 *      want("canvas", [{ kind: "throughput", port: "s1-eth2" }])     from now on; [] ends it
 *      tables.throughput.columns.get("s1-eth2")
 *      onSamples(() => draw())
 *
 *  Curves of a kind share their instants: a table with a column for each. It is changed in place, since
 *  it grows many times a second; who draws it looks when told.
 */

import { perform, onPush } from "../connection";
import type { SampleColumn, WatchedSeries, SeriesKind } from "../protocol";

export type Value = number | null;

export interface Curve {
  key: string;
  port: string;
  flow: string;
  unit: string;
  /** Beside `times_s` of its table. */
  values: Value[];
}

export interface Table {
  times_s: number[];
  columns: Map<string, Curve>;
}

export const KINDS: readonly SeriesKind[] = ["throughput", "queue", "cwnd", "rtt", "drops"];
/** Older rows go: an hour at ten a second. */
const MOST_ROWS = 36_000;
/** How often, in the network's time. */
const INTERVAL_MS = 100;

export const tables: Record<SeriesKind, Table> = {
  throughput: emptyTable(),
  queue: emptyTable(),
  cwnd: emptyTable(),
  rtt: emptyTable(),
  drops: emptyTable(),
};

const wishes = new Map<string, readonly WatchedSeries[]>();
const listeners = new Set<() => void>();
let told = "";

export function emptyTable(): Table {
  return { times_s: [], columns: new Map() };
}

export function keyOf(column: { port: string; flow: string }): string {
  return column.flow ? `${column.port} ${column.flow}` : column.port;
}

/** What `owner` wants to see from now on. */
export function want(owner: string, series: readonly WatchedSeries[]): void {
  if (series.length) wishes.set(owner, series);
  else wishes.delete(owner);
  tell();
}

export function onSamples(heard: () => void): () => void {
  listeners.add(heard);
  return () => listeners.delete(heard);
}

function tell(): void {
  const all = new Map<string, WatchedSeries>();
  for (const series of wishes.values()) for (const one of series) all.set(`${one.kind} ${one.port}`, one);
  const wanted = JSON.stringify([...all.keys()].sort());
  if (wanted === told) return;
  told = wanted;
  void perform({ do: "watch", series: [...all.values()], interval_ms: INTERVAL_MS });
}

/** Adds what came to a table; all of it is later than what is there, or at the last instants. */
export function addTo(table: Table, columns: readonly SampleColumn[]): void {
  const filled = table.times_s.length;
  const known = new Set(table.columns.keys());
  const times = [...new Set(columns.flatMap((column) => column.times_s))].sort((a, b) => a - b);
  const rows = new Map<number, number>();
  for (const time of times) rows.set(time, rowOf(table, time));
  for (const column of columns) {
    const curve = curveOf(table, column);
    column.times_s.forEach((time, index) => {
      curve.values[rows.get(time)!] = column.values[index] ?? null;
    });
  }
  for (const [key, { values }] of table.columns) {
    const first = known.has(key) ? filled : 0;
    for (let row = first; row < table.times_s.length; row += 1) values[row] ??= null;
  }
  if (table.times_s.length > MOST_ROWS) shorten(table, table.times_s.length - MOST_ROWS);
}

function rowOf(table: Table, time: number): number {
  const { times_s } = table;
  let row = times_s.length;
  while (row > 0 && times_s[row - 1]! > time) row -= 1;
  if (row > 0 && times_s[row - 1] === time) return row - 1;
  times_s.splice(row, 0, time);
  if (row < times_s.length - 1) {
    for (const curve of table.columns.values()) curve.values.splice(row, 0, null);
  }
  return row;
}

function curveOf(table: Table, column: SampleColumn): Curve {
  const key = keyOf(column);
  const known = table.columns.get(key);
  if (known) return known;
  const { port, flow, unit } = column;
  const made: Curve = { key, port, flow, unit, values: [] };
  table.columns.set(key, made);
  return made;
}

function shorten(table: Table, count: number): void {
  table.times_s.splice(0, count);
  for (const curve of table.columns.values()) curve.values.splice(0, count);
}

export function clearSamples(): void {
  for (const table of Object.values(tables)) {
    table.times_s.length = 0;
    table.columns.clear();
  }
  for (const heard of listeners) heard();
}

onPush("samples", ({ columns }) => {
  for (const kind of KINDS) {
    const own = columns.filter((column) => column.kind === kind);
    if (own.length) addTo(tables[kind], own);
  }
  for (const heard of listeners) heard();
});

let wasUp = false;
onPush("run", ({ phase }) => {
  if (phase === "starting" && wasUp === false) clearSamples();
  wasUp = phase === "running";
});

// A new connection, and a server that was started anew, know nothing of what this one wants to see.
onPush("state", () => {
  told = "";
  if (wishes.size) tell();
});
