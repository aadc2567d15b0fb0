import { expect, it } from "vitest";
import { scaleFor, ticks, valueText } from "./units";
import { csv, joined, rowsBetween, sideBySide, spanOf } from "./window";

it("values have three digits and a fitting prefix", () => {
  const texts: [number | null, string, string][] = [
    [956_000_000, "bit/s", "956 Mbit/s"],
    [2_621_440, "B", "2.62 MB"],
    [0.0231, "s", "23.1 ms"],
    [0.00025, "s", "250 µs"],
    [0.5, "packets", "0.500 packets"],
    [1000, "bit/s", "1 kbit/s"],
    [0, "bit/s", "0 bit/s"],
    [17, "packets", "17 packets"],
    [999_500_000, "bit/s", "1.00 Gbit/s"],
    [999_400_000, "bit/s", "999 Mbit/s"],
    [12_345, "packets", "12345 packets"],
    [null, "B", "–"],
  ];
  for (const [value, unit, text] of texts) expect(valueText(value, unit)).toBe(text);
});

it("an axis has one prefix", () => {
  expect(ticks([0, 500_000, 1_000_000], "B")).toEqual(["0 MB", "0.5 MB", "1 MB"]);
  expect(scaleFor(0, "s")).toEqual({ factor: 1, unit: "s" });
});

it("the rows between two times are drawn", () => {
  const times = [0, 1, 2, 3, 4];
  const values = [5, null, 7, 8, 9];
  expect(rowsBetween(times, [values], 2, Infinity)).toEqual([
    [2, 3, 4],
    [7, 8, 9],
  ]);
  expect(rowsBetween(times, [values], 1, 3)).toEqual([
    [1, 2, 3],
    [null, 7, 8],
  ]);
  expect(rowsBetween(times, [values], 0, 0)).toEqual([[0], [5]]);
  expect(rowsBetween([], [[]], 2, Infinity)).toEqual([[], []]);
});

it("the time range ends with the branch in view, not with a longer one that it is compared with", () => {
  const branch = [[0, 29, 35]];
  const original = [[0, 29, 210]];
  expect(spanOf(branch, original, Infinity, 30)).toEqual([5, 35]);
  expect(spanOf(branch, original, 29, 10)).toEqual([19, 29]);
  expect(spanOf([[]], original, Infinity, 60)).toEqual([150, 210]);
  expect(spanOf(branch, original, Infinity, null)).toEqual([0, 35]);
  expect(spanOf([], [], Infinity, 30)).toEqual([0, 1]);
});

it("two branches are drawn in one chart, and a time that one of them lacks is no gap", () => {
  expect(
    sideBySide(
      [
        [0, 1],
        [5, 6],
      ],
      [
        [0, 1.5],
        [5, 9],
      ],
    ),
  ).toEqual([
    [0, 1, 1.5],
    [5, 6, undefined],
    [5, undefined, 9],
  ]);
});

it("what there is no space for is left out, but never a peak", () => {
  const times = Array.from({ length: 30_000 }, (_, row) => row);
  const values = times.map((row) => (row === 12_345 ? 99 : 1));
  const [thin, kept] = rowsBetween(times, [values], 0, Infinity);
  expect(thin.length).toBe(3000);
  expect(Math.max(...(kept as number[]))).toBe(99);
});

it("curves of several records stand beside one another", () => {
  const data = joined([
    { times_s: [0, 2], values: [1, 3] },
    { times_s: [1, 2], values: [10, null] },
  ]);
  expect(data).toEqual([
    [0, 1, 2],
    [1, undefined, 3],
    [undefined, 10, null],
  ]);
  expect(csv(["a", 'b "x"'], data)).toBe('time_s,a,"b ""x"""\n0,1,\n1,,10\n2,3,\n');
});
