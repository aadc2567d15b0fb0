import { useEffect, useRef, useState } from "react";
import { clockText } from "../clock/time";
import { useBranches } from "../stores/branches";
import { PastScreen } from "./past";

/** A terminal as it was at the instant that is shown. */
export function PastPane({ id }: { id: string }) {
  const place = useRef<HTMLDivElement>(null);
  const screen = useRef<PastScreen | null>(null);
  const shown = useBranches((state) => state.shown);
  const [isOpen, setIsOpen] = useState(true);

  useEffect(() => {
    if (place.current === null) return undefined;
    const created = new PastScreen(id, place.current, setIsOpen);
    screen.current = created;
    return () => {
      screen.current = null;
      created.dispose();
    };
  }, [id]);
  useEffect(() => {
    if (shown !== null) void screen.current?.show(shown);
  }, [id, shown]);

  return (
    <div className="terminal-past">
      <div className="terminal-place" ref={place} hidden={!isOpen} />
      {shown !== null && (
        <p className="terminal-instant">
          {isOpen ? `As it was at ${clockText(shown.at_ns)}` : `Not open at ${clockText(shown.at_ns)}`}
        </p>
      )}
    </div>
  );
}
