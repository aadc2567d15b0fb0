import { expect, it } from "vitest";
import { addTo, emptyTable } from "./samples";
import { loadsAt } from "./loads";

const column = (port: string, times_s: number[], values: number[]) => ({
  kind: "load" as const,
  port,
  flow: "",
  unit: "%",
  times_s,
  values,
});

it("the loads at a time are the last ones before it, of the nodes that have a processor", () => {
  const table = emptyTable();
  addTo(table, [column("h1", [0.1, 0.2, 0.3], [5, 100, 0]), column("h2", [0.2, 0.3], [62.5, 40])]);
  expect(loadsAt(table, Infinity)).toEqual({ h1: 0, h2: 40 });
  expect(loadsAt(table, 0.25)).toEqual({ h1: 100, h2: 62.5 });
  expect(loadsAt(table, 0.1)).toEqual({ h1: 5 });
  expect(loadsAt(table, 0)).toEqual({});
  expect(loadsAt(emptyTable(), Infinity)).toEqual({});
});
