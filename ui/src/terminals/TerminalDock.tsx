import "./terminals.css";
import { useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { toast } from "../stores/toasts";
import { useRunning } from "../stores/running";
import { useView } from "../stores/view";
import { findFile } from "../files/folder";
import { onFileLink } from "./links";
import { NewTerminal } from "./NewTerminal";
import { PaneView } from "./PaneView";
import { splitOff, subject, tile } from "./panes";
import type { Session } from "./session";
import { openFile, openTerminal, rearrange, useTabs } from "./tabs";

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
  const { panes, active } = useTabs();
  const isEmpty = panes.every((pane) => pane.tabs.length === 0);
  return (
    <div className="terminal-dock">
      <ToolPortal />
      {isEmpty ? (
        <EmptyDock />
      ) : (
        <div className="panes">
          {panes.map((pane) => (
            <PaneView key={pane.id} pane={pane} isActive={pane.id === active} isAlone={panes.length === 1} />
          ))}
        </div>
      )}
    </div>
  );
}

function EmptyDock() {
  const phase = useRunning((state) => state.run.phase);
  if (phase === "running") {
    return (
      <p className="empty">
        No terminal is open. Press “+ Terminal”, or double-click a host of the running network.
      </p>
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

  const split = async () => {
    if (tab === null) return;
    const isAloneThere = panes.find((pane) => pane.id === active)?.tabs.length === 1;
    if (!isAloneThere) rearrange((state) => splitOff(state, tab));
    else if (id !== null && known[id]) {
      const opened = await openTerminal(known[id].node);
      if (opened !== null) rearrange((state) => splitOff(state, `terminal ${opened}`));
    }
  };
  return (
    <div className="terminal-tools" role="toolbar" aria-label="Terminals">
      <NewTerminal />
      <button type="button" className="icon-button" disabled={!isAlive} title="Send Ctrl-C to the program in this terminal" onClick={() => withSession(id, (session) => session.interrupt())}>
        Ctrl-C
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={id === null}
        title="Find (Ctrl+Shift+F)"
        onClick={() => withSession(id, (session) => session.openSearch())}
      >
        Find
      </button>
      <button type="button" className="icon-button" disabled={tab === null} title="Move this tab to a pane of its own" onClick={() => void split()}>
        Split
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={count < 2}
        aria-pressed={panes.length > 1}
        title="Show all tabs side by side, or all in one pane"
        onClick={() => rearrange(tile)}
      >
        {panes.length > 1 ? "Stack" : "Tile"}
      </button>
      <Maximise />
    </div>
  );
}

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
    >
      {isLarge ? "Smaller" : "Larger"}
    </button>
  );
}
