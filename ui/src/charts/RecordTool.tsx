import { useState, type FormEvent } from "react";
import { perform } from "../connection";
import { useRunning } from "../stores/running";
import { useCharts } from "./state";

/** Starts and stops a recording. */
export function RecordTool() {
  const recording = useRunning((state) => state.records.recording);
  const isRunning = useRunning((state) => state.run.phase === "running");
  const [name, setName] = useState("");

  if (recording !== null) {
    return (
      <button
        type="button"
        className="icon-button recording"
        title="Stop recording, and save the record in the working folder"
        onClick={() => void perform({ do: "record", on: false })}
      >
        ■ Stop recording {recording}
      </button>
    );
  }
  const begin = (event: FormEvent) => {
    event.preventDefault();
    void perform({ do: "record", on: true, name });
    useCharts.setState({ showsRecords: false });
  };
  return (
    <form className="record-tool" onSubmit={begin}>
      <button
        type="submit"
        className="icon-button"
        disabled={!isRunning}
        title="Record all ports, queues and flows, to view and compare later"
      >
        ● Record
      </button>
      <input
        aria-label="Record name"
        placeholder="name"
        size={9}
        value={name}
        disabled={!isRunning}
        onChange={(event) => setName(event.target.value)}
      />
    </form>
  );
}
