/** Which curves are wanted: those of what is selected, or of the ports that one has fixed. */

import type { LivePort, WatchedSeries, SeriesKind } from "../protocol";
import type { ById } from "../stores/document";
import type { DrawnLink, DrawnNode } from "../protocol";

const OF_FLOWS: readonly SeriesKind[] = ["cwnd", "rtt"];

/** Ports of what is selected; of everything where nothing is. */
export function portsOf(selected: ReadonlySet<string>, ports: readonly LivePort[]): LivePort[] {
  if (!selected.size) return [...ports];
  const own = ports.filter((port) => selected.has(port.link) || selected.has(port.node));
  return own.length ? own : [...ports];
}

/** Series of those ports. Windows and round-trip times are of flows, which end at hosts: where no host
 *  is among the ports, those of all hosts. */
export function seriesOf(
  kinds: readonly SeriesKind[],
  ports: readonly LivePort[],
  isHost: (node: string) => boolean,
): WatchedSeries[] {
  const atHosts = ports.filter((port) => isHost(port.node));
  return kinds.flatMap((kind) => {
    if (!OF_FLOWS.includes(kind)) return ports.map((port) => ({ kind, port: port.name }));
    if (!atHosts.length) return [{ kind, port: "" }];
    return atHosts.map((port) => ({ kind, port: port.name }));
  });
}

/** What the selection is called. */
export function namesOf(selected: ReadonlySet<string>, nodes: ById<DrawnNode>, links: ById<DrawnLink>): string {
  const names = [...selected].flatMap((id) => {
    const link = links[id];
    if (nodes[id]) return [nodes[id].name];
    return link ? [`${nodes[link.a]?.name ?? "?"}–${nodes[link.b]?.name ?? "?"}`] : [];
  });
  if (!names.length) return "all ports";
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}
