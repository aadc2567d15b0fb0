/** Follow what the running network measures, live or at the instant that one looks back to. */
import { branchInView, useBranches } from "./branches";
import { fetchRecorded, onSamples, tablesOf, watch, type Tables } from "./samples";
import type { WatchedSeries } from "../protocol";

const MIN_UPDATE_MS = 200;

/** Call `update` at once and whenever something of `series` changes. Returns what ends that. */
export function follow(owner: string, series: readonly WatchedSeries[], update: (tables: Tables) => void): () => void {
  watch(owner, series);
  let timer = 0;
  const request = () => {
    if (timer !== 0) return;
    timer = window.setTimeout(() => {
      timer = 0;
      update(tablesOf(branchInView(useBranches.getState())));
    }, MIN_UPDATE_MS);
  };
  const look = () => {
    const { shown } = useBranches.getState();
    if (shown !== null) void fetchRecorded(shown.branch, series).then(request);
    request();
  };
  look();
  const endings = [
    onSamples(request),
    useBranches.subscribe(({ shown }, before) => {
      if (shown !== before.shown) look();
    }),
  ];
  return () => {
    watch(owner, []);
    window.clearTimeout(timer);
    for (const end of endings) end();
  };
}
