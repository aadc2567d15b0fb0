/** F6 goes from region to region of the window, Shift+F6 back; also out of a terminal. Each pane is one. */
import { useEffect } from "react";

const REGIONS = ".top-bar, .lesson-panel, .canvas-area, .timeline, .dock .pane, .dock, .side, .pane-floating";
const FOCUSABLE = [
  ".xterm-helper-textarea",
  '[role="tab"][aria-selected="true"]',
  ".react-flow__node",
  "button:not(:disabled)",
  "input:not(:disabled)",
  "select:not(:disabled)",
  '[tabindex="0"]',
].join(",");

export function useRegionKeys(): void {
  useEffect(() => {
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, []);
}

function press(event: KeyboardEvent): void {
  if (event.key !== "F6" || event.ctrlKey || event.altKey || event.metaKey) return;
  if (document.querySelector("dialog[open]") !== null) return;
  event.preventDefault();
  event.stopPropagation();
  goTo(event.shiftKey ? -1 : 1);
}

/** Focus the next region that can be focused, after the one with the focus. */
function goTo(step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(REGIONS)].filter(
    (region) => region.offsetParent !== null || region.matches(".pane-floating"),
  );
  // The panes stand for the dock if there are any.
  const dock = all.find((region) => region.matches(".dock"));
  const hasPanes = all.some((region) => region.matches(".dock .pane"));
  const regions = all.filter((region) => region !== dock || !hasPanes);
  const focused = document.activeElement;
  let at = regions.findIndex((region) => region.contains(focused));
  if (at < 0 && dock?.contains(focused)) at = regions.findIndex((region) => dock.contains(region)) - 1;
  const count = regions.length;
  for (let tried = 1; tried <= count; tried += 1) {
    const from = at < 0 ? (step > 0 ? -1 : 0) : at;
    const region = regions[(((from + step * tried) % count) + count) % count];
    const target = region && targetIn(region);
    if (target) {
      target.focus();
      return;
    }
  }
}

/** The element to focus: a visible terminal or the front tab rather than the first button. */
function targetIn(region: HTMLElement): HTMLElement | null {
  const visible = [...region.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
    (element) => element.offsetParent !== null,
  );
  if (region.matches(".dock, .pane, .pane-floating")) {
    const terminal = visible.find((element) => element.matches(".xterm-helper-textarea"));
    if (terminal) return terminal;
  }
  if (region.matches(".timeline")) return region.querySelector<HTMLElement>('[role="slider"]');
  if (region.matches(".canvas-area")) {
    return (
      visible.find((element) => element.matches(".react-flow__node")) ?? region.querySelector<HTMLElement>(".canvas")
    );
  }
  return visible.find((element) => element.getAttribute("aria-selected") === "true") ?? visible[0] ?? null;
}
