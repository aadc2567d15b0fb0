/** The canvas at the shown instant: ports, and links that were changed or unplugged later. The stores of
 *  the document and of the running network contain these while that instant is shown. */
import type { DocumentPush, DrawnLink, LivePort, SessionEvent } from "../protocol";
import { useBranches } from "./branches";
import { show, useDocument } from "./document";
import { showPast } from "./running";

export interface Past {
  links: readonly DrawnLink[];
  linksDown: ReadonlySet<string>;
  /** By link and end: "l1 a". */
  ports: Readonly<Record<string, LivePort>>;
}

/** The differences between an instant of a branch and the drawing. A link's state is that of its last
 *  change before the instant, or else the one that its first change afterwards replaced. `others` are the
 *  events of the drawn branch, if that is another one. */
export function pastAt(events: readonly SessionEvent[], at_ns: number, others: readonly SessionEvent[] = []): Past {
  const links = new Map<string, DrawnLink>();
  const ports = new Map<string, LivePort>();
  const linksDown = new Set<string>();
  const key = (port: LivePort) => `${port.link} ${port.end}`;
  for (const { link, before, port_before } of others) {
    if (before !== null && !links.has(link)) links.set(link, before);
    if (port_before !== null && !ports.has(key(port_before))) ports.set(key(port_before), port_before);
  }
  for (const event of events) {
    const isPast = event.at_ns <= at_ns;
    if (event.after !== null && isPast) links.set(event.link, event.after);
    else if (event.before !== null && !links.has(event.link)) links.set(event.link, event.before);
    if (event.port_after !== null && isPast) ports.set(key(event.port_after), event.port_after);
    else if (event.port_before !== null && !ports.has(key(event.port_before)))
      ports.set(key(event.port_before), event.port_before);
    if (event.up === true && isPast) linksDown.delete(event.link);
    else if (event.up === false && isPast) linksDown.add(event.link);
  }
  return { links: [...links.values()], linksDown, ports: Object.fromEntries(ports) };
}

function drawing(links: readonly DrawnLink[]): DocumentPush {
  const { revision, links: drawn } = useDocument.getState();
  const put = { nodes: [], links: links.filter((link) => link.id in drawn), labels: [], frames: [] };
  const changes = { put, drop: [], preferences: null };
  return { push: "document", revision, document: null, changes, by: "", label: "", undo: null, redo: null };
}

let hide: () => void = () => undefined;
/** The branch that is drawn: the live one, or the last live one. */
let drawn: string | null = null;

useBranches.subscribe(({ shown, events, live }, before) => {
  drawn = live ?? drawn;
  const isSame = shown === before.shown && live === before.live && (shown === null || events === before.events);
  if (isSame) return;
  const others = drawn === null || drawn === shown?.branch ? [] : (events[drawn] ?? []);
  const past = shown === null ? null : pastAt(events[shown.branch] ?? [], shown.at_ns, others);
  const hideBefore = hide;
  hide = past === null || past.links.length === 0 ? () => undefined : show(drawing(past.links));
  hideBefore();
  showPast(past);
});
