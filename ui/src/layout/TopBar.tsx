import type { ReactNode } from "react";
import { perform, useConnection } from "../connection";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";

/** The bar at the top: file, run and stop, clock. */
export function TopBar({ clock }: { clock: ReactNode }) {
  const status = useConnection((state) => state.status);
  const { fileName, isSaved } = useDocument();
  const phase = useRunning((state) => state.run.phase);
  return (
    <header className="top-bar">
      <strong>wanlab</strong>
      <span>
        {fileName}
        {!isSaved && " •"}
      </span>
      <button type="button" disabled={phase !== "stopped"} onClick={() => void perform({ do: "run" })}>
        Run
      </button>
      <button type="button" disabled={phase !== "running"} onClick={() => void perform({ do: "stop" })}>
        Stop
      </button>
      {clock}
      <span className="bar-end">{status}</span>
    </header>
  );
}
