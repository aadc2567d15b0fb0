/** The tool in hand: selecting, placing things of a kind, linking. */
import { create } from "zustand";
import type { Tool } from "./kinds";

interface InHand {
  tool: Tool;
  /** The node where a link begins that is being drawn. */
  linkFrom: string | null;
  /** After one link, selecting goes on: it was begun by key or at a node's handle. */
  isBorrowed: boolean;
  /** The palette's thing that is being dragged onto the canvas, and where it is. */
  carried: { tool: Tool; x: number; y: number } | null;
}

export const useTool = create<InHand>(() => ({ tool: "select", linkFrom: null, isBorrowed: false, carried: null }));

export function takeTool(tool: Tool): void {
  useTool.setState({ tool, linkFrom: null, isBorrowed: false });
}

/** Begin a link at a node: the next node that is clicked, or chosen by Tab and Enter, is its other end. */
export function beginLink(node: string): void {
  useTool.setState(({ tool }) => ({ tool: "link", linkFrom: node, isBorrowed: tool !== "link" }));
}
