/** Choose the rows of a table to draw: the last seconds, and no more than a screen can show. */

import type { Value } from "../stores/samples";

const MAX_ROWS = 3000;

export type Data = [number[], ...(readonly Value[])[]];

/** The rows between two times. */
export function rowsBetween(
  times_s: readonly number[],
  columns: readonly (readonly Value[])[],
  from_s: number,
  until_s: number,
): Data {
  const first = firstAt(times_s, from_s);
  const end = Math.max(first, until_s === Infinity ? times_s.length : firstAt(times_s, until_s + 1e-9));
  const count = end - first;
  if (count <= MAX_ROWS) {
    return [times_s.slice(first, end), ...columns.map((values) => values.slice(first, end))];
  }
  return thinned(times_s, columns, first, end, Math.ceil(count / MAX_ROWS));
}

/** The time range of all panels, so that their time axes line up: it ends where the branch in view ends,
 *  or at the shown instant. A compared branch, which may be longer, does not move it. */
export function spanOf(
  times_s: readonly (readonly number[])[],
  compared_s: readonly (readonly number[])[],
  until_s: number,
  seconds: number | null,
): [number, number] {
  const ends = (all: readonly (readonly number[])[]) => all.flatMap((times) => times.at(-1) ?? []);
  const own = ends(times_s);
  const last = Math.min(until_s, Math.max(...(own.length > 0 ? own : ends(compared_s)), 0));
  const first = Math.min(...[...times_s, ...compared_s].map((times) => times[0] ?? Infinity), last);
  const from = seconds === null ? first : Math.max(first, last - seconds);
  return [from, last > from ? last : from + 1];
}

/** Merge two tables. A time that only one of them has is not a gap in the other. */
export function sideBySide(a: Data, b: Data): Data {
  const curves = (data: Data) =>
    data.slice(1).map((values) => ({ times_s: data[0], values: values as readonly Value[] }));
  return joined([...curves(a), ...curves(b)]);
}

/** Reduce each `step` rows to one with the largest value of each curve, so that peaks stay visible. */
function thinned(
  times_s: readonly number[],
  columns: readonly (readonly Value[])[],
  first: number,
  end: number,
  step: number,
): Data {
  const times: number[] = [];
  for (let row = first; row < end; row += step) times.push(times_s[row]!);
  const thin = (values: readonly Value[]) => {
    const kept: Value[] = [];
    for (let row = first; row < end; row += step) {
      let largest: Value = null;
      for (let at = row; at < Math.min(row + step, end); at += 1) {
        const value = values[at] ?? null;
        if (value !== null && (largest === null || value > largest)) largest = value;
      }
      kept.push(largest);
    }
    return kept;
  };
  return [times, ...columns.map(thin)];
}

function firstAt(times_s: readonly number[], wanted: number): number {
  let [low, high] = [0, times_s.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times_s[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Join curves with different times into one table. */
export function joined(curves: readonly { times_s: readonly number[]; values: readonly Value[] }[]): Data {
  const times = [...new Set(curves.flatMap((curve) => curve.times_s))].sort((a, b) => a - b);
  const row = new Map(times.map((time, index) => [time, index]));
  const columns = curves.map((curve) => {
    // uPlot draws over undefined and leaves a gap at null. Times of other curves are not gaps.
    const values = new Array<Value>(times.length).fill(undefined as unknown as Value);
    curve.times_s.forEach((time, index) => (values[row.get(time)!] = curve.values[index] ?? null));
    return values;
  });
  return [times, ...columns];
}

/** The table as CSV, a row for each time. */
export function csv(heads: readonly string[], data: Data): string {
  const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const rows = data[0].map((time, row) => [time, ...data.slice(1).map((values) => values[row] ?? "")].join(","));
  return [["time_s", ...heads].map(quoted).join(","), ...rows, ""].join("\n");
}
