/** Type a command of a lesson into its terminal, which is opened if necessary. */

import { succeeds } from "../connection";
import { useDocument } from "../stores/document";
import { hasStarted, useRunning } from "../stores/running";
import { toast } from "../stores/toasts";
import { paneOf, terminalTab } from "../terminals/panes";
import { CLIENT, openTerminal, PROMPT, showTab, useTabs } from "../terminals/tabs";

const MININET = "mininet";
/** Commands that start a mininet> prompt in the terminal where they are typed. */
const STARTS_PROMPT = /^sudo mn\b(?!.*(?:-c\b|--clean|--test))/;

let ownPrompt: string | null = null;

/** Type a line; returns whether it was typed. `place`: client, mininet, or the name of a node. */
export async function typeFor(place: string, line: string): Promise<boolean> {
  if (!(await hasStarted())) {
    toast("warning", "the network is not running", "press Run first");
    return false;
  }
  const terminal = place === MININET ? await atPrompt() : await ofNode(place);
  if (terminal === null) return false;
  if (!(await succeeds({ do: "type", terminal, text: `${line}\n` }))) return false;
  if (place === CLIENT && STARTS_PROMPT.test(line)) ownPrompt = terminal;
  showTab(terminalTab(terminal));
  return true;
}

async function atPrompt(): Promise<string | null> {
  const { terminals } = useRunning.getState();
  const started = terminals.find((one) => one.id === ownPrompt && one.status === null && one.is_busy);
  if (started) return started.id;
  const prompt = terminals.find((one) => one.node === PROMPT && one.status === null);
  return prompt?.id ?? openTerminal(PROMPT);
}

async function ofNode(name: string): Promise<string | null> {
  const node = name === CLIENT ? CLIENT : Object.values(useDocument.getState().nodes).find((one) => one.name === name)?.id;
  if (node === undefined) {
    toast("warning", `this network has no ${name}`, "press Start to open the network of the lesson");
    return null;
  }
  const free = useRunning.getState().terminals.filter((one) => one.node === node && one.status === null && !one.is_busy);
  return (free.find((one) => isInFront(one.id)) ?? free[0])?.id ?? openTerminal(node);
}

function isInFront(id: string): boolean {
  const tab = terminalTab(id);
  return paneOf(useTabs.getState(), tab)?.front === tab;
}
