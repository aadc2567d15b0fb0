/** Find the flows that pass an element of the network, which is then on their shortest path. */
import type { LivePort } from "../protocol";

/** A TCP flow, by the addresses of its two ends: "10.0.0.1:5201 > 10.0.0.3:41234". */
const FLOW = /^\[?(.+?)\]?:(\d+) > \[?(.+?)\]?:(\d+)$/;

export interface Ends {
  from: string;
  to: string;
}

/** The nodes that have the addresses of a flow; null if an address is not of this network. */
export function endsOf(flow: string, ports: readonly LivePort[]): Ends | null {
  const match = FLOW.exec(flow);
  if (!match) return null;
  const [from, to] = [nodeAt(match[1]!, ports), nodeAt(match[3]!, ports)];
  return from !== undefined && to !== undefined ? { from, to } : null;
}

/** The names of the ports that send and receive a flow; null if an address is not of this network. */
export function portsOfFlow(flow: string, ports: readonly LivePort[]): readonly [string, string] | null {
  const match = FLOW.exec(flow);
  if (!match) return null;
  const [from, to] = [portAt(match[1]!, ports)?.name, portAt(match[3]!, ports)?.name];
  return from !== undefined && to !== undefined ? [from, to] : null;
}

function nodeAt(address: string, ports: readonly LivePort[]): string | undefined {
  return portAt(address, ports)?.node;
}

function portAt(address: string, ports: readonly LivePort[]): LivePort | undefined {
  return ports.find((port) => port.addresses.some((one) => one.split("/")[0] === address));
}

/** "h1 → h3:5201" for each flow, with the sender's port only where it tells flows apart. */
export function flowTitles(
  flows: readonly string[],
  ports: readonly LivePort[],
  nameOf: (node: string) => string,
): string[] {
  const short = flows.map((flow) => flowTitle(flow, ports, nameOf, false));
  return flows.map((flow, index) =>
    short.indexOf(short[index]!) === short.lastIndexOf(short[index]!)
      ? short[index]!
      : flowTitle(flow, ports, nameOf, true),
  );
}

/** "h1:37236 → h3:5201"; addresses that no node has stay. */
function flowTitle(
  flow: string,
  ports: readonly LivePort[],
  nameOf: (node: string) => string,
  isLong: boolean,
): string {
  const match = FLOW.exec(flow);
  if (!match) return flow;
  const name = (address: string) => {
    const node = nodeAt(address, ports);
    return node === undefined ? address : nameOf(node);
  };
  return `${name(match[1]!)}${isLong ? `:${match[2]}` : ""} → ${name(match[3]!)}:${match[4]}`;
}

/** Whether a flow passes one of the elements: as an end, or on a shortest path between its ends. */
export function passes(ends: Ends, ids: ReadonlySet<string>, ports: readonly LivePort[]): boolean {
  if (ids.has(ends.from) || ids.has(ends.to)) return true;
  const links = linksOf(ports);
  const [near, far] = [distances(ends.from, links), distances(ends.to, links)];
  const length = near.get(ends.to);
  if (length === undefined) return false;
  const isOn = (steps: number, one: string, other: string) =>
    (near.get(one) ?? Infinity) + steps + (far.get(other) ?? Infinity) === length;
  for (const [id, [a, b]] of links) {
    if (ids.has(id) && (isOn(1, a, b) || isOn(1, b, a))) return true;
  }
  return [...ids].some((id) => near.has(id) && isOn(0, id, id));
}

type Links = ReadonlyMap<string, readonly [string, string]>;

function linksOf(ports: readonly LivePort[]): Links {
  const links = new Map<string, [string, string]>();
  for (const { link, end, node } of ports) {
    const pair = links.get(link) ?? ["", ""];
    pair[end === "a" ? 0 : 1] = node;
    links.set(link, pair);
  }
  return links;
}

/** How many links each node is away. */
function distances(from: string, links: Links): Map<string, number> {
  const neighbours = new Map<string, string[]>();
  for (const [a, b] of links.values()) {
    neighbours.set(a, [...(neighbours.get(a) ?? []), b]);
    neighbours.set(b, [...(neighbours.get(b) ?? []), a]);
  }
  const found = new Map([[from, 0]]);
  const waiting = [from];
  for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
    for (const next of neighbours.get(node) ?? []) {
      if (found.has(next)) continue;
      found.set(next, found.get(node)! + 1);
      waiting.push(next);
    }
  }
  return found;
}
