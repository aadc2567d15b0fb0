import "./terminals.css";
import { useCallback, useEffect, useRef, type KeyboardEvent, type PointerEvent } from "react";
import { PaneView } from "./PaneView";
import { dock, placed, type Frame, type Pane } from "./panes";
import { rearrange, useTabs } from "./tabs";

/** Panes that float above the page. */
export function FloatingPanes() {
  const { panes, active } = useTabs();
  return panes.map((pane) =>
    pane.float === undefined ? null : (
      <Floating key={pane.id} pane={pane} frame={pane.float} isActive={pane.id === active} />
    ),
  );
}

const STEP = 20;
/** How much of a pane stays within the window. */
const VISIBLE = 80;
const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

function Floating({ pane, frame, isActive }: { pane: Pane; frame: Frame; isActive: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(frame);
  latest.current = frame;
  const place = useCallback(
    (change: Partial<Frame>) =>
      rearrange((state) => placed(state, pane.id, inWindow({ ...latest.current, ...change }))),
    [pane.id],
  );
  // The browser lets the user resize it at its corner.
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(() => {
      const { width, height } = element.getBoundingClientRect();
      const isSame = Math.abs(width - latest.current.width) < 1 && Math.abs(height - latest.current.height) < 1;
      if (!isSame && width > 0) place({ width, height });
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [place]);
  const drag = (event: PointerEvent<HTMLButtonElement>) => {
    const [startX, startY, { x, y }] = [event.clientX, event.clientY, latest.current];
    const grip = event.currentTarget;
    grip.setPointerCapture(event.pointerId);
    const move = (moved: globalThis.PointerEvent) =>
      place({ x: x + moved.clientX - startX, y: y + moved.clientY - startY });
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", move), { once: true });
  };
  const press = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (arrow === undefined) return;
    event.preventDefault();
    const [dx, dy] = [arrow[0] * STEP, arrow[1] * STEP];
    const { x, y, width, height } = latest.current;
    place(
      event.shiftKey
        ? { width: Math.max(240, width + dx), height: Math.max(140, height + dy) }
        : { x: x + dx, y: y + dy },
    );
  };
  const shown = inWindow(frame);
  return (
    <div
      ref={box}
      className="pane-floating"
      role="region"
      aria-label="Floating pane"
      style={{ left: shown.x, top: shown.y, width: shown.width, height: shown.height }}
    >
      <PaneView pane={pane} isActive={isActive} isAlone={false}>
        <button
          type="button"
          className="pane-grip"
          aria-label="Move the pane"
          title="Drag to move; arrow keys move, with Shift they resize"
          onPointerDown={drag}
          onKeyDown={press}
        >
          ✥
        </button>
        <button
          type="button"
          className="icon-button"
          title="Put this pane back beside the terminals"
          onClick={() => rearrange((state) => dock(state, pane.id))}
        >
          Dock
        </button>
      </PaneView>
    </div>
  );
}

function inWindow({ x, y, width, height }: Frame): Frame {
  return {
    x: Math.round(Math.min(Math.max(x, VISIBLE - width), window.innerWidth - VISIBLE)),
    y: Math.round(Math.min(Math.max(y, 0), window.innerHeight - VISIBLE / 2)),
    width: Math.min(width, window.innerWidth),
    height: Math.min(height, window.innerHeight),
  };
}
