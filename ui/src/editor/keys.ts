/** Keyboard shortcuts of the canvas and the window. */
import { useEffect, type RefObject } from "react";
import { useDocument } from "../stores/document";
import { redo, undo } from "../stores/edits";
import { isRunning } from "../stores/running";
import { select, useSelection } from "../stores/selection";
import { showDialog } from "../layout/dialogs";
import { useView } from "../stores/view";
import { openTerminal } from "../terminals/tabs";
import { newDocument, save, saveAs, showOpen } from "../files/topologies";
import { addSomewhere, deleteSelected, duplicateSelected, moveTo, places, selectAll, selectedIds } from "./actions";
import { onCopy, onPaste } from "./clipboard";
import type { Placed } from "./geometry";
import { isKind, type Tool } from "./kinds";
import { endLinking, finishLink } from "./linking";
import { openNode } from "./opening";
import { openProperties } from "./problems";
import { beginLink, takeTool, useTool } from "./tool";
import { fit, zoomIn, zoomOut, zoomTo } from "./viewport";

const TOOL_KEYS: Readonly<Record<string, Tool>> = {
  v: "select",
  h: "host",
  s: "bridge",
  o: "ovs",
  r: "router",
  c: "controller",
  x: "label",
  b: "frame",
};

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const STEP = 10;

/** Whether a key belongs to a field, a terminal, a menu or a dialog. */
function isElsewhere(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  // Without a program, a terminal needs no shortcuts.
  if (target.closest(".terminal-pane.is-ended") !== null) return false;
  return target.closest("input, textarea, select, [contenteditable], [role=menu], dialog, .xterm") !== null;
}

/** Whether the focus is on the canvas or its tools, or nowhere. */
function isOnCanvas(box: HTMLElement | null): boolean {
  const focused = document.activeElement;
  return focused === null || focused === document.body || (box?.closest(".canvas-area")?.contains(focused) ?? false);
}

export function useCanvasKeys(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isElsewhere(event.target)) return;
      const isHandled =
        event.ctrlKey || event.metaKey
          ? command(event)
          : event.altKey
            ? false
            : isOnCanvas(box.current) && plain(event);
      if (isHandled) event.preventDefault();
    };
    const release = (event: KeyboardEvent) => {
      if (event.key in ARROWS) dropNudged();
    };
    const copy = (event: ClipboardEvent) => {
      const isText = (window.getSelection()?.toString() ?? "") !== "";
      if (!isElsewhere(event.target) && isOnCanvas(box.current) && !isText) onCopy(event);
    };
    const paste = (event: ClipboardEvent) => {
      if (!isElsewhere(event.target)) onPaste(event);
    };
    const focus = (event: FocusEvent) => selectFocused(event.target);
    window.addEventListener("keydown", press);
    window.addEventListener("keyup", release);
    window.addEventListener("copy", copy);
    window.addEventListener("cut", copy);
    window.addEventListener("paste", paste);
    const canvas = box.current;
    canvas?.addEventListener("focusin", focus);
    return () => {
      window.removeEventListener("keydown", press);
      window.removeEventListener("keyup", release);
      window.removeEventListener("copy", copy);
      window.removeEventListener("cut", copy);
      window.removeEventListener("paste", paste);
      canvas?.removeEventListener("focusin", focus);
    };
  }, [box]);
}

/** Shortcuts with Ctrl. */
function command(event: KeyboardEvent): boolean {
  const key = event.key.toLowerCase();
  if (key === "z" && event.shiftKey) redo();
  else if (key === "z") undo();
  else if (key === "y") redo();
  else if (key === "s" && event.shiftKey) saveAs();
  else if (key === "s") void save();
  else if (key === "o") showOpen();
  else if (key === "a") selectAll();
  else if (key === "d") duplicateSelected();
  else if (key === ",") showDialog("preferences");
  else if (key === "=" || key === "+") zoomIn();
  else if (key === "-") zoomOut();
  else if (key === "0") zoomTo(1);
  else if (key === "b") useView.setState(({ isSideOpen }) => ({ isSideOpen: !isSideOpen }));
  else if (key === "j") useView.setState(({ isDockOpen }) => ({ isDockOpen: !isDockOpen }));
  else if (key === "n" && event.altKey) void newDocument();
  else return false;
  return true;
}

/** Shortcuts without Ctrl, on the canvas. */
function plain(event: KeyboardEvent): boolean {
  const { tool, linkFrom } = useTool.getState();
  const focused = focusedNode();
  const tools = TOOL_KEYS[event.key.toLowerCase()];
  const isOnButton = event.target instanceof Element && event.target.closest("button") !== null;
  if (isOnButton && (event.key === "Enter" || event.key === " ")) return false;
  if (event.key in ARROWS) return nudge(event);
  // The other end of a link is a node: Tab goes round among them.
  if (event.key === "Tab" && linkFrom !== null) return focusNextNode(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") escape();
  else if (event.key === "Delete" || event.key === "Backspace") deleteSelected();
  else if (event.key === "Enter") enter(tool, linkFrom, focused);
  else if (event.key === "F2") openProperties("name");
  else if (event.key.toLowerCase() === "l") link(focused);
  else if (event.key.toLowerCase() === "f") fit();
  else if (event.key.toLowerCase() === "t" && isRunning()) terminals();
  else if (tools !== undefined) takeTool(tools);
  else return false;
  return true;
}

function escape(): void {
  const { tool, linkFrom } = useTool.getState();
  if (linkFrom !== null) endLinking();
  else if (tool !== "select") takeTool("select");
  else select([]);
}

function enter(tool: Tool, linkFrom: string | null, focused: string | null): void {
  if (linkFrom !== null && focused !== null && focused !== linkFrom) finishLink(focused);
  else if (isKind(tool) || tool === "label" || tool === "frame") {
    addSomewhere(tool);
    if (!isKind(tool)) takeTool("select");
  } else if (focused !== null && focused in useDocument.getState().nodes) openNode(focused);
  else openProperties();
}

/** Begin a link at the focused node, or at the selected one; otherwise choose the link tool. */
function link(focused: string | null): void {
  const { nodes } = useDocument.getState();
  const chosen = selectedIds().filter((id) => id in nodes);
  const from = focused ?? (chosen.length === 1 ? (chosen[0] ?? null) : null);
  if (from !== null && from in nodes) beginLink(from);
  else takeTool("link");
}

function terminals(): void {
  const { nodes } = useDocument.getState();
  for (const id of selectedIds()) {
    if (nodes[id]?.kind === "host" || nodes[id]?.kind === "router") void openTerminal(id);
  }
}

function focusNextNode(step: 1 | -1): boolean {
  const nodes = [...document.querySelectorAll<HTMLElement>(".react-flow__node-device")];
  const at = nodes.findIndex((node) => node.dataset.id === focusedNode());
  if (at < 0) return false;
  nodes[(at + step + nodes.length) % nodes.length]?.focus();
  return true;
}

function focusedNode(): string | null {
  const node = document.activeElement?.closest<HTMLElement>(".react-flow__node");
  return node?.dataset.id ?? null;
}

/** Select a node that gets the focus by Tab, so that its properties are shown. */
function selectFocused(target: EventTarget | null): void {
  const node = target instanceof Element ? target.closest<HTMLElement>(".react-flow__node") : null;
  if (node === null || target !== node || !node.matches(":focus-visible")) return;
  const id = node.dataset.id;
  if (id !== undefined && useTool.getState().linkFrom === null && !useSelection.getState().ids.has(id)) {
    select([id]);
  }
}

// -- moving with the arrow keys: one edit when the key is released ------------------------------------

let nudged: { dx: number; dy: number; from: Placed[] } | null = null;
let listener: ((moved: readonly Placed[]) => void) | null = null;

/** Subscribe to moves that are shown before the document changes. */
export function onNudge(onMove: (moved: readonly Placed[]) => void): () => void {
  listener = onMove;
  return () => {
    listener = null;
  };
}

function nudge(event: KeyboardEvent): boolean {
  const direction = ARROWS[event.key];
  const ids = new Set(selectedIds());
  const from = nudged?.from ?? places().filter(({ id }) => ids.has(id));
  if (direction === undefined || from.length === 0) return false;
  const step = event.shiftKey ? 1 : useView.getState().snapsToGrid ? 20 : STEP;
  nudged = {
    dx: (nudged?.dx ?? 0) + direction[0] * step,
    dy: (nudged?.dy ?? 0) + direction[1] * step,
    from,
  };
  listener?.(moved());
  return true;
}

function moved(): Placed[] {
  if (nudged === null) return [];
  const { dx, dy, from } = nudged;
  return from.map(({ id, x, y }) => ({ id, x: x + dx, y: y + dy }));
}

function dropNudged(): void {
  const targets = moved();
  nudged = null;
  if (targets.length > 0) moveTo(targets);
}
