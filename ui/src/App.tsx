import { lazy, Suspense } from "react";
import { ClockBar } from "./clock/ClockBar";
import { ConnectionBanner } from "./layout/ConnectionBanner";
import { Dialogs } from "./layout/Dialogs";
import { Dock } from "./layout/Dock";
import { PopUp } from "./layout/Menu";
import { Side } from "./layout/Side";
import { Toasts } from "./layout/Toasts";
import { TopBar } from "./layout/TopBar";

// What is heavy and not on the first picture comes in pieces of its own.
const Editor = lazy(() => import("./editor/Editor"));

/**
 * The regions:
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
