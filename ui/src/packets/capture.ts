/** Start and stop captures of the packets of a port. */
import { create } from "zustand";
import { perform } from "../connection";
import { showDialog } from "../layout/dialogs";
import { toast } from "../stores/toasts";
import { openFile } from "../terminals/tabs";

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

export async function endCapture(port: string): Promise<void> {
  const capture = await perform({ do: "capture", port, on: false });
  if (capture !== null) toast("good", `Saved the packets of ${port} in ${capture.path}`);
}
