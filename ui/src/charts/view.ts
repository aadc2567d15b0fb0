/** The content of charts: the shown branch up to the shown instant, and a branch to compare. */
import { branchInView, branchOf, useBranches } from "../stores/branches";
import { tablesOf, type Tables } from "../stores/samples";

export interface ChartView {
  tables: Tables;
  /** Samples after this are not drawn. */
  until_s: number;
  compared: { tables: Tables; name: string } | null;
}

export function chartView(): ChartView {
  const state = useBranches.getState();
  const branch = branchInView(state);
  const other = state.compared === branch ? undefined : branchOf(state.compared);
  return {
    tables: tablesOf(branch),
    until_s: state.shown === null ? Infinity : state.shown.at_ns / 1e9,
    compared: other === undefined ? null : { tables: tablesOf(other.id), name: other.name },
  };
}

/** The branches whose samples are drawn and may have to be fetched. */
export function branchesDrawn(): readonly string[] {
  const state = useBranches.getState();
  return [...new Set([branchInView(state), state.compared])].filter((id) => id !== null);
}
