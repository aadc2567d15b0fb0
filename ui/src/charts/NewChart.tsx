import { useRunning } from "../stores/running";
import { useSelection } from "../stores/selection";
import { portsOf } from "./chosen";
import { openChart } from "./tabs";

/** The button that opens a chart of the selection's ports beside the terminals. */
export function NewChart() {
  const ports = useRunning((state) => state.run.ports);
  const isRunning = useRunning((state) => state.run.phase === "running");
  const open = () => {
    const { ids } = useSelection.getState();
    const isChosen = ports.some(({ link, node }) => ids.has(link) || ids.has(node));
    openChart({
      kinds: ["throughput", "queue"],
      ports: isChosen ? portsOf(ids, ports).map(({ name }) => name) : null,
      flows: null,
    });
  };
  return (
    <button
      type="button"
      className="icon-button"
      disabled={!isRunning}
      title="Open a chart of the selection beside the terminals"
      onClick={open}
    >
      + Chart
    </button>
  );
}
