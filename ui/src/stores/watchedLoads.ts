/** Follow the processors of the running network. */
import { useEffect } from "react";
import { useBranches } from "./branches";
import { follow } from "./following";
import { loadsAt, useLoads } from "./loads";
import { useRunning } from "./running";
import { useView } from "./view";

const SERIES = [{ kind: "load" as const, port: "" }];

/** Watch the processors of all nodes while the network runs and its traffic is shown. */
export function useWatchedLoads(): void {
  const isWanted = useView((state) => state.showsTraffic);
  const isUp = useRunning((state) => state.run.phase === "running");
  useEffect(() => {
    if (!isWanted || !isUp) {
      useLoads.setState({ loads: {} });
      return undefined;
    }
    return follow("loads", SERIES, ({ load }) => {
      const { shown } = useBranches.getState();
      useLoads.setState({ loads: loadsAt(load, shown === null ? Infinity : shown.at_ns / 1e9) });
    });
  }, [isWanted, isUp]);
}
