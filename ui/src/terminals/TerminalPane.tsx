import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { FindBar } from "./FindBar";
import { terminalTab } from "./panes";
import { sessionOf } from "./session";
import { useTabs } from "./tabs";

const HUNG_UP = -1;

/** The screen of one terminal. */
export function TerminalPane({ id }: { id: string }) {
  const container = useRef<HTMLDivElement>(null);
  const [isFinding, setIsFinding] = useState(false);
  const wantsFocus = useTabs((state) => state.wantsFocus === terminalTab(id));
  const known = useTabs((state) => state.known[id]);

  useEffect(() => {
    const element = container.current;
    if (element === null) return;
    const find = () => setIsFinding(true);
    element.addEventListener("find", find);
    const unmount = sessionOf(id).mount(element);
    return () => {
      unmount();
      element.removeEventListener("find", find);
    };
  }, [id]);
  useEffect(() => {
    if (!wantsFocus) return;
    sessionOf(id).focus();
    useTabs.setState({ wantsFocus: null });
  }, [id, wantsFocus]);

  const title = known?.title ?? id;
  return (
    <div className="terminal-pane" role="group" aria-label={`Terminal ${title}`}>
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
      <div className="terminal-place" ref={container} />
      {known && known.status !== null && <p className="terminal-ended">{ending(known.status)}</p>}
    </div>
  );
}

function ending(status: number): string {
  if (status === 0) return "The program has ended.";
  if (status === HUNG_UP) return "Ended when the network was stopped.";
  return status < 0 ? `The program was ended by signal ${-status}.` : `The program has ended with status ${status}.`;
}
