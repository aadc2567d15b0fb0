import { useEffect, useRef, useState } from "react";
import { FindBar } from "./FindBar";
import { terminalTab } from "./panes";
import { sessionOf } from "./session";
import { useTabs } from "./tabs";

/** The screen of one terminal. */
export function TerminalPane({ id }: { id: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [isFinding, setIsFinding] = useState(false);
  const wantsFocus = useTabs((state) => state.wantsFocus === terminalTab(id));
  const known = useTabs((state) => state.known[id]);
  const isGone = useTabs((state) => state.gone.has(id));

  useEffect(() => {
    const element = place.current;
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
      <div className="terminal-place" ref={place} />
      {(isGone || (known && known.status !== null)) && (
        <p className="terminal-ended">{ending(isGone, known?.status ?? null)}</p>
      )}
    </div>
  );
}

function ending(isGone: boolean, status: number | null): string {
  if (isGone) return "The network that this terminal belonged to has been stopped.";
  if (status === 0) return "Ended.";
  if (status !== null && status < 0) return `Ended by signal ${-status}.`;
  return `Ended with status ${status}.`;
}
