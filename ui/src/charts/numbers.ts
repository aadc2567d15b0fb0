/** The numbers of two branches as rows of a table. */
import type { BranchNumbers, SeriesKind } from "../protocol";
import { valueText } from "./units";

export interface NumberRow {
  title: string;
  values: readonly string[];
}

const WORDS: Readonly<Record<SeriesKind, string>> = {
  throughput: "throughput",
  queue: "queue",
  cwnd: "cwnd",
  rtt: "RTT",
  drops: "drops",
  load: "busiest core",
};
const MAX_ROWS = 24;

/** "queue of s1-eth2, mean" with the values of each branch. `flowTitle` names the flow of an entry. */
export function numberRows(numbers: readonly BranchNumbers[], flowTitle: (index: number) => string): NumberRow[] {
  const rows = numbers.flatMap(({ kind, port, flow, unit, means, highest }, index) => {
    const of = flow === "" ? port : flowTitle(index);
    const row = (what: string, values: readonly (number | null)[]) => ({
      title: `${WORDS[kind]} ${of}${what}`,
      values: values.map((value) => valueText(value, unit)),
    });
    if (kind === "drops") return [row("", highest)];
    if (kind === "throughput") return [row(", mean", means)];
    return [row(", mean", means), row(", highest", highest)];
  });
  return rows.slice(0, MAX_ROWS);
}
