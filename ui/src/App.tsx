import { lazy, Suspense } from "react";
import { ClockBar } from "./clock/ClockBar";
import { ConnectionBanner } from "./layout/ConnectionBanner";
import { Dialogs } from "./layout/Dialogs";
import { Dock } from "./layout/Dock";
import { PopUp } from "./layout/Menu";
import { useRegionKeys } from "./layout/regions";
import { LessonPanel, Side } from "./layout/Side";
import { Toasts } from "./layout/Toasts";
import { TopBar } from "./layout/TopBar";
import "./stores/past";
import { Timeline } from "./timeline/Timeline";
import { useTabs } from "./terminals/tabs";

// Loaded separately, so that the first paint does not wait for it.
const FloatingPanes = lazy(() =>
  import("./terminals/FloatingPanes").then((module) => ({ default: module.FloatingPanes })),
);
const Editor = lazy(() => import("./editor/Editor"));

/**
 * The regions of the window:
 *
 *     +--------------------------------------------------+
 *     | TopBar: menus, file, run and stop, clock         |
 *     +----+------------------------------+--------------+
 *     | P  | canvas                       | Side:        |
 *     | a  |                              |  properties  |
 *     | l  |                              |  or lesson   |
 *     | .  +------------------------------+              |
 *     |    | Timeline: the session        |              |
 *     |    +------------------------------+              |
 *     |    | Dock: terminals, charts, ... |              |
 *     +----+------------------------------+--------------+
 */
export function App() {
  useRegionKeys();
  const floats = useTabs(({ panes }) => panes.some(({ float }) => float !== undefined));
  return (
    <div className="app">
      <ConnectionBanner />
      <TopBar clock={<ClockBar />} />
      <LessonPanel />
      <main className="work" aria-label="Network">
        <Suspense fallback={<div className="canvas-area" />}>
          <Editor />
        </Suspense>
        <Timeline />
        <Dock />
      </main>
      <Side />
      {floats && (
        <Suspense fallback={null}>
          <FloatingPanes />
        </Suspense>
      )}
      <PopUp />
      <Dialogs />
      <Toasts />
    </div>
  );
}
