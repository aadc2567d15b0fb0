import { useEffect, useState, type KeyboardEvent } from "react";
import type { Session } from "./session";

interface Props {
  session: Session;
  onClose: () => void;
}

/** Search in the output of a terminal. */
export function FindBar({ session, onClose }: Props) {
  const [text, setText] = useState("");
  const [matches, setMatches] = useState<{ index: number; count: number } | null>(null);

  useEffect(() => {
    const subscription = session.search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setMatches({ index: resultIndex, count: resultCount }),
    );
    return () => subscription.dispose();
  }, [session]);

  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") session.find(text, !event.shiftKey, false);
    else return;
    event.preventDefault();
  };
  const count = text && matches ? (matches.count ? `${matches.index + 1} of ${matches.count}` : "no matches") : "";
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
      <button
        type="button"
        className="icon-button"
        aria-label="Previous match"
        onClick={() => session.find(text, true, false)}
      >
        ↑
      </button>
      <button
        type="button"
        className="icon-button"
        aria-label="Next match"
        onClick={() => session.find(text, false, false)}
      >
        ↓
      </button>
      <button type="button" className="icon-button" aria-label="Close the search" onClick={onClose}>
        ✕
      </button>
    </div>
  );
}
