/** Menus of the menu bar and context menus. Arrows move, Enter chooses, Escape closes. */
import { useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon } from "../editor/icons";
import { create } from "zustand";

export interface MenuItem {
  title: string;
  /** As in "Ctrl+Z". */
  keys?: string;
  run?: () => void;
  isDisabled?: boolean;
  isChecked?: boolean;
  isDangerous?: boolean;
  items?: readonly MenuEntry[];
}

export type MenuEntry = MenuItem | "line";

interface Props {
  label: string;
  entries: readonly MenuEntry[];
  onClose: () => void;
  /** Left and right arrow in a menu of the menu bar: go to the next menu. */
  onSide?: (step: 1 | -1) => void;
}

export function Menu({ label, entries, onClose, onSide }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<number | null>(null);

  useLayoutEffect(() => {
    items(box.current)[0]?.focus({ preventScroll: true });
    if (box.current !== null) keepInWindow(box.current);
  }, []);

  const press = (event: KeyboardEvent) => {
    const all = items(box.current);
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === "ArrowDown") all[(at + 1) % all.length]?.focus();
    else if (event.key === "ArrowUp") all[(at - 1 + all.length) % all.length]?.focus();
    else if (event.key === "Home") all[0]?.focus();
    else if (event.key === "End") all.at(-1)?.focus();
    else if (event.key === "Escape") onClose();
    else if (event.key === "Tab") onClose();
    else if (event.key === "ArrowRight") {
      const index = Number(all[at]?.dataset.index);
      const entry = entries[index];
      if (entry !== undefined && entry !== "line" && entry.items) setOpen(index);
      else onSide?.(1);
    } else if (event.key === "ArrowLeft") {
      if (onSide) onSide(-1);
      else onClose();
    } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) {
      const key = event.key.toLowerCase();
      const order = [...all.slice(at + 1), ...all.slice(0, at + 1)];
      order.find((item) => item.textContent?.toLowerCase().startsWith(key))?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className="menu" role="menu" aria-label={label} ref={box} onKeyDown={press}>
      {entries.map((entry, index) =>
        entry === "line" ? (
          <hr key={index} />
        ) : (
          <div key={index} className="menu-row">
            <button
              type="button"
              role={entry.isChecked === undefined ? "menuitem" : "menuitemcheckbox"}
              aria-checked={entry.isChecked}
              aria-keyshortcuts={entry.keys}
              aria-haspopup={entry.items ? "menu" : undefined}
              aria-expanded={entry.items ? open === index : undefined}
              className={`menu-item ${entry.isDangerous ? "menu-item-dangerous" : ""}`}
              disabled={entry.isDisabled}
              data-index={index}
              onPointerEnter={(event) => {
                event.currentTarget.focus({ preventScroll: true });
                setOpen(entry.items ? index : null);
              }}
              onClick={() => {
                if (entry.items) setOpen(index);
                else {
                  onClose();
                  entry.run?.();
                }
              }}
            >
              <span className="menu-check">{entry.isChecked ? "✓" : ""}</span>
              <span className="menu-title">{entry.title}</span>
              {entry.keys !== undefined && <kbd aria-hidden="true">{entry.keys}</kbd>}
              {entry.items && <Icon name="right" size={14} />}
            </button>
            {open === index && entry.items && (
              <Below>
                <Menu label={entry.title} entries={entry.items} onClose={onClose} />
              </Below>
            )}
          </div>
        ),
      )}
    </div>
  );
}

function Below({ children }: { children: ReactNode }) {
  return <div className="menu-below">{children}</div>;
}

function items(box: HTMLElement | null): HTMLElement[] {
  const all = [...(box?.querySelectorAll<HTMLElement>("[role^=menuitem]:not(:disabled)") ?? [])];
  return all.filter((item) => item.closest('[role="menu"]') === box);
}

/** Move a menu until all of it is visible. */
function keepInWindow(box: HTMLElement): void {
  const frame = box.getBoundingClientRect();
  const dx = Math.min(0, window.innerWidth - 4 - frame.right);
  const dy = Math.min(0, window.innerHeight - 4 - frame.bottom);
  if (dx < 0 || dy < 0) box.style.transform = `translate(${dx}px, ${dy}px)`;
}

// -- context menus ----------------------------------------------------------------------------------

interface Popped {
  shown: { label: string; entries: readonly MenuEntry[]; x: number; y: number } | null;
}

const usePopped = create<Popped>(() => ({ shown: null }));
let focusedBefore: HTMLElement | null = null;

export function popUp(label: string, entries: readonly MenuEntry[], x: number, y: number): void {
  focusedBefore = document.activeElement as HTMLElement | null;
  usePopped.setState({ shown: { label, entries, x, y } });
}

/** The context menu that is open, if any. */
export function PopUp() {
  const { shown } = usePopped();
  if (shown === null) return null;
  const close = () => {
    usePopped.setState({ shown: null });
    focusedBefore?.focus({ preventScroll: true });
  };
  return (
    <div
      className="pop-up"
      onPointerDown={(event) => event.target === event.currentTarget && close()}
      onContextMenu={(event) => event.preventDefault()}
    >
      <div key={`${shown.x} ${shown.y} ${shown.label}`} className="pop-up-at" style={{ left: shown.x, top: shown.y }}>
        <Menu label={shown.label} entries={shown.entries} onClose={close} />
      </div>
    </div>
  );
}
