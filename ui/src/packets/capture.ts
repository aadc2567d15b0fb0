/** Start and stop captures of the packets of a port. */
import { create } from "zustand";
import { perform } from "../connection";
import { showDialog } from "../layout/dialogs";
import { toast } from "../stores/toasts";
import { openFile } from "../terminals/tabs";
import { showGraph } from "./graphs";

/** The port that the dialog asks about. */
export const useCapture = create<{ port: string }>(() => ({ port: "" }));

/** Ask for filter and snap length, then capture. */
export function askCapture(port: string): void {
  useCapture.setState({ port });
  showDialog("capture");
}

/** Begin a capture and show its packets; returns whether it has begun. */
export async function beginCapture(port: string, filter: string, snaplen: number): Promise<boolean> {
  const capture = await perform({ do: "capture", port, on: true, filter, snaplen });
  if (capture === null) return false;
  openFile(capture.path);
  return true;
}

/** Of each packet of a flow: its headers, with all options of TCP. */
const HEADER_BYTES = 128;

/** Begin a capture at both ends of a flow and draw its time sequence. */
export async function captureFlow([sender, receiver]: readonly [string, string], flow: string): Promise<void> {
  const capture = await perform({ do: "capture", port: sender, arrival: receiver, on: true, snaplen: HEADER_BYTES });
  if (capture !== null) openGraph(capture.path, flow);
}

/** Show the time sequence of a flow in a capture file. */
export function openGraph(path: string, flow: string): void {
  showGraph(path, flow);
  openFile(path);
}

export async function endCapture(port: string): Promise<void> {
  const capture = await perform({ do: "capture", port, on: false });
  if (capture !== null) toast("good", `Saved the packets of ${port} in ${capture.path}`);
}
