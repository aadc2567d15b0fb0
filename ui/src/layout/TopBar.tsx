import { useRef, useState, type ReactNode } from "react";
import { perform, succeeds, useConnection } from "../connection";
import { Icon } from "../editor/icons";
import { useDocument } from "../stores/document";
import { redo, undo } from "../stores/edits";
import { hasStarted, hasNetwork, useRunning } from "../stores/running";
import { isDark, useView } from "../stores/view";
import { CLIENT, openTerminal, PROMPT } from "../terminals/tabs";
import { ask } from "./dialogs";
import { Menu } from "./Menu";
import { menuBar } from "./menuBar";

/** The bar at the top: menus, file, undo, run and stop, clock. */
export function TopBar({ clock }: { clock: ReactNode }) {
  const { undo: undoLabel, redo: redoLabel } = useDocument();
  const isDarkNow = useView(isDark);
  return (
    <header className="top-bar">
      <h1 className="brand">wanlab</h1>
      <MenuBar />
      <FileName />
      <span className="top-group">
        <button
          type="button"
          className="icon-button"
          disabled={undoLabel === null}
          title={undoLabel === null ? "Nothing to undo" : `Undo: ${undoLabel} (Ctrl+Z)`}
          aria-label="Undo"
          onClick={undo}
        >
          <Icon name="undo" />
        </button>
        <button
          type="button"
          className="icon-button"
          disabled={redoLabel === null}
          title={redoLabel === null ? "Nothing to redo" : `Redo: ${redoLabel} (Ctrl+Y)`}
          aria-label="Redo"
          onClick={redo}
        >
          <Icon name="redo" />
        </button>
      </span>
      <RunButtons />
      {clock}
      <span className="bar-end top-group">
        <Connected />
        <button
          type="button"
          className="icon-button"
          title={isDarkNow ? "Light theme" : "Dark theme"}
          aria-label={isDarkNow ? "Light theme" : "Dark theme"}
          onClick={() => useView.setState({ theme: isDarkNow ? "light" : "dark" })}
        >
          <Icon name={isDarkNow ? "light" : "dark"} />
        </button>
      </span>
    </header>
  );
}

function FileName() {
  const { fileName, path, isSaved } = useDocument();
  return (
    <span className="file-title" title={path ?? "not saved yet"}>
      <span className="file-name">{fileName || "untitled"}</span>
      {!isSaved && (
        <span className="unsaved" role="img" aria-label="unsaved changes">
          ●
        </span>
      )}
    </span>
  );
}

function Connected() {
  const status = useConnection((state) => state.status);
  if (status === "open") return null;
  return <span className="connection">{status === "connecting" ? "connecting…" : "no connection"}</span>;
}

/** Run and Stop, and the phase of the network. */
function RunButtons() {
  const { phase, progress, error } = useRunning((state) => state.run);
  const isUp = phase === "running" || phase === "starting";
  const isConnected = useConnection((state) => state.status === "open");
  const isEmpty = useDocument(({ nodes }) => Object.keys(nodes).length === 0);
  return (
    <span className="top-group run-buttons">
      <button
        type="button"
        className="button button-run"
        disabled={!isConnected || (phase !== "stopped" && phase !== "failed")}
        title={isEmpty ? "The canvas is empty" : "Start the network that is drawn"}
        onClick={() => void run()}
      >
        <Icon name="run" size={15} /> Run
      </button>
      <button
        type="button"
        className="button button-stop"
        disabled={!isUp}
        title="Stop the network and every program in it"
        onClick={() => void stop()}
      >
        <Icon name="stop" size={15} /> Stop
      </button>
      <span className={`phase phase-${phase}`} role="status" title={error === null ? progress : error.what}>
        {phase === "stopped" ? "" : progress === "" || phase === "running" ? phase : progress}
      </span>
    </span>
  );
}

export async function run(): Promise<void> {
  const hasBegun = await succeeds({ do: "run" });
  const { application } = useDocument.getState().preferences;
  if (hasBegun && String(application.startCLI) === "1" && (await hasStarted())) void openTerminal(PROMPT);
}

/** Stop the network; ask first if a program is busy. */
export async function stop(): Promise<void> {
  const busy = useRunning.getState().terminals.filter((terminal) => terminal.is_busy && terminal.status === null);
  if (busy.length > 0 && hasNetwork()) {
    const answer = await ask({
      title: "Stop the network?",
      text: `A program is running in ${busy.map(({ title }) => title).join(", ")}. Stopping the network ends it.`,
      answers: [
        { id: "stop", title: "Stop", isDangerous: true },
        { id: "cancel", title: "Cancel" },
      ],
    });
    if (answer !== "stop") return;
  }
  await perform({ do: "stop" });
}

function MenuBar() {
  const menus = menuBar({ run: () => void run(), stop: () => void stop(), client: () => void openTerminal(CLIENT) });
  const [open, setOpen] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  // A menu opened with the pointer returns the focus to the element that had it.
  const before = useRef<HTMLElement | null>(null);
  const buttons = () => [...(box.current?.querySelectorAll<HTMLElement>(".menu-bar-button") ?? [])];
  const close = () => {
    if (open !== null) (before.current ?? buttons()[open])?.focus({ preventScroll: true });
    before.current = null;
    setOpen(null);
  };
  const step = (from: number, by: number) => {
    const next = (from + by + menus.length) % menus.length;
    if (open !== null) setOpen(next);
    buttons()[next]?.focus();
  };
  return (
    <div className="menu-bar" role="menubar" aria-label="Menus" ref={box}>
      {menus.map(({ title, entries }, index) => (
        <div key={title} className="menu-bar-item">
          <button
            type="button"
            role="menuitem"
            className="menu-bar-button"
            aria-haspopup="menu"
            aria-expanded={open === index}
            tabIndex={index === 0 ? 0 : -1}
            onPointerDown={() => {
              before.current = open === null ? (document.activeElement as HTMLElement | null) : null;
            }}
            onClick={() => setOpen(open === index ? null : index)}
            onPointerEnter={() => open !== null && setOpen(index)}
            onKeyDown={(event) => {
              if (event.key === "ArrowDown") setOpen(index);
              else if (event.key === "ArrowRight") step(index, 1);
              else if (event.key === "ArrowLeft") step(index, -1);
              else return;
              event.preventDefault();
            }}
          >
            {title}
          </button>
          {open === index && (
            <>
              <div
                className="menu-away"
                onPointerDown={() => {
                  before.current = null;
                  setOpen(null);
                }}
              />
              <Menu label={title} entries={entries()} onClose={close} onSide={(by) => step(index, by)} />
            </>
          )}
        </div>
      ))}
    </div>
  );
}
