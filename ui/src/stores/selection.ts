/** The selection on the canvas: ids of nodes, links, labels and frames. Charts follow it, too. */
import { create } from "zustand";

interface Selection {
  ids: ReadonlySet<string>;
}

export const useSelection = create<Selection>(() => ({ ids: new Set() }));

export function select(ids: Iterable<string>): void {
  useSelection.setState({ ids: new Set(ids) });
}

export function isSelected(id: string): boolean {
  return useSelection.getState().ids.has(id);
}
