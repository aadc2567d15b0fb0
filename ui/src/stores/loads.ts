/** How busy the processors of the running network are, for the fill of the nodes on the canvas. */
import { create } from "zustand";
import type { Table } from "./samples";

/** By the name of a node: how much of the last interval its busiest core worked, in percent. Nodes whose computing
 *  takes no time are not here. */
export type Loads = Readonly<Record<string, number>>;

export const useLoads = create<{ loads: Loads }>(() => ({ loads: {} }));

/** The last loads at or before a time. */
export function loadsAt({ times_s, columns }: Table, time_s: number): Loads {
  const row = times_s.findLastIndex((one) => one <= time_s);
  const now = [...columns.values()].map(({ port, values }) => [port, values[row] ?? null] as const);
  return Object.fromEntries(now.filter((entry): entry is [string, number] => entry[1] !== null));
}
