/** The instant under the pointer, which charts, the timeline and lists of packets all mark. */
import { create } from "zustand";

export type HoverPlace = "chart" | "timeline" | "packets";

interface Hover {
  /** On the network's clock; null if the pointer is at no instant. */
  at_s: number | null;
  /** Where the pointer is. */
  from: HoverPlace | null;
}

export const useHover = create<Hover>(() => ({ at_s: null, from: null }));

export function hoverAt(at_s: number, from: HoverPlace): void {
  useHover.setState({ at_s, from });
}

/** Note that the pointer has left; another place may have it already. */
export function endHover(from: HoverPlace): void {
  if (useHover.getState().from === from) useHover.setState({ at_s: null, from: null });
}

/** The index of the last of some times, in order, at or before another; -1 if there is none. */
export function lastBefore(times_s: readonly number[], at_s: number): number {
  let [low, high] = [0, times_s.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times_s[middle]! <= at_s) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
