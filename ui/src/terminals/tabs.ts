/** The dock's tabs as they are now: what the server says of terminals, and what one has opened.
 *
 *      await openTerminal("client" | "prompt" | id of a node)      a new one, in front; its id
 *      openFile("results/RTT.pdf")                                 of the working folder, in a tab
 */

import { create } from "zustand";
import { onPush, perform } from "../connection";
import type { Terminal } from "../protocol";
import { useRunning } from "../stores/running";
import { showDock } from "../stores/view";
import * as panes from "./panes";
import type { TabId } from "./panes";

interface Tabs extends panes.Panes {
  /** What is known of each terminal, also of those that have gone with their network. */
  known: Readonly<Record<string, Terminal>>;
  gone: ReadonlySet<string>;
  /** The tab that is to have the focus as soon as it is there. */
  wantsFocus: TabId | null;
}

export const useTabs = create<Tabs>(() => ({
  ...panes.NO_PANES,
  known: {},
  gone: new Set(),
  wantsFocus: null,
}));

export const CLIENT = "client";
export const PROMPT = "prompt";

/** Opens a terminal and brings it to the front; its id, or null where that was refused. */
export async function openTerminal(node: string): Promise<string | null> {
  showDock("terminals");
  const opened = await perform({ do: "terminal", node });
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
  const { known, gone } = useTabs.getState();
  useTabs.setState((state) => panes.close(state, tab));
  if (kind === "terminal" && known[name] && !gone.has(name)) {
    void perform({ do: "close_terminal", terminal: name });
  }
}

export function rearrange(how: (state: panes.Panes) => panes.Panes): void {
  useTabs.setState((state) => how(state));
}

function takeTerminals(terminals: readonly Terminal[]): void {
  useTabs.setState((state) => {
    const here = new Set(terminals.map((terminal) => terminal.id));
    const known = { ...state.known, ...Object.fromEntries(terminals.map((one) => [one.id, one])) };
    const gone = new Set(Object.keys(known).filter((id) => !here.has(id)));
    const added = terminals.reduce<panes.Panes>(
      (now, { id }) => (state.known[id] ? now : panes.add(now, panes.terminalTab(id))),
      state,
    );
    return { ...added, known, gone };
  });
}

/** What the terminals of a network that has gone had shown stays until the next one starts. */
function dropGone(): void {
  useTabs.setState((state) => ({
    ...[...state.gone].map(panes.terminalTab).reduce<panes.Panes>(panes.close, state),
    known: Object.fromEntries(Object.entries(state.known).filter(([id]) => !state.gone.has(id))),
    gone: new Set<string>(),
  }));
}

takeTerminals(useRunning.getState().terminals);
onPush("terminals", ({ terminals }) => takeTerminals(terminals));
onPush("run", ({ phase }) => {
  if (phase === "starting") dropGone();
});
