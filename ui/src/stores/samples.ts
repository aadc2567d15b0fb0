/** Live samples of the running network. Canvas and charts subscribe here; the server gets one request.
 *
 *      watch("canvas", [{ kind: "throughput", port: "s1-eth2" }])     until watch("canvas", [])
 *      tables.throughput.columns.get("s1-eth2")
 *      onSamples(() => draw())
 *
 *  Curves of a kind share their sampling times: a table with a column for each. Tables are changed in
 *  place, because they grow many times a second; onSamples tells when to draw them again.
 */

import { perform, onPush } from "../connection";
import type { SampleColumn, WatchedSeries, SeriesKind } from "../protocol";

export type Value = number | null;

export interface Curve {
  key: string;
  port: string;
  flow: string;
  unit: string;
  /** The values at `times_s` of its table. */
  values: Value[];
}

export interface Table {
  times_s: number[];
  columns: Map<string, Curve>;
}

export const KINDS: readonly SeriesKind[] = ["throughput", "queue", "cwnd", "rtt", "drops", "load"];
/** Older rows are dropped: an hour at ten a second. */
const MAX_ROWS = 36_000;
export type Tables = Readonly<Record<SeriesKind, Table>>;
/** The tables of the live branch. */
export const tables: Tables = emptyTables();
/** Fetched tables of branches that are not live. */
const recorded = new Map<string, { tables: Tables; fetched: Set<string> }>();
/** The branch whose samples are in `tables`. */
let liveBranch: string | null = null;

function emptyTables(): Tables {
  return Object.fromEntries(KINDS.map((kind) => [kind, emptyTable()])) as Record<SeriesKind, Table>;
}

/** The samples of a branch; see `fetchHistory`. */
export function tablesOf(branch: string | null): Tables {
  if (branch === null || branch === liveBranch) return tables;
  return recorded.get(branch)?.tables ?? emptyTables();
}

const watched = new Map<string, readonly WatchedSeries[]>();
const listeners = new Set<() => void>();
let requested = "";
/** Kinds and ports whose history has been fetched. */
const fetched = new Set<string>();

export function emptyTable(): Table {
  return { times_s: [], columns: new Map() };
}

export function keyOf(column: { port: string; flow: string }): string {
  return column.flow ? `${column.port} ${column.flow}` : column.port;
}

/** Sample these series for `owner` from now on. */
export function watch(owner: string, series: readonly WatchedSeries[]): void {
  if (series.length) watched.set(owner, series);
  else watched.delete(owner);
  request();
}

/** Fetch the server's samples of these series, unless they were already fetched for this run. */
export async function fetchHistory(series: readonly WatchedSeries[]): Promise<void> {
  const wanted = series.filter((one) => !fetched.has(`${one.kind} ${one.port}`));
  if (wanted.length === 0) return;
  for (const one of wanted) fetched.add(`${one.kind} ${one.port}`);
  const columns = await perform({ do: "history", series: [...wanted] });
  if (columns !== null) take(columns);
}

/** Fetch the recorded samples of these series in a branch that is not live, unless already fetched. */
export async function fetchRecorded(branch: string, series: readonly WatchedSeries[]): Promise<void> {
  if (branch === liveBranch) return;
  const known = recorded.get(branch) ?? { tables: emptyTables(), fetched: new Set<string>() };
  recorded.set(branch, known);
  const wanted = series.filter((one) => !known.fetched.has(`${one.kind} ${one.port}`));
  if (wanted.length === 0) return;
  for (const one of wanted) known.fetched.add(`${one.kind} ${one.port}`);
  const columns = await perform({ do: "history", series: [...wanted], branch });
  if (columns !== null) takeInto(known.tables, columns);
}

export function onSamples(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function request(): void {
  const all = new Map<string, WatchedSeries>();
  for (const series of watched.values()) for (const one of series) all.set(`${one.kind} ${one.port}`, one);
  const keys = JSON.stringify([...all.keys()].sort());
  if (keys === requested) return;
  requested = keys;
  void perform({ do: "watch", series: [...all.values()] });
}

/** Add samples to a table. Most are later than those in it, or belong to its last rows. */
export function addTo(table: Table, columns: readonly SampleColumn[]): void {
  let filled = table.times_s.length;
  const known = new Set(table.columns.keys());
  const times = [...new Set(columns.flatMap((column) => column.times_s))].sort((a, b) => a - b);
  if (times.length && times[0]! < (table.times_s[0] ?? 0)) insertRows(table, times);
  filled = Math.min(filled, table.times_s.length);
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
  if (table.times_s.length > MAX_ROWS) shorten(table, table.times_s.length - MAX_ROWS);
}

/** Insert rows before and between those of a table in one pass, because past samples are many. */
function insertRows(table: Table, times: readonly number[]): void {
  const before = table.times_s;
  const all = [...new Set([...before, ...times])].sort((a, b) => a - b);
  const row = new Map(all.map((time, index) => [time, index]));
  for (const curve of table.columns.values()) {
    const values = new Array<Value>(all.length).fill(null);
    before.forEach((time, index) => (values[row.get(time)!] = curve.values[index] ?? null));
    curve.values = values;
  }
  table.times_s = all;
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
  const curve: Curve = { key, port, flow, unit, values: [] };
  table.columns.set(key, curve);
  return curve;
}

function shorten(table: Table, count: number): void {
  table.times_s.splice(0, count);
  for (const curve of table.columns.values()) curve.values.splice(0, count);
}

export function clearSamples(): void {
  fetched.clear();
  for (const table of Object.values(tables)) {
    table.times_s.length = 0;
    table.columns.clear();
  }
  for (const listener of listeners) listener();
}

onPush("samples", ({ columns }) => take(columns));

function take(columns: readonly SampleColumn[]): void {
  takeInto(tables, columns);
}

function takeInto(all: Tables, columns: readonly SampleColumn[]): void {
  for (const kind of KINDS) {
    const ofKind = columns.filter((column) => column.kind === kind);
    if (ofKind.length) addTo(all[kind], ofKind);
  }
  for (const listener of listeners) listener();
}

// Another branch is live: the server sends its samples up to the instant at which it continued.
onPush("branches", ({ live, branches }) => {
  const known = new Set(branches.map(({ id }) => id));
  for (const branch of recorded.keys()) if (!known.has(branch) || branch === live) recorded.delete(branch);
  if (branches.length === 0 && liveBranch !== null) {
    // Another document was opened, and the session has ended with the one before.
    liveBranch = null;
    clearSamples();
  }
  if (live === null || live === liveBranch) return;
  const isOther = liveBranch !== null && known.has(liveBranch);
  liveBranch = live;
  if (!isOther) return;
  clearSamples();
  void fetchHistory([...watched.values()].flat());
});

let wasRunning = false;
onPush("run", ({ phase }) => {
  if (phase === "starting" && !wasRunning) clearSamples();
  wasRunning = phase === "running";
});

// A new connection, or a restarted server, does not know what this browser watches.
onPush("state", () => {
  requested = "";
  fetched.clear();
  if (watched.size) request();
});
