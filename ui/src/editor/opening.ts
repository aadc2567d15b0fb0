/** The action of a double click or Enter on a node. */
import { useDocument } from "../stores/document";
import { isRunning } from "../stores/running";
import { select } from "../stores/selection";
import { openTerminal } from "../terminals/tabs";
import { openProperties } from "./problems";

/** Open a terminal while the network runs, the properties otherwise. */
export function openNode(id: string): void {
  select([id]);
  const kind = useDocument.getState().nodes[id]?.kind;
  if (isRunning() && (kind === "host" || kind === "router")) void openTerminal(id);
  else openProperties();
}
