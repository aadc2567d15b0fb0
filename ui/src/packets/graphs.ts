/** Which captures are shown as a time-sequence graph, and of which flow. */
import { create } from "zustand";

/** The flow by the path of the file: "10.0.0.1:40000 > 10.0.0.2:5201"; "" for the largest. */
export const useGraphs = create<{ flows: Readonly<Record<string, string>> }>(() => ({ flows: {} }));

export function showGraph(path: string, flow: string): void {
  useGraphs.setState(({ flows }) => ({ flows: { ...flows, [path]: flow } }));
}

export function showList(path: string): void {
  useGraphs.setState(({ flows }) => ({
    flows: Object.fromEntries(Object.entries(flows).filter(([other]) => other !== path)),
  }));
}
