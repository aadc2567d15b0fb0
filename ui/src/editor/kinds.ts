/** The kinds of things that the palette offers, and what a new one is like. */
import type { DrawnNode, NodeKind } from "../protocol";

export type Kind = "host" | "bridge" | "ovs" | "router" | "controller";
export type Tool = "select" | Kind | "link" | "label";

export interface KindInfo {
  kind: Kind;
  title: string;
  /** What begins its name: h1, s1, c0. */
  prefix: string;
  first: number;
  nodeKind: NodeKind;
  options: Readonly<Record<string, unknown>>;
}

export const KINDS: Readonly<Record<Kind, KindInfo>> = {
  host: { kind: "host", title: "Host", prefix: "h", first: 1, nodeKind: "host", options: {} },
  bridge: { kind: "bridge", title: "Switch", prefix: "s", first: 1, nodeKind: "switch", options: {} },
  ovs: {
    kind: "ovs",
    title: "Open vSwitch",
    prefix: "s",
    first: 1,
    nodeKind: "switch",
    options: { kind: "ovs" },
  },
  router: { kind: "router", title: "Router", prefix: "r", first: 1, nodeKind: "router", options: {} },
  controller: {
    kind: "controller",
    title: "Controller",
    prefix: "c",
    first: 0,
    nodeKind: "controller",
    options: {},
  },
};

/** Which of the palette's kinds a node is. */
export function kindOf(node: DrawnNode): Kind {
  if (node.kind !== "switch") return node.kind;
  return (node.options.kind ?? "bridge") === "bridge" ? "bridge" : "ovs";
}

export function isKind(tool: Tool): tool is Kind {
  return tool in KINDS;
}
