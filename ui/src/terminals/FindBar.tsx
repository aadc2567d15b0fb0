import { useEffect, useState, type KeyboardEvent } from "react";
import type { Session } from "./session";

interface Props {
  session: Session;
  onClose: () => void;
}

/** Search in what a terminal has shown. */
export function FindBar({ session, onClose }: Props) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ index: number; count: number } | null>(null);

  useEffect(() => {
    const heard = session.search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setFound({ index: resultIndex, count: resultCount }),
    );
    return () => heard.dispose();
  }, [session]);

  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") session.find(text, !event.shiftKey, false);
    else return;
    event.preventDefault();
  };
  const count = text && found ? (found.count ? `${found.index + 1} of ${found.count}` : "none") : "";
  return (
    <div className="find-bar" role="search" onKeyDown={press}>
      <input
        autoFocus
        aria-label="Find in this terminal"
        placeholder="Find"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          session.find(event.target.value, true, true);
        }}
      />
      <span className="find-count" aria-live="polite">
        {count}
      </span>
      <button type="button" className="icon-button" aria-label="Before" onClick={() => session.find(text, true, false)}>
        ↑
      </button>
      <button type="button" className="icon-button" aria-label="After" onClick={() => session.find(text, false, false)}>
        ↓
      </button>
      <button type="button" className="icon-button" aria-label="End the search" onClick={onClose}>
        ✕
      </button>
    </div>
  );
}
