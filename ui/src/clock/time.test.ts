import { expect, it } from "vitest";
import { clockText, SPEEDS, speedText, stopFor, stopTitle, tickText } from "./time";

it("the clock tells seconds, then minutes and hours, always to the millisecond", () => {
  expect([0, 12_345_999_999, 59_999_999_999, 60_000_000_000, 3_725_006_000_000].map(clockText)).toEqual([
    "0.000 s",
    "12.345 s",
    "59.999 s",
    "1:00.000",
    "1:02:05.006",
  ]);
});

it("the speed has two digits or so", () => {
  expect([0, 0.0012, 0.067, 0.25, 1, 9.94, 37.6].map(speedText)).toEqual([
    "×0.00",
    "×0.001",
    "×0.07",
    "×0.3",
    "×1.0",
    "×9.9",
    "×38",
  ]);
});

it("the slider goes from slow motion over real time to as fast as possible", () => {
  expect(stopTitle(0)).toBe("×0.001");
  expect(stopTitle(stopFor("real", 1))).toBe("real time");
  expect(stopTitle(stopFor("fast", 1))).toBe("as fast as possible");
  expect(SPEEDS[stopFor("real", 0.04)]).toBe(0.05);
});

it("axes count as the clock does", () => {
  expect([0, 0.5, 10].map((at) => tickText(at, 0.5))).toEqual(["0 s", "0.5 s", "10 s"]);
  expect([60, 1166, 3725].map((at) => tickText(at, 20))).toEqual(["1:00", "19:26", "1:02:05"]);
  expect(tickText(61.5, 0.5)).toBe("1:01.5");
  expect(tickText(0.02, 0.005)).toBe("0.02 s");
});
