import { expect, it } from "vitest";
import { coveredBy, placeTexts, type Box } from "./labels";

const at = (x: number, y = 0): Box => ({ x, y, width: 10, height: 10 });
const text = (key: string, ...places: number[]) => ({
  key,
  candidates: places.map((x) => ({ choice: x, boxes: [at(x)] })),
});

it("a text takes its first free place", () => {
  const chosen = placeTexts([text("a", 0, 20), text("b", 5, 30), text("c", 100, 60)], [at(100)]);
  expect([...chosen]).toEqual([
    ["a", 0],
    ["b", 30],
    ["c", 60],
  ]);
});

it("without a free place, a text takes the one that covers least", () => {
  expect(placeTexts([text("a", 0, 8)], [at(0), at(14)]).get("a")).toBe(8);
});

it("boxes that only touch do not cover each other", () => {
  expect(coveredBy([at(0)], [at(10), at(0, 10)])).toBe(0);
  expect(coveredBy([at(0)], [at(5, 5)])).toBe(25);
});
