/** The dock's tabs as they are now: what the server says of terminals, and what one has opened.
 *
 *      await openTerminal("client" | "prompt" | id of a node)      a new one, in front; its id
 *      openFile("results/RTT.pdf")                                 of the working folder, in a tab
 */

import { create } from "zustand";
import { onPush, perform } from "../connection";
import type { TerminalInfo } from "../protocol";
import { useRunning } from "../stores/running";
import { showDock } from "../stores/view";
import * as panes from "./panes";
import type { TabId } from "./panes";

interface Tabs extends panes.Panes {
  known: Readonly<Record<string, TerminalInfo>>;
  /** The tab that is to have the focus as soon as it is there. */
  wantsFocus: TabId | null;
}

export const useTabs = create<Tabs>(() => ({
  ...panes.NO_PANES,
  known: {},
  wantsFocus: null,
}));

export const CLIENT = "client";
export const PROMPT = "prompt";

/** Opens a terminal and brings it to the front; its id, or null where that was refused. With a command,
 *  that runs there instead of a shell. */
export async function openTerminal(node: string, command?: string): Promise<string | null> {
  showDock("terminals");
  const opened = await perform({ do: "terminal", node, ...(command ? { command } : {}) });
  if (opened === null) return null;
  showTab(panes.terminalTab(opened.terminal));
  return opened.terminal;
}

export function openFile(path: string): void {
  showTab(panes.fileTab(path));
}

/** To the front, with the focus. */
export function showTab(tab: TabId): void {
  showDock("terminals");
  useTabs.setState((state) => ({ ...panes.show(state, tab), wantsFocus: tab }));
}

export function closeTab(tab: TabId): void {
  const { kind, name } = panes.subject(tab);
  const { known } = useTabs.getState();
  useTabs.setState((state) => panes.close(state, tab));
  if (kind === "terminal" && known[name]) {
    void perform({ do: "close_terminal", terminal: name });
  }
}

export function rearrange(how: (state: panes.Panes) => panes.Panes): void {
  useTabs.setState((state) => how(state));
}

/** New ones stand behind what is in front; those that have been closed, here or elsewhere, go. */
function takeTerminals(terminals: readonly TerminalInfo[]): void {
  useTabs.setState((state) => {
    const known = Object.fromEntries(terminals.map((one) => [one.id, one]));
    const here = Object.keys(known).map(panes.terminalTab);
    const before = Object.keys(state.known).map(panes.terminalTab);
    const left = before.filter((tab) => !here.includes(tab)).reduce<panes.Panes>(panes.close, state);
    const added = here.filter((tab) => !before.includes(tab)).reduce<panes.Panes>(panes.add, left);
    return { ...added, known };
  });
}

takeTerminals(useRunning.getState().terminals);
onPush("terminals", ({ terminals }) => takeTerminals(terminals));
// `xdg-open FILE` in a terminal.
onPush("show", ({ path }) => openFile(path));
