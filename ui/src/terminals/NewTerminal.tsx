import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { CLIENT, openTerminal, PROMPT } from "./tabs";

/** The button that opens a terminal: of the client, of a node, or the mininet> prompt. */
export function NewTerminal() {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const phase = useRunning((state) => state.run.phase);
  const nodes = useDocument((state) => state.nodes);

  useEffect(() => {
    if (!isOpen) return;
    box.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setIsOpen(false);
    };
    window.addEventListener("pointerdown", away);
    return () => window.removeEventListener("pointerdown", away);
  }, [isOpen]);

  const press = (event: KeyboardEvent) => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      setIsOpen(false);
      box.current?.querySelector<HTMLElement>("button")?.focus();
    } else if (step !== undefined) items[(at + step + items.length) % items.length]?.focus();
    else return;
    event.preventDefault();
  };
  const open = (node: string) => {
    setIsOpen(false);
    void openTerminal(node);
  };
  const withTerminal = Object.values(nodes).filter(({ kind }) => kind === "host" || kind === "router");
  withTerminal.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  return (
    <div className="menu-button" ref={box} onKeyDown={press}>
      <button
        type="button"
        className="icon-button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        disabled={phase !== "running"}
        title="Open a terminal"
        onClick={() => setIsOpen(!isOpen)}
      >
        + Terminal
      </button>
      {isOpen && (
        <div className="menu menu-up" role="menu" aria-label="Open a terminal">
          <button type="button" role="menuitem" className="menu-item" onClick={() => open(CLIENT)}>
            client <small>root namespace: switches' ports</small>
          </button>
          <button type="button" role="menuitem" className="menu-item" onClick={() => open(PROMPT)}>
            mininet&gt; <small>the prompt</small>
          </button>
          {withTerminal.map(({ id, name, kind }) => (
            <button key={id} type="button" role="menuitem" className="menu-item" onClick={() => open(id)}>
              {name} <small>{kind}</small>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
