import "@xterm/xterm/css/xterm.css";
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
import { sessionOf } from "./session";
import { openFile, openTerminal, rearrange, useTabs } from "./tabs";

onFileLink((name) => {
  void findFile(name).then((path) => {
    if (path !== null) openFile(path);
    else toast("warning", `${name} is not in the working folder`, "only files there can be shown here");
  });
});

/** The terminals, and files that were opened: tabs in panes side by side. */
export function TerminalDock() {
  const { panes, active } = useTabs();
  const isEmpty = panes.every((pane) => pane.tabs.length === 0);
  return (
    <div className="terminal-dock">
      <ToolPlace />
      {isEmpty ? (
        <Nothing />
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

function Nothing() {
  const phase = useRunning((state) => state.run.phase);
  if (phase === "running") {
    return (
      <p className="empty">
        No terminal is open. “+ Terminal” opens one; so does a double click on a host of the running
        network.
      </p>
    );
  }
  return <p className="empty">Terminals of nodes open when the network runs.</p>;
}

/** The tools stand in the dock's own bar, while the terminals are in front there. */
function ToolPlace() {
  const isShown = useView((state) => state.dockTab === "terminals" && state.isDockOpen);
  const [place, setPlace] = useState<HTMLElement | null>(null);
  useEffect(() => setPlace(document.getElementById("dock-tools")), []);
  return place && isShown ? createPortal(<Tools />, place) : null;
}

/** What can be done with the tab that is in front. */
function Tools() {
  const { panes, active, known } = useTabs();
  const tab = panes.find((pane) => pane.id === active)?.front ?? null;
  const of = tab === null ? null : subject(tab);
  const id = of?.kind === "terminal" ? of.name : null;
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
      <button type="button" className="icon-button" disabled={!isAlive} title="Ctrl-C to the program in front" onClick={() => id !== null && sessionOf(id).interrupt()}>
        Ctrl-C
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={id === null}
        title="Find (Ctrl+Shift+F)"
        onClick={() => id !== null && sessionOf(id).openSearch()}
      >
        Find
      </button>
      <button type="button" className="icon-button" disabled={tab === null} title="Beside the others" onClick={() => void split()}>
        Split
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={count < 2}
        aria-pressed={panes.length > 1}
        title="All side by side, or one behind the other"
        onClick={() => rearrange(tile)}
      >
        {panes.length > 1 ? "Stack" : "Tile"}
      </button>
      <Maximise />
    </div>
  );
}

const USUAL_HEIGHT = 230;

function Maximise() {
  const height = useView((state) => state.dockHeight);
  const most = Math.max(USUAL_HEIGHT, window.innerHeight - 180);
  const isLarge = height >= most - 10;
  return (
    <button
      type="button"
      className="icon-button"
      aria-pressed={isLarge}
      title={isLarge ? "As high as usual" : "As high as possible"}
      onClick={() => useView.setState({ dockHeight: isLarge ? USUAL_HEIGHT : most })}
    >
      {isLarge ? "Smaller" : "Larger"}
    </button>
  );
}
