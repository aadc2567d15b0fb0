import { expect, it } from "vitest";
import type { LivePort } from "../protocol";
import { portsOf, portToCapture } from "./chosen";

const port = (name: string, link: string, node: string) => ({ name, link, node }) as unknown as LivePort;
const PORTS = [
  port("h1-eth0", "l1", "h1"),
  port("s1-eth1", "l1", "s1"),
  port("s1-eth2", "l2", "s1"),
  port("h2-eth0", "l2", "h2"),
];
const names = (...selected: string[]) => portsOf(new Set(selected), PORTS).map(({ name }) => name);

it("the ports of a selection are those of its links and nodes, or else all", () => {
  expect(names("l2")).toEqual(["s1-eth2", "h2-eth0"]);
  expect(names("s1")).toEqual(["s1-eth1", "s1-eth2"]);
  expect(names()).toHaveLength(4);
  expect(names("a label")).toHaveLength(4);
});

it("a capture is offered at the selected link or node, unless another port was chosen since", () => {
  const offered = (chosen: string, ...selected: string[]) => portToCapture(chosen, new Set(selected), PORTS);
  expect(offered("")).toBe("h1-eth0");
  expect(offered("", "l2")).toBe("s1-eth2");
  expect(offered("", "h2")).toBe("h2-eth0");
  expect(offered("s1-eth1", "l2")).toBe("s1-eth1");
  // The port belonged to a network that no longer runs.
  expect(offered("r1-eth0", "l2")).toBe("s1-eth2");
  expect(portToCapture("h1-eth0", new Set(), [])).toBe("");
});
