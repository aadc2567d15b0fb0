/** The selected tool: select, place elements of a kind, or link. */
import { create } from "zustand";
import type { Tool } from "./kinds";

interface ToolState {
  tool: Tool;
  /** The node where the link that is being drawn begins. */
  linkFrom: string | null;
  /** Whether to return to the select tool after one link: it was begun by key or at a node's handle. */
  isBorrowed: boolean;
  /** The element that is being dragged from the palette, and where it is. */
  carried: { tool: Tool; x: number; y: number } | null;
}

export const useTool = create<ToolState>(() => ({ tool: "select", linkFrom: null, isBorrowed: false, carried: null }));

export function takeTool(tool: Tool): void {
  useTool.setState({ tool, linkFrom: null, isBorrowed: false });
}

/** Begin a link at a node. The next node that is clicked, or chosen with Tab and Enter, is its end. */
export function beginLink(node: string): void {
  useTool.setState(({ tool }) => ({ tool: "link", linkFrom: node, isBorrowed: tool !== "link" }));
}
