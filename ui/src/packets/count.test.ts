import { expect, it } from "vitest";
import { countText } from "./count";

it("a list that is cut says how many packets the file has", () => {
  const file = { shown: 1000, examined: 1000, total: 4748, isFiltered: false };
  expect(countText(file)).toBe("1,000 of 4,748 packets");
  expect(countText({ ...file, shown: 4748, examined: 4748 })).toBe("4,748 packets");
  expect(countText({ ...file, shown: 1, examined: 1, total: 1 })).toBe("1 packet");
});

it("a filtered list says how much of the file was compared with the filter", () => {
  const file = { shown: 12, examined: 1000, total: 4748, isFiltered: true };
  expect(countText(file)).toBe("12 packets found among 1,000 of 4,748");
  expect(countText({ ...file, examined: 4748 })).toBe("12 packets found of 4,748");
});
