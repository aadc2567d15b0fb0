import { expect, it } from "vitest";
import type { LivePort } from "../protocol";
import { endsOf, flowTitles, passes } from "./paths";

function port(link: string, end: "a" | "b", node: string, address = ""): LivePort {
  return {
    link,
    end,
    node,
    name: `${node}-${link}`,
    mac: "",
    addresses: address ? [address] : [],
    is_up: true,
    tc: null,
    lost: "",
  };
}

// h1 and h2 are at s1, h3 is behind the bottleneck.
const PORTS = [
  port("l1", "a", "h1", "10.0.0.1/8"),
  port("l1", "b", "s1"),
  port("l2", "a", "h2", "10.0.0.2/8"),
  port("l2", "b", "s1"),
  port("l3", "a", "s1"),
  port("l3", "b", "h3", "10.0.0.3/8"),
];
const FLOW = "10.0.0.1:37236 > 10.0.0.3:5201";

it("flows are named after their nodes, with the sender's port where they would be equal", () => {
  const titles = (...flows: string[]) => flowTitles(flows, PORTS, (node) => node);
  expect(titles(FLOW, "192.0.2.1:1 > 10.0.0.3:2")).toEqual(["h1 → h3:5201", "192.0.2.1 → h3:2"]);
  expect(titles(FLOW, "10.0.0.1:37238 > 10.0.0.3:5201")).toEqual(["h1:37236 → h3:5201", "h1:37238 → h3:5201"]);
  expect(titles("[fe80::1]:1 > [fe80::2]:2")).toEqual(["fe80::1 → fe80::2:2"]);
});

it("a flow passes the links between its ends, and no others", () => {
  const ends = endsOf(FLOW, PORTS)!;
  expect(["l1", "l2", "l3", "h1", "h2", "h3", "s1"].filter((id) => passes(ends, new Set([id]), PORTS))).toEqual([
    "l1",
    "l3",
    "h1",
    "h3",
    "s1",
  ]);
  expect(endsOf("192.0.2.1:1 > 10.0.0.3:2", PORTS)).toBeNull();
});
