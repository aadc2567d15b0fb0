/** The panes of the dock: in columns, each with tabs, one of which is in front. A pane can also float.
 *
 *  A tab is a terminal ("terminal 3"), a chart ("chart 1") or a file ("file results/RTT.pdf"). All
 *  functions are pure.
 */

export type TabId = `terminal ${string}` | `chart ${string}` | `file ${string}`;

/** Where a floating pane is in the window, in pixels. */
export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Pane {
  id: number;
  tabs: readonly TabId[];
  front: TabId | null;
  /** Whether it is below the pane before it, in the same column. */
  isBelow?: boolean;
  /** Its share of the column's height, and its column's share of the width; 1 unless resized. */
  high?: number;
  wide?: number;
  float?: Frame;
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

export function chartTab(id: string): TabId {
  return `chart ${id}`;
}

export function fileTab(path: string): TabId {
  return `file ${path}`;
}

/** The content of a tab: the id of a terminal or of a chart, or the path of a file. */
export function subject(tab: TabId): { kind: "terminal" | "chart" | "file"; name: string } {
  const space = tab.indexOf(" ");
  return { kind: tab.slice(0, space) as "terminal" | "chart" | "file", name: tab.slice(space + 1) };
}

/** The panes of the dock by column, from left to right; without those that float. */
export function columnsOf({ panes }: Panes): readonly (readonly Pane[])[] {
  const columns: Pane[][] = [];
  for (const pane of panes.filter(({ float }) => float === undefined)) {
    const last = columns.at(-1);
    if (pane.isBelow && last) last.push(pane);
    else columns.push([pane]);
  }
  return columns;
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

/** Move a tab to a new pane, to the right of its column or below its pane. */
export function splitOff(state: Panes, tab: TabId, isBelow = false): Panes {
  const from = paneOf(state, tab);
  if (from?.tabs.length === 1) return state;
  const id = state.lastId + 1;
  const closed = close(state, tab);
  let at = closed.panes.findIndex((pane) => pane.id === (from?.id ?? state.active)) + 1;
  while (!isBelow && closed.panes[at]?.isBelow) at += 1;
  const panes = [...closed.panes];
  panes.splice(at, 0, { id, tabs: [tab], front: tab, ...(isBelow ? { isBelow } : {}) });
  return { panes, active: id, lastId: id };
}

/** Show a tab beside the active pane, which stays the active one: in a pane with a chart, or in a new one. */
export function showBeside(state: Panes, tab: TabId): Panes {
  const { active } = state;
  const here = paneOf(state, tab);
  if (here) return here.id === active ? state : changed(state, here.id, (pane) => ({ ...pane, front: tab }));
  const charts = state.panes.find(
    ({ id, front }) => id !== active && front !== null && subject(front).kind === "chart",
  );
  if (charts) return changed(state, charts.id, (pane) => ({ ...pane, tabs: [...pane.tabs, tab], front: tab }));
  if (!state.panes.some(({ id, tabs }) => id === active && tabs.length > 0)) return show(state, tab);
  return { ...splitOff(state, tab), active };
}

/** Move a tab to a new pane that floats above the page. */
export function floatOff(state: Panes, tab: TabId, float: Frame): Panes {
  const id = state.lastId + 1;
  const closed = close(state, tab);
  const pane = { id, tabs: [tab], front: tab, float };
  return { panes: [...closed.panes, pane], active: id, lastId: id };
}

/** Put a floating pane back into the dock, on the right. */
export function dock(state: Panes, id: number): Panes {
  const panes = state.panes.map((pane): Pane => (pane.id === id ? { id, tabs: pane.tabs, front: pane.front } : pane));
  return { ...withoutEmpty({ ...state, panes }), active: id };
}

/** Move or resize a floating pane. */
export function placed(state: Panes, id: number, float: Frame): Panes {
  return changed(state, id, (pane) => ({ ...pane, float }));
}

/** Set panes' shares of the height of their column, or columns' (by their first pane) of the width. */
export function resized(state: Panes, side: "high" | "wide", sizes: ReadonlyMap<number, number>): Panes {
  return {
    ...state,
    panes: state.panes.map((pane) => (sizes.has(pane.id) ? { ...pane, [side]: sizes.get(pane.id)! } : pane)),
  };
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

/** From this many tabs on, two are in a column. */
const PAIRS_FROM = 4;

/** Give each tab a separate pane; if there are several panes, put all tabs into one. */
export function tile(state: Panes): Panes {
  const tabs = state.panes.flatMap((pane) => pane.tabs);
  if (!tabs.length) return state;
  if (state.panes.length > 1) {
    const front = state.panes.find((pane) => pane.id === state.active)?.front ?? tabs[0]!;
    const id = state.lastId + 1;
    return { panes: [{ id, tabs, front }], active: id, lastId: id };
  }
  const inPairs = tabs.length >= PAIRS_FROM;
  const panes = tabs.map((tab, index) => ({
    id: state.lastId + 1 + index,
    tabs: [tab],
    front: tab,
    ...(inPairs && index % 2 === 1 ? { isBelow: true } : {}),
  }));
  return { panes, active: panes[0]!.id, lastId: state.lastId + tabs.length };
}

function changed(state: Panes, id: number, change: (pane: Pane) => Pane): Panes {
  return { ...state, panes: state.panes.map((pane) => (pane.id === id ? change(pane) : pane)) };
}

function withoutEmpty(state: Panes): Panes {
  const panes: Pane[] = [];
  let isHeadGone = false;
  for (const pane of state.panes) {
    if (!pane.isBelow) isHeadGone = false;
    if (!pane.tabs.length) isHeadGone ||= !pane.isBelow;
    else if (isHeadGone) {
      panes.push({ ...pane, isBelow: false });
      isHeadGone = false;
    } else panes.push(pane);
  }
  const [first] = state.panes;
  if (!panes.length) return { ...state, panes: [{ id: first!.id, tabs: [], front: null }], active: first!.id };
  const active = panes.some((pane) => pane.id === state.active) ? state.active : panes.at(-1)!.id;
  return { ...state, panes, active };
}
