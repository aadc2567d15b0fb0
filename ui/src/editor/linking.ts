/** Drawing a link: press on a node and release on another, or click one and then the other. */
import type { PointerEvent as ReactPointerEvent } from "react";
import { addLink } from "./actions";
import { beginLink, useTool } from "./tool";

/** The node at a point of the window. */
function nodeAt(x: number, y: number): string | null {
  const node = document.elementFromPoint(x, y)?.closest<HTMLElement>(".react-flow__node-device");
  return node?.dataset.id ?? null;
}

/** The pointer was pressed on a node with the link tool, or on a node's link handle. */
export function startLinkAt(node: string, event: ReactPointerEvent | PointerEvent): void {
  if (event.button !== 0) return;
  event.preventDefault();
  const { linkFrom } = useTool.getState();
  if (linkFrom !== null && linkFrom !== node) {
    finishLink(node);
    return;
  }
  beginLink(node);
  const release = (released: PointerEvent) => {
    window.removeEventListener("pointerup", release);
    const other = nodeAt(released.clientX, released.clientY);
    if (useTool.getState().linkFrom !== node) return;
    if (other !== null && other !== node) finishLink(other);
    // Released on the same node: the next click chooses the other end.
    else if (other === null) endLinking();
  };
  window.addEventListener("pointerup", release);
}

/** Link to the node that was chosen as the other end. */
export function finishLink(node: string): void {
  const { linkFrom } = useTool.getState();
  endLinking();
  if (linkFrom !== null) addLink(linkFrom, node);
}

/** Stop linking; the link tool stays selected unless it was only borrowed. */
export function endLinking(): void {
  useTool.setState(({ isBorrowed }) => ({
    linkFrom: null,
    isBorrowed: false,
    tool: isBorrowed ? "select" : "link",
  }));
}
