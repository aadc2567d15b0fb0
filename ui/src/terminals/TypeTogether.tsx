import { Icon } from "../editor/icons";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { create } from "zustand";
import { succeeds } from "../connection";
import { useRunning } from "../stores/running";

/** Whether a line is typed into several terminals, and into which. */
export const useTogether = create<{ isOpen: boolean; chosen: ReadonlySet<string> }>(() => ({
  isOpen: false,
  chosen: new Set(),
}));

/** Whether typed keys go to this terminal together with others. */
export function useIsTogether(id: string): boolean {
  return useTogether(({ isOpen, chosen }) => isOpen && chosen.has(id));
}

/** The button that opens the line for several terminals. */
export function TogetherButton() {
  const { isOpen } = useTogether();
  const alive = useRunning((state) => state.terminals.filter(({ status }) => status === null).length);
  const toggle = () => {
    const { terminals } = useRunning.getState();
    // All terminals are chosen at first; those to leave out are quickly clicked.
    const chosen = new Set(terminals.filter(({ status }) => status === null).map(({ id }) => id));
    useTogether.setState({ isOpen: !isOpen, chosen });
  };
  return (
    <button
      type="button"
      className="icon-button"
      aria-pressed={isOpen}
      disabled={alive < 2 && !isOpen}
      title="Type a line into several terminals at the same instant"
      aria-label="Type in several"
      onClick={toggle}
    >
      <Icon name="together" size={16} />
    </button>
  );
}

/** A line that several terminals get at the same instant of the network's clock. */
export function TypeTogether() {
  const { isOpen, chosen } = useTogether();
  const terminals = useRunning((state) => state.terminals);
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isOpen) field.current?.focus();
  }, [isOpen]);
  if (!isOpen) return null;
  const alive = terminals.filter(({ status }) => status === null);
  const wanted = alive.filter(({ id }) => chosen.has(id)).map(({ id }) => id);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (wanted.length === 0) return;
    void succeeds({ do: "type_together", terminals: wanted, text: `${text}\n` }).then((isSent) => {
      if (isSent) setText("");
    });
  };
  const choose = (id: string, isOn: boolean) => {
    const next = new Set(chosen);
    if (isOn) next.add(id);
    else next.delete(id);
    useTogether.setState({ chosen: next });
  };
  return (
    <form className="together" aria-label="Type into several terminals" onSubmit={send}>
      {alive.map(({ id, title }, index) => (
        <label key={id} className="check">
          <input type="checkbox" checked={chosen.has(id)} onChange={(event) => choose(id, event.target.checked)} />
          {alive.filter((one) => one.title === title).length > 1 ? `${title} (${index + 1})` : title}
        </label>
      ))}
      <input
        ref={field}
        className="together-line"
        aria-label="Line for all chosen terminals"
        placeholder="a line, or leave empty to press Enter in all of them"
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button" disabled={wanted.length === 0}>
        Enter in {wanted.length}
      </button>
    </form>
  );
}
