import { expect, it } from "vitest";
import type { DrawnLink } from "../protocol";
import { limitBytes, queueAt, queueText } from "./queues";

function table(times_s: number[], values: (number | null)[]) {
  const curve = { key: "s1-eth1", port: "s1-eth1", flow: "", unit: "", values };
  return { times_s, columns: new Map([["s1-eth1", curve]]) };
}

it("a queue has its last length, and the drops of the last second", () => {
  const tables = { queue: table([1, 2, 3], [10, 20, null]), drops: table([1, 2, 3], [5, 5, 9]) };
  expect(queueAt(tables, "s1-eth1", 3)).toEqual({ bytes: 20, drops: 4 });
  expect(queueAt(tables, "s1-eth1", 2)).toEqual({ bytes: 20, drops: 0 });
  expect(queueAt(tables, "s1-eth1", 0)).toEqual({ bytes: 0, drops: 0 });
  expect(queueAt(tables, "none", 3)).toEqual({ bytes: 0, drops: 0 });
});

it("a queue says how full it is, what it dropped a moment ago, and why", () => {
  expect(queueText("s1-eth1", { bytes: 1000, drops: 0 }, null, "")).toBe("Queue of s1-eth1: 1 kB");
  expect(queueText("s1-eth1", { bytes: 1000, drops: 4 }, 9000, "the queue was full")).toBe(
    "Queue of s1-eth1: 1 kB of 9 kB, 4 packets dropped within a second\n" +
      "Packets were lost here: the queue was full",
  );
});

it("the limit is that of the direction, or the one set with tc", () => {
  const link: DrawnLink = {
    id: "l",
    a: "x",
    b: "y",
    options: { queue: { kind: "fifo", limit: "100KB" } },
    a_options: {},
    b_options: { queue: { kind: "red", packets: 10 } },
  };
  expect(limitBytes(link, "a", {})).toBe(100_000);
  expect(limitBytes(link, "b", {})).toBe(15_140);
  expect(limitBytes(link, "a", { a: { queue: { kind: "fifo", limit: "64KiB" } } })).toBe(65_536);
  expect(limitBytes({ ...link, options: { queue: "fq_codel" } }, "a", {})).toBe(null);
});
