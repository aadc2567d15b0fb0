/** Follow the processors of the running network. */
import { useEffect } from "react";
import { branchInView, useBranches } from "./branches";
import { loadsAt, useLoads } from "./loads";
import { fetchRecorded, onSamples, tablesOf, watch } from "./samples";
import { useRunning } from "./running";
import { useView } from "./view";

const SERIES = [{ kind: "load" as const, port: "" }];
const MIN_UPDATE_MS = 200;

/** Watch the processors of all nodes while the network runs and its traffic is shown. */
export function useWatchedLoads(): void {
  const isWanted = useView((state) => state.showsTraffic);
  const isUp = useRunning((state) => state.run.phase === "running");
  useEffect(() => {
    if (!isWanted || !isUp) {
      useLoads.setState({ loads: {} });
      return undefined;
    }
    watch("loads", SERIES);
    let timer = 0;
    const update = () => {
      timer = 0;
      const { shown, live, branches } = useBranches.getState();
      const { load } = tablesOf(branchInView({ shown, live, branches }));
      useLoads.setState({ loads: loadsAt(load, shown === null ? Infinity : shown.at_ns / 1e9) });
    };
    const request = () => {
      if (timer === 0) timer = window.setTimeout(update, MIN_UPDATE_MS);
    };
    request();
    const endings = [
      onSamples(request),
      useBranches.subscribe(({ shown }, before) => {
        if (shown === before.shown) return;
        if (shown !== null) void fetchRecorded(shown.branch, SERIES).then(request);
        request();
      }),
    ];
    return () => {
      watch("loads", []);
      window.clearTimeout(timer);
      for (const end of endings) end();
    };
  }, [isWanted, isUp]);
}
