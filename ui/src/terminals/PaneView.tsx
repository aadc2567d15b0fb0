import {
  lazy,
  Suspense,
  useEffect,
  useRef,
  useState,
  type CSSProperties,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
} from "react";
import { titleOf, useChartTabs } from "../charts/tabs";
import { FileView } from "../files/FileView";
import { move, show, subject, type Pane, type TabId } from "./panes";
import { closeTab, rearrange, showTab, useTabs } from "./tabs";
import { useIsTogether } from "./TypeTogether";

// Contains xterm.js, which is not needed before the first terminal.
const TerminalPane = lazy(() => import("./TerminalPane").then((module) => ({ default: module.TerminalPane })));

const ChartPane = lazy(() => import("../charts/ChartPane").then((module) => ({ default: module.ChartPane })));

const KIND = "application/x-wanlab-tab";

interface Props {
  pane: Pane;
  isActive: boolean;
  isAlone: boolean;
  style?: CSSProperties;
  /** The content beside the tabs. */
  children?: ReactNode;
}

/** A pane: its tabs, and the content of the front one. Tabs can be dragged to other panes. */
export function PaneView({ pane, isActive, isAlone, style, children }: Props) {
  const [isTarget, setIsTarget] = useState(false);
  const over = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes(KIND)) return;
    event.preventDefault();
    setIsTarget(true);
  };
  const drop = (event: DragEvent) => {
    setIsTarget(false);
    const tab = event.dataTransfer.getData(KIND) as TabId;
    if (tab) rearrange((state) => move(state, tab, pane.id));
  };
  const activate = () => {
    if (!isActive) useTabs.setState({ active: pane.id });
  };
  const look = `pane ${isActive && !isAlone ? "pane-active" : ""} ${isTarget ? "pane-target" : ""}`;
  return (
    <section
      className={look}
      style={style}
      data-pane={pane.id}
      onDragOver={over}
      onDragLeave={() => setIsTarget(false)}
      onDrop={drop}
      onPointerDownCapture={activate}
      onFocusCapture={activate}
    >
      <div className="pane-head">
        <TabRow pane={pane} />
        {children}
      </div>
      {pane.tabs.map((tab) => (
        <div key={tab} className="pane-body" role="tabpanel" id={panelId(tab)} hidden={tab !== pane.front}>
          <Content tab={tab} isInFront={tab === pane.front} />
        </div>
      ))}
    </section>
  );
}

function Content({ tab, isInFront }: { tab: TabId; isInFront: boolean }) {
  const { kind, name } = subject(tab);
  if (kind === "terminal") {
    return (
      <Suspense fallback={<p className="empty">Loading…</p>}>
        <TerminalPane id={name} />
      </Suspense>
    );
  }
  if (kind === "chart") {
    return (
      <Suspense fallback={<p className="empty">Loading…</p>}>
        <ChartPane id={name} />
      </Suspense>
    );
  }
  return <FileView path={name} isShown={isInFront} />;
}

function TabRow({ pane }: { pane: Pane }) {
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = pane.front === null ? -1 : pane.tabs.indexOf(pane.front);
    if (event.key === "Delete" && pane.front !== null) closeTab(pane.front);
    else if (step !== undefined) {
      const next = pane.tabs[(at + step + pane.tabs.length) % pane.tabs.length];
      if (next === undefined) return;
      rearrange((state) => show(state, next));
      event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')[pane.tabs.indexOf(next)]?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <div className="pane-tabs" role="tablist" aria-label="Terminals, charts and files" onKeyDown={press}>
      {pane.tabs.map((tab) => (
        <TabHead key={tab} tab={tab} isInFront={tab === pane.front} />
      ))}
    </div>
  );
}

function TabHead({ tab, isInFront }: { tab: TabId; isInFront: boolean }) {
  const { kind, name } = subject(tab);
  const known = useTabs((state) => (kind === "terminal" ? state.known[name] : undefined));
  const isTogether = useIsTogether(kind === "terminal" ? name : "");
  const head = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isInFront) head.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [isInFront]);
  const button = useRef<HTMLButtonElement>(null);
  // Otherwise, what is typed would go on to the canvas when a file covers the terminal in use.
  const wantsFocus = useTabs((state) => kind !== "terminal" && state.wantsFocus === tab);
  useEffect(() => {
    if (!wantsFocus) return;
    button.current?.focus({ preventScroll: true });
    useTabs.setState({ wantsFocus: null });
  }, [wantsFocus]);
  const chart = useChartTabs((state) => (kind === "chart" ? state.charts[name] : undefined));
  const title = chart ? titleOf(chart) : kind === "file" ? (name.split("/").at(-1) ?? name) : (known?.title ?? name);
  const isOver = known !== undefined && known.status !== null;
  const mark = isOver ? "over" : known?.is_busy ? "busy" : "idle";
  return (
    <div className="pane-tab" role="presentation" data-front={isInFront} data-together={isTogether} ref={head}>
      <button
        type="button"
        role="tab"
        className="tab"
        ref={button}
        aria-selected={isInFront}
        aria-controls={panelId(tab)}
        tabIndex={isInFront ? 0 : -1}
        title={
          kind === "chart"
            ? title
            : kind === "file"
              ? name
              : mark === "busy"
                ? "busy"
                : mark === "over"
                  ? "ended"
                  : "waiting for a command"
        }
        draggable
        onDragStart={(event) => event.dataTransfer.setData(KIND, tab)}
        onClick={() => showTab(tab)}
        onAuxClick={(event) => event.button === 1 && closeTab(tab)}
      >
        {kind === "terminal" && <span className={`mark mark-${mark}`} aria-hidden="true" />}
        {title}
      </button>
      {/* Only for the mouse: the Del key closes a tab, and a list of tabs may contain only tabs. */}
      <span className="tab-close" aria-hidden="true" title={`Close ${title} (Del)`} onClick={() => closeTab(tab)}>
        ✕
      </span>
    </div>
  );
}

function panelId(tab: TabId): string {
  return `panel-${tab.replace(/\W/g, "-")}`;
}
