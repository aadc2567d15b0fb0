/** Names and addresses of ports: as planned from the document and, while it runs, as they are. */
import { create } from "zustand";
import { onPush } from "../connection";
import type { LivePort } from "../protocol";
import { useRunning } from "./running";

type Ports = Readonly<Record<string, LivePort>>;

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

/** The ports of a node, in the order of its links. */
export function portsOf(node: string, ports: Ports): LivePort[] {
  return Object.values(ports).filter((port) => port.node === node);
}

/** The addresses of a port, without IPv6 link-local ones, which every port has. */
export function addressesShown(port: LivePort | undefined): string {
  return (port?.addresses ?? []).filter((ip) => !ip.startsWith("fe80:")).join(" ");
}
