/** Which curves to draw: those of the selection, or of fixed ports. */

import type { LivePort, WatchedSeries, SeriesKind } from "../protocol";
import type { ById } from "../stores/document";
import type { DrawnLink, DrawnNode } from "../protocol";

const FLOW_KINDS: readonly SeriesKind[] = ["cwnd", "rtt"];

/** The ports of the selection; all ports if nothing is selected. */
export function portsOf(selected: ReadonlySet<string>, ports: readonly LivePort[]): LivePort[] {
  if (!selected.size) return [...ports];
  const ofSelection = ports.filter((port) => selected.has(port.link) || selected.has(port.node));
  return ofSelection.length ? ofSelection : [...ports];
}

/** The port that is offered for a capture: the chosen one if the network has it, or the first of the selection. */
export function portToCapture(chosen: string, selected: ReadonlySet<string>, ports: readonly LivePort[]): string {
  return ports.some(({ name }) => name === chosen) ? chosen : (portsOf(selected, ports)[0]?.name ?? "");
}

/** The series of these ports, or of the nodes that have them, by name. Flows belong to no port, so all hosts' flows
 *  are watched and filtered by path. */
export function seriesOf(
  kinds: readonly SeriesKind[],
  ports: readonly LivePort[],
  nodes: readonly string[],
): WatchedSeries[] {
  return kinds.flatMap((kind) => {
    if (FLOW_KINDS.includes(kind)) return [{ kind, port: "" }];
    const names = kind === "load" ? [...new Set(nodes)] : ports.map(({ name }) => name);
    return names.map((port) => ({ kind, port }));
  });
}

/** Whether a quantity belongs to flows, not to ports. */
export function isOfFlows(kind: SeriesKind): boolean {
  return FLOW_KINDS.includes(kind);
}

/** The names of the selected elements. */
export function namesOf(selected: ReadonlySet<string>, nodes: ById<DrawnNode>, links: ById<DrawnLink>): string {
  const names = [...selected].flatMap((id) => {
    const link = links[id];
    if (nodes[id]) return [nodes[id].name];
    return link ? [`${nodes[link.a]?.name ?? "?"}–${nodes[link.b]?.name ?? "?"}`] : [];
  });
  if (!names.length) return "all ports";
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}
