import { useEffect, useState } from "react";
import { useRunning } from "../stores/running";
import { useSelection } from "../stores/selection";
import { portToCapture } from "./chosen";
import { askCapture, endCapture } from "../packets/capture";

/** Starts and stops capturing the packets of a port. */
export function CaptureTool() {
  const ports = useRunning((state) => state.run.ports);
  const captures = useRunning((state) => state.captures);
  const isRunning = useRunning((state) => state.run.phase === "running");
  const selected = useSelection((state) => state.ids);
  // The port that was chosen last, here or by selecting its link or node on the canvas.
  const [chosen, setChosen] = useState("");
  const first = portToCapture("", selected, ports);
  useEffect(() => setChosen(first), [first]);
  const port = portToCapture(chosen, selected, ports);
  const isOn = captures.includes(port);

  const toggle = () => (isOn ? void endCapture(port) : askCapture(port));
  const names = ports.map(({ name }) => name).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return (
    <span className="record-tool">
      <button
        type="button"
        className={`icon-button ${isOn ? "recording" : ""}`}
        disabled={!isRunning || !port}
        aria-pressed={isOn}
        title={
          isOn ? `Stop capturing packets at ${port}` : "Capture the packets of a port to a file in the working folder"
        }
        onClick={toggle}
      >
        {isOn ? "■ Stop capturing" : "Capture…"}
      </button>
      <select
        aria-label="Port to capture"
        value={port}
        disabled={!isRunning || !port}
        onChange={(event) => setChosen(event.target.value)}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {captures.includes(name) ? `${name} ●` : name}
          </option>
        ))}
      </select>
    </span>
  );
}
