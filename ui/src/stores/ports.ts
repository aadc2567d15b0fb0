/** Names and addresses of ports: those of the document, or while the network runs the current ones. */
import { create } from "zustand";
import { useShallow } from "zustand/react/shallow";
import { onPush } from "../connection";
import type { LivePort } from "../protocol";
import { useRunning } from "./running";

export type Ports = Readonly<Record<string, LivePort>>;

/** By link and end: "l1 a". */
export const usePlanned = create<{ ports: Ports }>(() => ({ ports: {} }));

onPush("ports", ({ ports }) =>
  usePlanned.setState({
    ports: Object.fromEntries(ports.map((port) => [`${port.link} ${port.end}`, port])),
  }),
);

/** The port at an end of a link. */
export function usePort(link: string, end: "a" | "b"): LivePort | undefined {
  const key = `${link} ${end}`;
  const live = useRunning((state) => state.ports[key]);
  const planned = usePlanned((state) => state.ports[key]);
  return live ?? planned;
}

/** The settings of `tc` at the ends of a link of the running network that differ from the drawing. */
export function tcOf(ports: Ports, link: string): { a: LivePort["tc"]; b: LivePort["tc"] } {
  return { a: ports[`${link} a`]?.tc ?? null, b: ports[`${link} b`]?.tc ?? null };
}

export function useTc(link: string): ReturnType<typeof tcOf> {
  return useRunning(useShallow((state) => tcOf(state.ports, link)));
}

const byNode = new WeakMap<Ports, Map<string, LivePort[]>>();
const NO_PORTS: LivePort[] = [];

/** The ports of a node, in the order of its links. */
export function portsOf(node: string, ports: Ports): readonly LivePort[] {
  let known = byNode.get(ports);
  if (known === undefined) {
    known = new Map();
    for (const port of Object.values(ports)) {
      const others = known.get(port.node);
      if (others) others.push(port);
      else known.set(port.node, [port]);
    }
    byNode.set(ports, known);
  }
  return known.get(node) ?? NO_PORTS;
}

/** The addresses of a port, without IPv6 link-local ones, which every port has. */
export function addressesShown(port: LivePort | undefined): string {
  return (port?.addresses ?? []).filter((ip) => !ip.startsWith("fe80:")).join(" ");
}
