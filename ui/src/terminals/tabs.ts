/** The tabs of the dock: the server's terminals, and the files that were opened.
 *
 *      await openTerminal("client" | "prompt" | id of a node)      a new terminal, in front; its id
 *      openFile("results/RTT.pdf")                                 a file of the working folder
 */

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";
import { onPush, perform, useConnection } from "../connection";
import type { TerminalInfo } from "../protocol";
import { useBranches } from "../stores/branches";
import { useDocument } from "../stores/document";
import { ask } from "../layout/dialogs";
import { isRunning, useRunning } from "../stores/running";
import { showDock } from "../stores/view";
import * as panes from "./panes";
import type { TabId } from "./panes";
import { isOpenAt, recordsOf } from "./recordings";

interface Tabs extends panes.Panes {
  known: Readonly<Record<string, TerminalInfo>>;
  /** The tab that gets the focus as soon as it is mounted. */
  wantsFocus: TabId | null;
}

export const useTabs = create<Tabs>()(
  // Positions of terminals survive a reload; `updateTerminals` removes those that ended meanwhile.
  persist((): Tabs => ({ ...panes.NO_PANES, known: {}, wantsFocus: null }), {
    name: "wanlab.panes",
    storage: createJSONStorage(() => sessionStorage),
    partialize: ({ panes, active, lastId }) => ({ panes, active, lastId }),
  }),
);

export const CLIENT = "client";
export const PROMPT = "prompt";

/** Open a terminal in front; returns its id, or null if that was refused. With a command, it runs that
 *  instead of a shell. */
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

/** Bring a tab to the front and focus it. */
export function showTab(tab: TabId): void {
  showDock("terminals");
  useTabs.setState((state) => ({ ...panes.show(state, tab), wantsFocus: tab }));
}

/** Close a tab; ask first if that would end a program that runs in a terminal. */
export function closeTab(tab: TabId): void {
  const { kind, name } = panes.subject(tab);
  const terminal = useRunning.getState().terminals.find(({ id }) => id === name);
  const isBusy = kind === "terminal" && terminal !== undefined && terminal.is_busy && terminal.status === null;
  if (!isBusy || !isRunning()) closeAtOnce(tab);
  else void askToEnd(terminal.title).then((mayEnd) => mayEnd && closeAtOnce(tab));
}

async function askToEnd(title: string): Promise<boolean> {
  const answer = await ask({
    title: `Close the terminal of ${title}?`,
    text: "A program is running in it. Closing the terminal ends it.",
    answers: [
      { id: "close", title: "End it", isDangerous: true },
      { id: "cancel", title: "Cancel" },
    ],
  });
  return answer === "close";
}

function closeAtOnce(tab: TabId): void {
  const { kind, name } = panes.subject(tab);
  const { known } = useTabs.getState();
  useTabs.setState((state) => panes.close(state, tab));
  if (kind === "terminal" && known[name] && useRunning.getState().terminals.some(({ id }) => id === name)) {
    void perform({ do: "close_terminal", terminal: name });
  }
}

/** Focus the front tab of the pane that was used last. */
export function focusFront(): void {
  const { panes: all, active } = useTabs.getState();
  const front = all.find((pane) => pane.id === active)?.front ?? null;
  if (front !== null) useTabs.setState({ wantsFocus: front });
}

export function rearrange(change: (state: panes.Panes) => panes.Panes): void {
  useTabs.setState((state) => change(state));
}

/** Add tabs for new terminals behind the front ones; remove those that were closed, here or elsewhere. */
function updateTerminals(terminals: readonly TerminalInfo[]): void {
  useTabs.setState((state) => {
    const known = Object.fromEntries(terminals.map((one) => [one.id, one]));
    const here = Object.keys(known).map(panes.terminalTab);
    const before = state.panes.flatMap((pane) => pane.tabs).filter((tab) => panes.subject(tab).kind === "terminal");
    const left = before.filter((tab) => !here.includes(tab)).reduce<panes.Panes>(panes.close, state);
    const isNew = (tab: TabId) => !Object.keys(state.known).map(panes.terminalTab).includes(tab);
    const added = here.filter((tab) => !before.includes(tab) && isNew(tab)).reduce<panes.Panes>(panes.add, left);
    return { ...added, known };
  });
}

if (useConnection.getState().status === "open") updateTerminals(useRunning.getState().terminals);
onPush("terminals", () => void updateShown());

/** While an earlier instant is shown, also have tabs for the terminals that were open then. */
async function updateShown(): Promise<void> {
  const { shown } = useBranches.getState();
  const { terminals } = useRunning.getState();
  if (shown === null) {
    updateTerminals(terminals);
    return;
  }
  const records = await recordsOf(shown);
  if (useBranches.getState().shown !== shown) return;
  const here = new Set(terminals.map(({ id }) => id));
  const gone = records.filter((record) => !here.has(record.id) && isOpenAt(record, shown.at_ns));
  const recorded = gone.map(({ id, node, title }) => ({
    id,
    node,
    title,
    status: -1,
    is_busy: false,
    at_mininet: false,
  }));
  updateTerminals([...useRunning.getState().terminals, ...recorded]);
}

useBranches.subscribe(({ shown }, before) => {
  if (shown !== before.shown) void updateShown();
});
// Files and charts belong to the document that was open; terminals are closed by the server.
useDocument.subscribe(({ opened }, before) => {
  if (opened === before.opened || before.opened === 0) return;
  useTabs.setState((state) =>
    state.panes
      .flatMap(({ tabs }) => tabs)
      .filter((tab) => panes.subject(tab).kind !== "terminal")
      .reduce<panes.Panes>(panes.close, state),
  );
});
// `xdg-open FILE` in a terminal.
onPush("show", ({ path }) => openFile(path));
