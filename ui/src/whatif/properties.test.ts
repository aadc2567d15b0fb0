import { expect, it } from "vitest";
import type { DrawnLink } from "../protocol";
import { optionsWith, PROPERTIES, QUEUE_SIZE, valueNow } from "./properties";

const LINK: DrawnLink = {
  id: "l1",
  a: "n1",
  b: "n2",
  options: { rate: "10Mbps", queue: { kind: "fifo", packets: 100 } },
  a_options: {},
  b_options: {},
};

it("the queue comes first among what can be asked about", () => {
  expect(PROPERTIES.map(({ word }) => word).slice(0, 3)).toEqual(["queue", "queue size", "rate"]);
});

it("a property has the value that the link has now, in words", () => {
  expect(valueNow(LINK, "both", "rate")).toBe("10Mbps");
  expect(valueNow(LINK, "both", "queue")).toBe("fifo 100p");
  expect(valueNow(LINK, "both", "delay")).toBe("none");
  expect(valueNow(LINK, "both", QUEUE_SIZE)).toBe("default");
  const oneWay = { ...LINK, options: {}, a_options: { rate: "1Mbps" } };
  expect(valueNow(oneWay, "both", "rate")).toBe("different in the two directions");
  expect(valueNow(oneWay, "a", "rate")).toBe("1Mbps");
});

it("another size keeps the kind of the queue and replaces a limit in packets", () => {
  expect(optionsWith(LINK, "both", QUEUE_SIZE, "30KB")).toEqual({ queue: { kind: "fifo", limit: "30KB" } });
  const codel = { ...LINK, options: { queue: "fq_codel" } };
  expect(optionsWith(codel, "both", QUEUE_SIZE, "30KB")).toEqual({ queue: { kind: "fq_codel", limit: "30KB" } });
  expect(optionsWith(LINK, "both", "rate", " 5Mbps ")).toEqual({ rate: "5Mbps" });
});
