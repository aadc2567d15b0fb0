import { useState, type FormEvent } from "react";
import { Dialog } from "../layout/Dialog";
import { closeDialog } from "../layout/dialogs";
import { beginCapture, useCapture } from "./capture";

const FILTERS = ["tcp port 5201", "icmp", "arp", "udp", "host 10.0.0.1"];
const LENGTHS: readonly [number, string][] = [
  [0, "whole packets"],
  [96, "96 bytes (the headers)"],
  [256, "256 bytes"],
];

/** Choose which packets of a port to capture, and how many bytes of each. */
export function CaptureDialog() {
  const port = useCapture((state) => state.port);
  const [filter, setFilter] = useState("");
  const [snaplen, setSnaplen] = useState(0);
  const begin = async (event: FormEvent) => {
    event.preventDefault();
    if (await beginCapture(port, filter.trim(), snaplen)) closeDialog();
  };
  return (
    <Dialog title={`Capture packets at ${port}`} size="small" onClose={closeDialog}>
      <form className="breakpoint-form" onSubmit={(event) => void begin(event)}>
        <label>
          Filter
          <input
            autoFocus
            list="capture-filters"
            value={filter}
            spellCheck={false}
            placeholder="all packets"
            onChange={(event) => setFilter(event.target.value)}
          />
        </label>
        <datalist id="capture-filters">
          {FILTERS.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <p className="field-hint">in the syntax of tcpdump, for example: tcp port 5201</p>
        <label>
          Snap length
          <select value={snaplen} onChange={(event) => setSnaplen(Number(event.target.value))}>
            {LENGTHS.map(([bytes, title]) => (
              <option key={bytes} value={bytes}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" className="button button-first">
          Capture
        </button>
      </form>
    </Dialog>
  );
}
