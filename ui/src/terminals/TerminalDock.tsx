import "./terminals.css";
import { useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { toast } from "../stores/toasts";
import { useRunning } from "../stores/running";
import { useView } from "../stores/view";
import { NewChart } from "../charts/NewChart";
import { Icon } from "../editor/icons";
import { findFile } from "../files/folder";
import { Divider } from "../layout/Divider";
import { onFileLink } from "./links";
import { NewTerminal } from "./NewTerminal";
import { PaneView } from "./PaneView";
import { columnsOf, floatOff, resized, splitOff, subject, tile, type Pane } from "./panes";
import type { Session } from "./session";
import { openFile, openTerminal, rearrange, useTabs } from "./tabs";
import { TogetherButton, TypeTogether } from "./TypeTogether";

onFileLink((name) => {
  void findFile(name).then((path) => {
    if (path !== null) openFile(path);
    else toast("warning", `${name} is not in the working folder`, "only files in it can be shown");
  });
});

/** Use the screen of a terminal; it is loaded with the first terminal. */
function withSession(id: string | null, use: (session: Session) => void): void {
  if (id !== null) void import("./session").then(({ sessionOf }) => use(sessionOf(id)));
}

/** Terminals and opened files, as tabs in panes side by side. */
export function TerminalDock() {
  const state = useTabs();
  const columns = columnsOf(state);
  const isEmpty = columns.flat().every((pane) => pane.tabs.length === 0);
  return (
    <div className="terminal-dock">
      <ToolPortal />
      {isEmpty ? (
        <EmptyDock />
      ) : (
        <div className="panes">
          {columns.map((column, index) => (
            <Column key={column[0]!.id} column={column} index={index} columns={columns} active={state.active} />
          ))}
        </div>
      )}
      <TypeTogether />
    </div>
  );
}

interface ColumnProps {
  column: readonly Pane[];
  index: number;
  columns: readonly (readonly Pane[])[];
  active: number;
}

const SMALLEST = 80;

/** Panes one below the other. */
function Column({ column, index, columns, active }: ColumnProps) {
  const heads = columns.map((one) => one[0]!);
  return (
    <div className="pane-column" style={{ flexGrow: heads[index]!.wide ?? 1 }}>
      {index > 0 && <PaneDivider side="wide" panes={heads} index={index} />}
      {column.map((pane, row) => (
        <PaneView
          key={pane.id}
          pane={pane}
          isActive={pane.id === active}
          isAlone={columns.flat().length === 1}
          style={{ flexGrow: pane.high ?? 1 }}
        >
          {row > 0 && <PaneDivider side="high" panes={column} index={row} />}
        </PaneView>
      ))}
    </div>
  );
}

/** The line between a pane, or a column, and the one before it. */
function PaneDivider({ side, panes, index }: { side: "high" | "wide"; panes: readonly Pane[]; index: number }) {
  const sizeOf = ({ id }: Pane) => {
    const pane = document.querySelector<HTMLElement>(`[data-pane="${id}"]`);
    const box = (side === "wide" ? pane?.parentElement : pane)?.getBoundingClientRect();
    return (side === "wide" ? box?.width : box?.height) ?? 0;
  };
  const resize = (wanted: number) => {
    const sizes = new Map(panes.map((pane) => [pane.id, sizeOf(pane)]));
    const [one, other] = [panes[index - 1]!, panes[index]!];
    const both = sizes.get(one.id)! + sizes.get(other.id)!;
    const size = Math.max(SMALLEST, Math.min(wanted, both - SMALLEST));
    sizes.set(other.id, size);
    sizes.set(one.id, both - size);
    rearrange((state) => resized(state, side, sizes));
  };
  return (
    <Divider
      label={side === "wide" ? "Width of the pane" : "Height of the pane"}
      orientation={side === "wide" ? "vertical" : "horizontal"}
      size={Math.round(sizeOf(panes[index]!))}
      smallest={SMALLEST}
      largest={4000}
      onSize={resize}
    />
  );
}

function EmptyDock() {
  const phase = useRunning((state) => state.run.phase);
  if (phase === "running") {
    return (
      <p className="empty">No terminal is open. Press “+ Terminal”, or double-click a host of the running network.</p>
    );
  }
  return <p className="empty">Run the network to open terminals on its nodes.</p>;
}

/** Puts the tools into the dock's bar while the terminals are in front. */
function ToolPortal() {
  const isShown = useView((state) => state.dockTab === "terminals" && state.isDockOpen);
  const [place, setPlace] = useState<HTMLElement | null>(null);
  useEffect(() => setPlace(document.getElementById("dock-tools")), []);
  return place && isShown ? createPortal(<Tools />, place) : null;
}

/** The tools for the front tab. */
function Tools() {
  const { panes, active, known } = useTabs();
  const tab = panes.find((pane) => pane.id === active)?.front ?? null;
  const content = tab === null ? null : subject(tab);
  const id = content?.kind === "terminal" ? content.name : null;
  const isAlive = id !== null && known[id]?.status === null;
  const count = panes.reduce((sum, pane) => sum + pane.tabs.length, 0);

  const split = async (isBelow: boolean) => {
    if (tab === null) return;
    const isAloneThere = panes.find((pane) => pane.id === active)?.tabs.length === 1;
    if (!isAloneThere) rearrange((state) => splitOff(state, tab, isBelow));
    else if (id !== null && known[id]) {
      const opened = await openTerminal(known[id].node);
      if (opened !== null) rearrange((state) => splitOff(state, `terminal ${opened}`, isBelow));
    }
  };
  return (
    <div className="terminal-tools" role="toolbar" aria-label="Terminals">
      <NewTerminal />
      <NewChart />
      <TogetherButton />
      <button
        type="button"
        className="icon-button"
        disabled={!isAlive}
        title="Send Ctrl-C to the program in this terminal"
        onClick={() => withSession(id, (session) => session.interrupt())}
      >
        Ctrl-C
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={id === null}
        title="Find (Ctrl+Shift+F)"
        onClick={() => withSession(id, (session) => session.openSearch())}
        aria-label="Find"
      >
        <Icon name="find" size={16} />
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={tab === null}
        title="Move this tab to a new pane on the right"
        onClick={() => void split(false)}
        aria-label="Split right"
      >
        <Icon name="splitRight" size={16} />
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={tab === null}
        title="Move this tab to a new pane below"
        onClick={() => void split(true)}
        aria-label="Split below"
      >
        <Icon name="splitBelow" size={16} />
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={tab === null}
        title="Move this tab to a floating window"
        onClick={() => tab !== null && rearrange((state) => floatOff(state, tab, FIRST_FRAME))}
        aria-label="Float"
      >
        <Icon name="float" size={16} />
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={count < 2}
        aria-pressed={panes.length > 1}
        title={panes.length > 1 ? "Put all tabs into one pane" : "Show all tabs side by side"}
        onClick={() => rearrange(tile)}
        aria-label={panes.length > 1 ? "Stack" : "Tile"}
      >
        <Icon name={panes.length > 1 ? "stack" : "tile"} size={16} />
      </button>
      <Maximise />
    </div>
  );
}

const FIRST_FRAME = { x: 120, y: 90, width: 560, height: 320 };
const DEFAULT_HEIGHT = 230;

function Maximise() {
  const height = useView((state) => state.dockHeight);
  const max = Math.max(DEFAULT_HEIGHT, window.innerHeight - 180);
  const isLarge = height >= max - 10;
  return (
    <button
      type="button"
      className="icon-button"
      aria-pressed={isLarge}
      title={isLarge ? "Restore the height of the panel" : "Make the panel as high as possible"}
      onClick={() => useView.setState({ dockHeight: isLarge ? DEFAULT_HEIGHT : max })}
      aria-label={isLarge ? "Smaller" : "Larger"}
    >
      <Icon name={isLarge ? "smaller" : "larger"} size={16} />
    </button>
  );
}
