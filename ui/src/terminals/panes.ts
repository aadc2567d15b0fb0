/** The panes of the dock: side by side, each with tabs, one of which is in front.
 *
 *  A tab is a terminal ("terminal 3") or a file ("file results/RTT.pdf"). All functions are pure.
 */

export type TabId = `terminal ${string}` | `file ${string}`;

export interface Pane {
  id: number;
  tabs: readonly TabId[];
  front: TabId | null;
}

export interface Panes {
  panes: readonly Pane[];
  /** The pane that was used last; new tabs are added to it. */
  active: number;
  lastId: number;
}

export const NO_PANES: Panes = { panes: [{ id: 1, tabs: [], front: null }], active: 1, lastId: 1 };

export function terminalTab(id: string): TabId {
  return `terminal ${id}`;
}

export function fileTab(path: string): TabId {
  return `file ${path}`;
}

/** The content of a tab: the id of a terminal, or the path of a file. */
export function subject(tab: TabId): { kind: "terminal" | "file"; name: string } {
  const space = tab.indexOf(" ");
  return { kind: tab.slice(0, space) as "terminal" | "file", name: tab.slice(space + 1) };
}

export function paneOf(state: Panes, tab: TabId): Pane | undefined {
  return state.panes.find((pane) => pane.tabs.includes(tab));
}

/** Bring a tab to the front of its pane; a new one is added to the active pane. */
export function show(state: Panes, tab: TabId): Panes {
  const pane = paneOf(state, tab);
  if (!pane) return show(add(state, tab), tab);
  return { ...changed(state, pane.id, (old) => ({ ...old, front: tab })), active: pane.id };
}

/** Add a tab behind the front one of the active pane. */
export function add(state: Panes, tab: TabId): Panes {
  if (paneOf(state, tab)) return state;
  return changed(state, state.active, (pane) => ({
    ...pane,
    tabs: [...pane.tabs, tab],
    front: pane.front ?? tab,
  }));
}

export function close(state: Panes, tab: TabId): Panes {
  const pane = paneOf(state, tab);
  if (!pane) return state;
  const index = pane.tabs.indexOf(tab);
  const tabs = pane.tabs.filter((old) => old !== tab);
  const next = pane.front === tab ? (tabs[Math.min(index, tabs.length - 1)] ?? null) : pane.front;
  return withoutEmpty(changed(state, pane.id, (old) => ({ ...old, tabs, front: next })));
}

/** Move a tab to a new pane, to the right of its own. */
export function splitOff(state: Panes, tab: TabId): Panes {
  const from = paneOf(state, tab);
  if (from?.tabs.length === 1) return state;
  const id = state.lastId + 1;
  const closed = close(state, tab);
  const at = closed.panes.findIndex((pane) => pane.id === (from?.id ?? state.active)) + 1;
  const panes = [...closed.panes];
  panes.splice(at, 0, { id, tabs: [tab], front: tab });
  return { panes, active: id, lastId: id };
}

/** Move a tab to another pane. */
export function move(state: Panes, tab: TabId, pane: number): Panes {
  if (paneOf(state, tab)?.id === pane) return show(state, tab);
  const moved = changed(close(state, tab), pane, (old) => ({
    ...old,
    tabs: [...old.tabs, tab],
    front: tab,
  }));
  return { ...moved, active: pane };
}

/** Give each tab a pane of its own; if there are several panes, put all tabs into one. */
export function tile(state: Panes): Panes {
  const tabs = state.panes.flatMap((pane) => pane.tabs);
  if (!tabs.length) return state;
  if (state.panes.length > 1) {
    const front = state.panes.find((pane) => pane.id === state.active)?.front ?? tabs[0]!;
    const id = state.lastId + 1;
    return { panes: [{ id, tabs, front }], active: id, lastId: id };
  }
  const panes = tabs.map((tab, index) => ({ id: state.lastId + 1 + index, tabs: [tab], front: tab }));
  return { panes, active: panes[0]!.id, lastId: state.lastId + tabs.length };
}

function changed(state: Panes, id: number, change: (pane: Pane) => Pane): Panes {
  return { ...state, panes: state.panes.map((pane) => (pane.id === id ? change(pane) : pane)) };
}

function withoutEmpty(state: Panes): Panes {
  const panes = state.panes.filter((pane) => pane.tabs.length);
  if (!panes.length) return { ...state, panes: [{ ...state.panes[0]!, tabs: [], front: null }], active: state.panes[0]!.id };
  const active = panes.some((pane) => pane.id === state.active) ? state.active : panes.at(-1)!.id;
  return { ...state, panes, active };
}
