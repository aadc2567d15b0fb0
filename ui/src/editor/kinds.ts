/** The kinds of nodes that the palette offers, and the defaults of a new one. */
import type { DrawnNode, NodeKind } from "../protocol";

export type Kind = "host" | "bridge" | "ovs" | "router" | "controller";
export type Tool = "select" | Kind | "link" | "label" | "frame";

export interface KindInfo {
  kind: Kind;
  title: string;
  /** The prefix of its name: h1, s1, c0. */
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

/** The palette's kind of a node. */
export function kindOf(node: DrawnNode): Kind {
  if (node.kind !== "switch") return node.kind;
  return (node.options.kind ?? "bridge") === "bridge" ? "bridge" : "ovs";
}

export function isKind(tool: Tool): tool is Kind {
  return tool in KINDS;
}
