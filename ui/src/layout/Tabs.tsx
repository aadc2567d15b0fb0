import type { KeyboardEvent } from "react";

export interface Tab<T extends string> {
  id: T;
  title: string;
  /** A number beside the title: problems, terminals. */
  count?: number;
  level?: "error" | "warning";
}

interface Props<T extends string> {
  label: string;
  tabs: readonly Tab<T>[];
  chosen: T;
  onChoose: (id: T) => void;
}

/** A row of tabs following the ARIA practices: one tab stop, arrow keys move between tabs. */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose }: Props<T>) {
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const index = tabs.findIndex((tab) => tab.id === chosen);
    const next = tabs[(index + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.id);
    event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')[tabs.indexOf(next)]?.focus();
    event.preventDefault();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={press}>
      {tabs.map(({ id, title, count, level }) => (
        <button
          key={id}
          type="button"
          role="tab"
          className="tab"
          id={`tab-${id}`}
          aria-controls={`panel-${id}`}
          aria-selected={id === chosen}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {title}
          {count !== undefined && count > 0 && (
            <span className={`count ${level === undefined ? "" : `count-${level}`}`}>{count}</span>
          )}
        </button>
      ))}
    </div>
  );
}
