/** What the terminals of a branch have shown, as the server has recorded it. */
import type { RecordedTerminal } from "../protocol";
import { useBranches, type Instant } from "../stores/branches";
import { useRunning } from "../stores/running";

interface Fetched {
  /** All output up to this instant is known. */
  until_ns: number;
  terminals: Promise<readonly RecordedTerminal[]>;
}

const fetched = new Map<string, Fetched>();

useBranches.subscribe(({ live }, before) => {
  if (live !== before.live) fetched.clear();
});

/** The recordings of a branch's terminals up to an instant. */
export function recordsOf({ branch, at_ns }: Instant): Promise<readonly RecordedTerminal[]> {
  const known = fetched.get(branch);
  if (known !== undefined && known.until_ns >= at_ns) return known.terminals;
  const isLive = useBranches.getState().live === branch;
  const until_ns = isLive ? useRunning.getState().clock.now_ns : Infinity;
  const terminals = fetchRecords(branch);
  fetched.set(branch, { until_ns, terminals });
  return terminals;
}

async function fetchRecords(branch: string): Promise<readonly RecordedTerminal[]> {
  const response = await fetch(`api/branches/${encodeURIComponent(branch)}/terminals`, { cache: "no-store" });
  return response.ok ? ((await response.json()) as readonly RecordedTerminal[]) : [];
}

/** Whether a terminal was open at an instant. */
export function isOpenAt({ opened_ns, closed_ns }: RecordedTerminal, at_ns: number): boolean {
  return opened_ns <= at_ns && (closed_ns === null || closed_ns > at_ns);
}
