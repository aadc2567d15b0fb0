/** Type a command of a lesson into its terminal, which is opened if necessary. */

import { succeeds } from "../connection";
import { useDocument } from "../stores/document";
import { hasStarted, useRunning } from "../stores/running";
import { toast } from "../stores/toasts";
import { paneOf, terminalTab } from "../terminals/panes";
import { CLIENT, openTerminal, PROMPT, showTab, useTabs } from "../terminals/tabs";

const MININET = "mininet";
/** Type a line; returns whether it was typed. `place`: client, mininet, or the name of a node. */
export async function typeFor(place: string, line: string): Promise<boolean> {
  if (!(await hasStarted())) {
    toast("warning", "the network is not running", "press Run first");
    return false;
  }
  const terminal = place === MININET ? await atPrompt() : await ofNode(place);
  if (terminal === null) return false;
  if (!(await succeeds({ do: "type", terminal, text: `${line}\n` }))) return false;
  showTab(terminalTab(terminal));
  return true;
}

async function atPrompt(): Promise<string | null> {
  // This can be a prompt of `sudo mn`, which belongs to another network than the canvas.
  const prompts = useRunning.getState().terminals.filter((one) => one.at_mininet && one.status === null);
  const started = prompts.find((one) => one.node !== PROMPT) ?? prompts[0];
  return started?.id ?? openTerminal(PROMPT);
}

async function ofNode(name: string): Promise<string | null> {
  const node =
    name === CLIENT ? CLIENT : Object.values(useDocument.getState().nodes).find((one) => one.name === name)?.id;
  if (node === undefined) {
    toast("warning", `this network has no ${name}`, "press Start to open the network of the lesson");
    return null;
  }
  const free = useRunning
    .getState()
    .terminals.filter((one) => one.node === node && one.status === null && !one.is_busy && !one.at_mininet);
  return (free.find((one) => isInFront(one.id)) ?? free[0])?.id ?? openTerminal(node);
}

function isInFront(id: string): boolean {
  const tab = terminalTab(id);
  return paneOf(useTabs.getState(), tab)?.front === tab;
}
