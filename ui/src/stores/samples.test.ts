import { expect, it, vi } from "vitest";
import type { SampleColumn } from "../protocol";

vi.mock("../connection", () => ({ onPush: () => () => undefined, perform: () => Promise.resolve(null) }));
const { addTo, emptyTable } = await import("./samples");

function column(port: string, times_s: number[], values: (number | null)[]): SampleColumn {
  return { kind: "queue", port, flow: "", unit: "B", times_s, values };
}

it("curves share their instants, and missing values are null", () => {
  const table = emptyTable();
  addTo(table, [column("s1-eth1", [1, 2], [10, 20]), column("s1-eth2", [1, 2], [5, 6])]);
  addTo(table, [column("s1-eth1", [2, 3, 4], [21, 30, 40]), column("h1-eth0", [3], [7])]);
  expect(table.times_s).toEqual([1, 2, 3, 4]);
  const values = Object.fromEntries([...table.columns].map(([key, curve]) => [key, curve.values]));
  expect(values).toEqual({
    "s1-eth1": [10, 21, 30, 40],
    "s1-eth2": [5, 6, null, null],
    "h1-eth0": [null, null, 7, null],
  });
});

it("an instant between existing ones is inserted between them", () => {
  const table = emptyTable();
  addTo(table, [column("a", [1, 3], [1, 3])]);
  addTo(table, [column("b", [2], [2])]);
  expect(table.times_s).toEqual([1, 2, 3]);
  expect(table.columns.get("a")?.values).toEqual([1, null, 3]);
  expect(table.columns.get("b")?.values).toEqual([null, 2, null]);
});
