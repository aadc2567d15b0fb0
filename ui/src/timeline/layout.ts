/** Positions on the timeline. All functions are pure; x is in pixels. */
import type { BranchInfo, SessionEvent } from "../protocol";

export const MARGIN = 12;
export interface Scale {
  width: number;
  /** The time at the right margin. */
  end_ns: number;
}

export function xOf(at_ns: number, { width, end_ns }: Scale): number {
  return MARGIN + (at_ns / end_ns) * (width - 2 * MARGIN);
}

export function instantAt(x: number, { width, end_ns }: Scale): number {
  const part = (x - MARGIN) / Math.max(1, width - 2 * MARGIN);
  return Math.round(Math.min(Math.max(part, 0), 1) * end_ns);
}

const MIN_TICK_PX = 70;
const NICE = [1, 2, 5];

/** The distance of labelled ticks: 1, 2 or 5 times a power of ten, from a minute on whole minutes. */
export function tickNs({ width, end_ns }: Scale): number {
  const wanted = (end_ns / Math.max(1, width - 2 * MARGIN)) * MIN_TICK_PX;
  if (wanted > 30e9) {
    const minutes = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600].find((one) => one * 60e9 >= wanted);
    return (minutes ?? 1440) * 60e9;
  }
  for (let power = 1e3; ; power *= 10) for (const nice of NICE) if (nice * power >= wanted) return nice * power;
}

export function ticksOf(scale: Scale): number[] {
  const step = tickNs(scale);
  const ticks: number[] = [];
  for (let at = 0; at <= scale.end_ns; at += step) ticks.push(at);
  return ticks;
}

/** How far an arrow key moves: a round fraction of the session, at least a millisecond. */
export function stepNs(end_ns: number): number {
  const wanted = end_ns / 250;
  for (let power = 1e6; ; power *= 10) for (const nice of NICE) if (nice * power >= wanted) return nice * power;
}

/** The events that are drawn and that keys go to: those with a description. */
export function isShown(event: SessionEvent): boolean {
  return event.kind === "drop" || event.text !== "";
}

/** Whether a command has failed: one that was ended with Ctrl-C has not, whatever its status. */
export function isFailed({ status, is_interrupted }: SessionEvent): boolean {
  return !is_interrupted && status !== null && status !== 0;
}

/** Describe an event in one line. */
export function eventText(event: SessionEvent): string {
  switch (event.kind) {
    case "command":
      return `${event.where}: ${event.text}${isFailed(event) ? ` (status ${event.status})` : event.is_interrupted ? " (Ctrl-C)" : ""}`;
    case "drop":
      return `${event.count > 0 ? event.count : "some"} ${event.count === 1 ? "packet" : "packets"} dropped at ${event.where}`;
    case "breakpoint":
      return `paused: ${event.text}`;
    default:
      return event.text;
  }
}

/** The next event after an instant, or the last before it. */
export function neighbour(events: readonly SessionEvent[], at_ns: number, way: 1 | -1): SessionEvent | undefined {
  const shown = events.filter(isShown);
  return way > 0 ? shown.find((event) => event.at_ns > at_ns) : shown.findLast((event) => event.at_ns < at_ns);
}

/** Describe the last event at or before an instant; "" if there is none. */
export function lastText(events: readonly SessionEvent[], at_ns: number): string {
  const shown = events.filter(isShown);
  const last = shown.findLast((event) => event.at_ns <= at_ns);
  return shown
    .filter((event) => event.at_ns === last?.at_ns)
    .map(eventText)
    .join("; ");
}

export interface Bar {
  event: SessionEvent;
  row: number;
  x: number;
  width: number;
}

/** Commands as bars. Terminals share a row as long as none of their bars cover one another. Commands that
 *  begin at the same pixel of a row share a bar. */
export function barsOf(events: readonly SessionEvent[], scale: Scale, end_ns: number): { bars: Bar[]; rows: number } {
  const byTerminal = new Map<string, Omit<Bar, "row">[]>();
  for (const event of events) {
    if (event.kind !== "command") continue;
    const x = xOf(event.at_ns, scale);
    const width = Math.max(3, xOf(event.until_ns ?? end_ns, scale) - x);
    const own = byTerminal.get(event.terminal) ?? [];
    byTerminal.set(event.terminal, own);
    const before = own.at(-1);
    if (before && Math.round(before.x) === Math.round(x) && Math.round(before.width) === Math.round(width)) continue;
    own.push({ event, x, width });
  }
  const rows: Omit<Bar, "row">[][] = [];
  const bars: Bar[] = [];
  for (const own of byTerminal.values()) {
    const covers = (one: Omit<Bar, "row">, other: Omit<Bar, "row">) =>
      one.x < other.x + other.width && other.x < one.x + one.width;
    const found = rows.findIndex((taken) => !taken.some((one) => own.some((other) => covers(one, other))));
    const row = found < 0 ? rows.length : found;
    rows[row] = [...(rows[row] ?? []), ...own];
    bars.push(...own.map((bar) => ({ ...bar, row })));
  }
  bars.sort((one, other) => one.event.number - other.event.number);
  return { bars, rows: Math.max(1, rows.length) };
}

/** Events of the other kinds, at most one of a kind at a pixel. */
export function marksOf(
  events: readonly SessionEvent[],
  scale: Scale,
): { event: SessionEvent; x: number; end: number }[] {
  const drawn = new Set<string>();
  return events.filter(isShown).flatMap((event) => {
    if (event.kind === "command") return [];
    const [x, end] = [xOf(event.at_ns, scale), xOf(event.until_ns ?? event.at_ns, scale)];
    const place = `${event.kind} ${Math.round(x / 2)} ${Math.round(end / 2)}`;
    if (drawn.has(place)) return [];
    drawn.add(place);
    return [{ event, x, end }];
  });
}

/** "branch 2 left original at 2.1 s; h1-s1: queue fq_codel" */
export function branchTitle(
  branch: BranchInfo,
  branches: readonly BranchInfo[],
  time: (at_ns: number) => string,
): string {
  if (branch.parent === null) return branch.name;
  const parent = branches.find(({ id }) => id === branch.parent)?.name ?? "a removed branch";
  const folder = branch.folder ? `. Its files are in ${branch.folder}` : "";
  return `${branch.name} left ${parent} at ${time(branch.left_ns)}${branch.changed ? `; changed: ${branch.changed}` : ""}${folder}`;
}
