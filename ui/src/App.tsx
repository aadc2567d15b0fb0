import { lazy, Suspense } from "react";
import { ClockBar } from "./clock/ClockBar";
import { ConnectionBanner } from "./layout/ConnectionBanner";
import { Dialogs } from "./layout/Dialogs";
import { Dock } from "./layout/Dock";
import { PopUp } from "./layout/Menu";
import { Side } from "./layout/Side";
import { Toasts } from "./layout/Toasts";
import { TopBar } from "./layout/TopBar";

// Loaded separately, so that the first paint does not wait for it.
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
 *     |    | Dock: terminals, charts, ... |              |
 *     +----+------------------------------+--------------+
 */
export function App() {
  return (
    <div className="app">
      <TopBar clock={<ClockBar />} />
      <main className="work">
        <Suspense fallback={<div className="canvas-area" />}>
          <Editor />
        </Suspense>
        <Dock />
      </main>
      <Side />
      <PopUp />
      <Dialogs />
      <Toasts />
      <ConnectionBanner />
    </div>
  );
}
