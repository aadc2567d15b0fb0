import { describe, expect, test } from "vitest";
import type { DrawnLink, DrawnNode } from "../protocol";
import { summary, valueOf, withValue } from "./conditions";
import { align, aligned, course, distributed, freePlace, laneOf } from "./geometry";
import { KINDS, kindOf } from "./kinds";
import { loadOf } from "./load";
import { nextNumber } from "./names";

function node(name: string, kind: DrawnNode["kind"] = "host", options = {}): DrawnNode {
  return { id: name, kind, name, x: 0, y: 0, options };
}

const LINK: DrawnLink = { id: "l1", a: "n1", b: "n2", options: {}, a_options: {}, b_options: {} };

describe("names", () => {
  test("a new node's number comes after the largest", () => {
    expect(nextNumber(KINDS.host, [])).toBe(1);
    expect(nextNumber(KINDS.controller, [])).toBe(0);
    expect(nextNumber(KINDS.host, [node("h1"), node("h7"), node("host9")])).toBe(8);
  });
  test("a switch is a bridge unless it says otherwise", () => {
    expect(kindOf(node("s1", "switch"))).toBe("bridge");
    expect(kindOf(node("s1", "switch", { kind: "ovs" }))).toBe("ovs");
  });
});

describe("a link's directions", () => {
  test("what is set for both directions is stored at the link", () => {
    const link = withValue(LINK, "both", "rate", "10Mbps");
    expect(link.options).toEqual({ rate: "10Mbps" });
    expect(valueOf(link, "a", "rate").value).toBe("10Mbps");
  });
  test("what is set for one direction does not change the other", () => {
    const link = withValue(withValue(LINK, "both", "rate", "10Mbps"), "a", "rate", "1Mbps");
    expect([link.options, link.a_options, link.b_options]).toEqual([{}, { rate: "1Mbps" }, { rate: "10Mbps" }]);
    expect(valueOf(link, "both", "rate").differs).toBe(true);
    expect(withValue(link, "b", "rate", "1Mbps").options).toEqual({ rate: "1Mbps" });
  });
  test("what is removed from one direction stays for the other", () => {
    const link = withValue(withValue(LINK, "both", "loss", "1%"), "b", "loss", undefined);
    expect([link.options, link.a_options, link.b_options]).toEqual([{}, { loss: "1%" }, {}]);
  });
  test("the text beside the line names both directions once", () => {
    const link = { ...LINK, options: { rate: "10Mbps", delay: "20ms", queue: { kind: "fifo", limit: "64KB" } } };
    expect(summary(link).both).toBe("10Mbps · 20ms · fifo 64KB");
    expect(summary(withValue(link, "a", "delay", undefined))).toEqual({
      both: "",
      a: "10Mbps · fifo 64KB",
      b: "10Mbps · 20ms · fifo 64KB",
    });
  });
});

describe("geometry", () => {
  test("parallel lines bow to both sides, and do not meet", () => {
    expect([0, 1, 2].map((index) => laneOf(index, 3))).toEqual([-1, 0, 1]);
    const [a, b] = [
      { x: 0, y: 0 },
      { x: 100, y: 0 },
    ];
    expect(course(a, b, -1, true).at(0.5).y).toBe(-course(a, b, 1, true).at(0.5).y);
    // The same lane seen from its other end is the same line.
    expect(course(b, a, 1, false).at(0.5).y).toBeCloseTo(course(a, b, 1, true).at(0.5).y);
  });
  test("what is dragged snaps to the nearest line within reach", () => {
    const found = align(
      [{ x: 103, y: 50 }],
      [
        { x: 100, y: 0 },
        { x: 101, y: 200 },
      ],
      6,
    );
    expect(found).toEqual({ dx: -2, dy: 0, guides: [{ axis: "x", at: 101 }] });
  });
  test("aligning and distributing", () => {
    const things = [
      { id: "a", x: 0, y: 0 },
      { id: "b", x: 90, y: 10 },
      { id: "c", x: 100, y: 20 },
    ];
    expect(aligned(things, "bottom").map(({ y }) => y)).toEqual([20, 20, 20]);
    expect(distributed(things, "x").map(({ x }) => x)).toEqual([0, 50, 100]);
  });
  test("a free position is found near the wanted one", () => {
    expect(freePlace({ x: 0, y: 0 }, [])).toEqual({ x: 0, y: 0 });
    const found = freePlace({ x: 0, y: 0 }, [{ x: 0, y: 0 }]);
    expect(Math.hypot(found.x, found.y)).toBeCloseTo(80);
  });
});

describe("a link's colour", () => {
  const link = { ...LINK, options: { rate: "1Gbps" } };
  const level = (a_bps: number, tc = {}) => loadOf(link, { a_bps, b_bps: 200 }, tc)?.level;
  test("follows how full the link is", () => {
    expect([level(0), level(1e6), level(7e8), level(9.5e8)]).toEqual(["used", "used", "busy", "full"]);
    expect(loadOf(LINK, { a_bps: 0, b_bps: 99 }, {})).toBe(null);
  });
  test("follows the rate that tc has set, in the direction in which it was set", () => {
    expect(level(9.5e7, { a: { rate: "100Mbps" } })).toBe("full");
    expect(level(9.5e7, { b: { rate: "100Mbps" } })).toBe("used");
  });
});
