import { expect, it } from "vitest";
import { endHover, hoverAt, lastBefore, useHover } from "./hover";

it("only the place that has the pointer ends it", () => {
  hoverAt(2, "chart");
  hoverAt(3, "timeline");
  endHover("chart");
  expect(useHover.getState()).toEqual({ at_s: 3, from: "timeline" });
  endHover("timeline");
  expect(useHover.getState()).toEqual({ at_s: null, from: null });
});

it("the last packet before an instant is found", () => {
  expect([0, 1, 2.5, 9].map((at) => lastBefore([1, 2, 2, 3], at))).toEqual([-1, 0, 2, 3]);
  expect(lastBefore([], 1)).toBe(-1);
});
