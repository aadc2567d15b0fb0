/** The session's branches, their events, and the shown instant and branch.
 *
 *      useBranches((state) => state.shown)     null: the network as it is now
 *      showInstant("b1", 2.5e9)                look at an earlier instant, from what was recorded
 *      showNow()
 */
import { create } from "zustand";
import { onPush } from "../connection";
import type { BranchesPush, BranchInfo, SessionEvent } from "../protocol";
import { useRunning } from "./running";

export interface Instant {
  branch: string;
  at_ns: number;
}

interface Branches extends Pick<BranchesPush, "branches" | "live" | "replay" | "playback" | "refusal"> {
  /** Events by branch, in the order of their instants. */
  events: Readonly<Record<string, readonly SessionEvent[]>>;
  shown: Instant | null;
  /** The branch whose curves are drawn beside those of the shown one. */
  compared: string | null;
}

export const useBranches = create<Branches>(() => ({
  branches: [],
  live: null,
  replay: null,
  playback: null,
  refusal: "",
  events: {},
  shown: null,
  compared: null,
}));

export function branchOf(id: string | null): BranchInfo | undefined {
  return useBranches.getState().branches.find((branch) => branch.id === id);
}

/** The last instant of a branch. */
export function endOf(branch: BranchInfo, live: string | null, now_ns: number): number {
  return branch.id === live ? now_ns : branch.end_ns;
}

/** The branch on the page: the one chosen, the live one, or after Stop the last one. */
export function branchInView({ shown, live, branches }: Pick<Branches, "shown" | "live" | "branches">): string | null {
  return shown?.branch ?? live ?? branches.at(-1)?.id ?? null;
}

export function showInstant(branch: string, at_ns: number): void {
  const info = branchOf(branch);
  if (info === undefined) return;
  const { live } = useBranches.getState();
  const end_ns = endOf(info, live, useRunning.getState().clock.now_ns);
  useBranches.setState({ shown: { branch, at_ns: Math.round(Math.min(Math.max(at_ns, 0), end_ns)) } });
}

/** Show a branch: the live one as it is now, another one at its end. */
export function showBranch(id: string): void {
  const info = branchOf(id);
  if (info === undefined) return;
  if (id === useBranches.getState().live) showNow();
  else showInstant(id, info.end_ns);
}

export function showNow(): void {
  useBranches.setState({ shown: null });
}

export function compareWith(compared: string | null): void {
  useBranches.setState({ compared });
}

/** Events after some of them were sent again. */
export function mergedEvents(
  before: readonly SessionEvent[],
  changed: readonly SessionEvent[],
): readonly SessionEvent[] {
  const all = new Map(before.map((event) => [event.number, event]));
  for (const event of changed) all.set(event.number, event);
  return [...all.values()].sort((a, b) => a.at_ns - b.at_ns || a.number - b.number);
}

async function fetchEvents(branch: string): Promise<void> {
  const response = await fetch(`api/branches/${encodeURIComponent(branch)}/events`, { cache: "no-store" });
  if (!response.ok) return;
  const fetched = (await response.json()) as SessionEvent[];
  useBranches.setState(({ events }) => ({
    events: { ...events, [branch]: mergedEvents(events[branch] ?? [], fetched) },
  }));
}

onPush("branches", ({ branches, live, replay, playback, refusal }) => {
  const known = new Set(branches.map(({ id }) => id));
  const before = useBranches.getState();
  // A new session has one branch, with the same id as the first branch of the last session.
  const isNew =
    branches.length === 1 &&
    live === null &&
    before.live === null &&
    useRunning.getState().run.phase !== "running" &&
    branches[0]?.end_ns === 0;
  useBranches.setState(({ events, shown, compared }) => ({
    branches,
    live,
    replay,
    playback,
    refusal,
    events: isNew ? {} : Object.fromEntries(Object.entries(events).filter(([id]) => known.has(id))),
    shown: isNew || shown === null || !known.has(shown.branch) ? null : shown,
    compared: isNew || compared === null || !known.has(compared) ? null : compared,
  }));
  const { events } = useBranches.getState();
  for (const { id } of branches) if (events[id] === undefined) void fetchEvents(id);
});
onPush("events", ({ branch, events: changed }) =>
  useBranches.setState(({ events }) => ({
    events: { ...events, [branch]: mergedEvents(events[branch] ?? [], changed) },
  })),
);
// After a reconnection, events may have been missed.
onPush("state", () => useBranches.setState({ events: {} }));
