import { ViewportPortal } from "@xyflow/react";
import type { Guide } from "./geometry";

const FAR = 20_000;

/** The lines that dragged elements snap to. */
export function Guides({ guides }: { guides: readonly Guide[] }) {
  if (guides.length === 0) return null;
  return (
    <ViewportPortal>
      {guides.map(({ axis, at }) => (
        <div
          key={axis}
          className={`guide guide-${axis}`}
          style={axis === "x" ? { left: at, top: -FAR, height: 2 * FAR } : { top: at, left: -FAR, width: 2 * FAR }}
        />
      ))}
    </ViewportPortal>
  );
}
