import type { NodeProps } from "@xyflow/react";
import { memo } from "react";
import type { LabelFlow } from "./flow";

/** A text on the canvas. */
export const LabelNode = memo(function LabelNode({ data, selected }: NodeProps<LabelFlow>) {
  return <div className={`note ${selected ? "is-selected" : ""}`}>{data.label.text || "(empty)"}</div>;
});
