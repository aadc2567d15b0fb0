import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { useBranches } from "../stores/branches";
import { useRunning } from "../stores/running";
import { FindBar } from "./FindBar";
import { PastPane } from "./PastPane";
import { terminalTab } from "./panes";
import { sessionOf, useWaitingKeys } from "./session";
import { useTabs } from "./tabs";

const HUNG_UP = -1;

/** The screen of one terminal. */
export function TerminalPane({ id }: { id: string }) {
  const container = useRef<HTMLDivElement>(null);
  const [isFinding, setIsFinding] = useState(false);
  const wantsFocus = useTabs((state) => state.wantsFocus === terminalTab(id));
  const known = useTabs((state) => state.known[id]);
  const isPast = useBranches((state) => state.shown !== null);
  // The record has terminals that were closed since.
  const isHere = useRunning((state) => state.terminals.some((terminal) => terminal.id === id));

  useEffect(() => {
    if (!isHere) return undefined;
    const element = container.current;
    if (element === null) return undefined;
    const find = () => setIsFinding(true);
    element.addEventListener("find", find);
    const unmount = sessionOf(id).mount(element);
    return () => {
      unmount();
      element.removeEventListener("find", find);
    };
  }, [id, isHere]);
  useEffect(() => {
    if (!wantsFocus || !isHere) return;
    sessionOf(id).focus();
    useTabs.setState({ wantsFocus: null });
  }, [id, wantsFocus, isHere]);

  const title = known?.title ?? id;
  return (
    <div
      className={`terminal-pane ${known && known.status !== null ? "is-ended" : ""}`}
      role="group"
      aria-label={`Terminal ${title}`}
    >
      {isFinding && (
        <FindBar
          session={sessionOf(id)}
          onClose={() => {
            setIsFinding(false);
            sessionOf(id).endSearch();
            sessionOf(id).focus();
          }}
        />
      )}
      <div className={`terminal-place ${isPast ? "is-past" : ""}`} ref={container} />
      {isPast && <PastPane id={id} />}
      {!isPast && <WaitingKeys id={id} />}
      {!isPast && known && known.status !== null && <p className="terminal-ended">{ending(known.status)}</p>}
    </div>
  );
}

/** The keys that have not arrived yet, because there is no connection. */
function WaitingKeys({ id }: { id: string }) {
  const keys = useWaitingKeys((all) => all[id] ?? "");
  if (keys === "") return null;
  return (
    <p className="terminal-waiting" role="status">
      <span>
        Not sent yet: <kbd>{keys}</kbd>
      </span>
      <button type="button" className="icon-button" onClick={() => sessionOf(id).discardKeys()}>
        Discard
      </button>
    </p>
  );
}

function ending(status: number): string {
  if (status === 0) return "The program has ended.";
  if (status === HUNG_UP) return "Ended when the network was stopped.";
  return status < 0 ? `The program was ended by signal ${-status}.` : `The program has ended with status ${status}.`;
}
