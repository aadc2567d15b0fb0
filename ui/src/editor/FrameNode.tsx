import { NodeResizer, type NodeProps, type ResizeParams } from "@xyflow/react";
import { memo, useCallback } from "react";
import { useDocument } from "../stores/document";
import { edit } from "../stores/edits";
import type { FrameFlow } from "./flow";

const MIN_WIDTH = 60;
const MIN_HEIGHT = 40;

/** A rectangle behind the nodes. Only its edge and its text take the pointer, so that one can draw inside. */
export const FrameNode = memo(function FrameNode({ id, data, selected }: NodeProps<FrameFlow>) {
  const { text, colour } = data.frame;
  // The same function in every render, because another one would end the dragging of a corner.
  const resize = useCallback(
    (_: unknown, { x, y, width, height }: ResizeParams) => {
      const frame = useDocument.getState().frames[id];
      const [left, top, wide, high] = [x, y, width, height].map(Math.round) as [number, number, number, number];
      if (frame !== undefined)
        void edit("Resize frame", { frames: [{ ...frame, x: left, y: top, width: wide, height: high }] });
    },
    [id],
  );
  return (
    <div className={`frame frame-${colour || "grey"} ${selected ? "is-selected" : ""}`}>
      {(["top", "right", "bottom", "left"] as const).map((side) => (
        <div key={side} className={`frame-edge frame-edge-${side}`} />
      ))}
      <NodeResizer
        isVisible={selected}
        minWidth={MIN_WIDTH}
        minHeight={MIN_HEIGHT}
        handleClassName="frame-handle"
        lineClassName="frame-line"
        onResizeEnd={resize}
      />
      {text !== "" && <div className="frame-text">{text}</div>}
    </div>
  );
});
