import { useEffect, type PointerEvent } from "react";
import { placeTool } from "./actions";
import { Icon } from "./icons";
import { isKind, KINDS, type Tool } from "./kinds";
import { takeTool, useTool } from "./tool";
import { focusCanvas, toDocument } from "./viewport";

const TOOLS: readonly { tool: Tool; title: string; key: string }[] = [
  { tool: "select", title: "Select", key: "V" },
  { tool: "host", title: "Host", key: "H" },
  { tool: "bridge", title: "Switch", key: "S" },
  { tool: "ovs", title: "Open vSwitch", key: "O" },
  { tool: "router", title: "Router", key: "R" },
  { tool: "controller", title: "Controller", key: "C" },
  { tool: "link", title: "Link", key: "L" },
  { tool: "label", title: "Label", key: "X" },
  { tool: "frame", title: "Frame", key: "B" },
];
const DRAGGED_PX = 6;

/** The tools. Click one to use it, or drag it to the canvas to place one element. */
export function Palette() {
  const tool = useTool((state) => state.tool);
  return (
    <div className="palette" role="toolbar" aria-label="Tools" aria-orientation="vertical">
      {TOOLS.map(({ tool: offered, title, key }) => (
        <button
          key={offered}
          type="button"
          className={`palette-tool device-${offered}`}
          aria-pressed={tool === offered}
          aria-keyshortcuts={key}
          title={`${title} (${key})`}
          onClick={(event) => {
            takeTool(offered);
            // Chosen by key, so the next key is meant for the canvas.
            if (event.detail === 0) focusCanvas();
          }}
          onPointerDown={(event) => dragFromPalette(event, offered)}
        >
          <Icon name={offered} size={23} />
          <span>{title}</span>
        </button>
      ))}
    </div>
  );
}

/** Drag an element from the palette and place it where it is dropped. */
function dragFromPalette(event: PointerEvent, tool: Tool): void {
  if (event.button !== 0 || tool === "select" || tool === "link") return;
  const start = { x: event.clientX, y: event.clientY };
  const move = ({ clientX: x, clientY: y }: globalThis.PointerEvent) => {
    const isFar = Math.hypot(x - start.x, y - start.y) > DRAGGED_PX;
    if (useTool.getState().carried !== null || isFar) useTool.setState({ carried: { tool, x, y } });
  };
  const end = (released: globalThis.PointerEvent) => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    window.removeEventListener("pointercancel", end);
    const isCarried = useTool.getState().carried !== null;
    useTool.setState({ carried: null });
    if (!isCarried || released.type !== "pointerup") return;
    const under = document.elementFromPoint(released.clientX, released.clientY);
    if (under?.closest(".canvas") == null) return;
    const at = toDocument({ x: released.clientX, y: released.clientY });
    takeTool("select");
    placeTool(tool, at);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end);
}

/** The element that is being dragged, under the pointer. */
export function Carried() {
  const carried = useTool((state) => state.carried);
  useEffect(() => {
    document.body.classList.toggle("is-carrying", carried !== null);
  }, [carried]);
  if (carried === null || carried.tool === "select") return null;
  return (
    <div className={`carried device device-${carried.tool}`} style={{ left: carried.x, top: carried.y }}>
      <div className="tile">
        <Icon name={carried.tool} size={28} />
      </div>
    </div>
  );
}

/** What to do next with the selected tool. */
export function ToolHint() {
  const { tool, linkFrom } = useTool();
  const text = isKind(tool)
    ? `Click where to place the ${KINDS[tool].title === "Open vSwitch" ? "switch" : KINDS[tool].title.toLowerCase()}`
    : tool === "label" || tool === "frame"
      ? `Click where to place the ${tool}`
      : tool === "link"
        ? linkFrom === null
          ? "Drag from one node to another, or click both"
          : "Click the other node, or go to it with Tab and press Enter"
        : "";
  return (
    <div className="tool-hint" role="status">
      {text !== "" && (
        <span>
          {text} <kbd>Esc</kbd> cancels
        </span>
      )}
    </div>
  );
}
