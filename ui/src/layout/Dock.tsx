import { lazy, Suspense, useState, type ReactNode } from "react";
import { Files } from "../files/Files";
import { useDocument } from "../stores/document";
import { useRunning } from "../stores/running";
import { showDock, useView, type DockTab } from "../stores/view";
import { focusFront } from "../terminals/tabs";
import { Divider } from "./Divider";
import { ProblemList } from "./ProblemList";
import { Tabs, type Tab } from "./Tabs";

const TerminalDock = lazy(() =>
  import("../terminals/TerminalDock").then((module) => ({ default: module.TerminalDock })),
);
const Charts = lazy(() => import("../charts/Charts").then((module) => ({ default: module.Charts })));

/**
 * The bottom panel: terminals, charts, problems, files. Once shown, a tab stays mounted but hidden, so
 * that terminals keep their contents.
 */
export function Dock() {
  const { dockTab, isDockOpen, dockHeight } = useView();
  const problems = useDocument((state) => state.problems);
  const warnings = useRunning((state) => state.run.warnings.length);
  const terminals = useRunning((state) => state.terminals.length);
  const [shown, setShown] = useState<ReadonlySet<DockTab>>(new Set([dockTab]));
  if (!shown.has(dockTab)) setShown(new Set([...shown, dockTab]));

  const hasError = problems.some((problem) => problem.severity === "error");
  const tabs: readonly Tab<DockTab>[] = [
    { id: "terminals", title: "Terminals", count: terminals },
    { id: "charts", title: "Charts" },
    {
      id: "problems",
      title: "Problems",
      count: problems.length + warnings,
      level: hasError ? "error" : "warning",
    },
    { id: "files", title: "Files" },
  ];
  const panels: Record<DockTab, ReactNode> = {
    terminals: <TerminalDock />,
    charts: <Charts />,
    problems: <ProblemList />,
    files: <Files />,
  };
  return (
    <section
      className={`dock ${isDockOpen ? "" : "dock-closed"}`}
      style={isDockOpen ? { height: dockHeight } : {}}
      aria-label="Terminals, charts, problems, files"
    >
      {isDockOpen && (
        <Divider
          label="Height of the bottom panel"
          orientation="horizontal"
          size={dockHeight}
          smallest={120}
          largest={Math.max(160, window.innerHeight - 200)}
          onSize={(height) => useView.setState({ dockHeight: height })}
        />
      )}
      <div className="bar">
        <Tabs
          label="Bottom panel"
          tabs={tabs}
          chosen={dockTab}
          onChoose={(tab) => {
            showDock(tab);
            if (tab === "terminals") focusFront();
          }}
        />
        <div id="dock-tools" className="bar-end" />
        <button
          type="button"
          className="icon-button"
          aria-label={isDockOpen ? "Close the bottom panel" : "Open the bottom panel"}
          aria-expanded={isDockOpen}
          onClick={() => useView.setState({ isDockOpen: !isDockOpen })}
        >
          {isDockOpen ? "▾" : "▴"}
        </button>
      </div>
      {tabs
        .filter(({ id }) => shown.has(id))
        .map(({ id }) => (
          <div
            key={id}
            className="dock-body"
            role="tabpanel"
            id={`panel-${id}`}
            aria-labelledby={`tab-${id}`}
            hidden={id !== dockTab || !isDockOpen}
          >
            <Suspense fallback={<p className="empty">Loading…</p>}>{panels[id]}</Suspense>
          </div>
        ))}
    </section>
  );
}
