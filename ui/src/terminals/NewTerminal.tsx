import type { MouseEvent } from "react";
import { popUp } from "../layout/Menu";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { CLIENT, openTerminal, PROMPT } from "./tabs";

/** The button that opens a terminal: of a node, of the root namespace, or the mininet> prompt. */
export function NewTerminal() {
  const phase = useRunning((state) => state.run.phase);
  const choose = (event: MouseEvent<HTMLButtonElement>) => {
    const nodes = Object.values(useDocument.getState().nodes).filter(
      ({ kind }) => kind !== "switch" && kind !== "controller",
    );
    nodes.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    const entry = (title: string, node: string) => ({ title, run: () => void openTerminal(node) });
    const { left, bottom } = event.currentTarget.getBoundingClientRect();
    popUp(
      "Open a terminal",
      [
        entry("client (root namespace)", CLIENT),
        entry("mininet> prompt", PROMPT),
        ...(nodes.length ? (["line"] as const) : []),
        ...nodes.map(({ id, name }) => entry(name, id)),
      ],
      left,
      bottom + 2,
    );
  };
  return (
    <button
      type="button"
      className="icon-button"
      aria-haspopup="menu"
      disabled={phase !== "running"}
      title="Open a terminal"
      onClick={choose}
    >
      + Terminal
    </button>
  );
}
