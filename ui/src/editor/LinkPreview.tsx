import { useEffect, useRef, useState } from "react";
import type { Point } from "./geometry";
import { useTool } from "./tool";

/** The line from the beginning of a new link to the pointer. */
export function LinkPreview() {
  const from = useTool((state) => state.linkFrom);
  const [to, setTo] = useState<Point | null>(null);
  const box = useRef<SVGSVGElement>(null);

  useEffect(() => {
    setTo(null);
    if (from === null) return undefined;
    const follow = (event: PointerEvent) => setTo({ x: event.clientX, y: event.clientY });
    window.addEventListener("pointermove", follow);
    return () => window.removeEventListener("pointermove", follow);
  }, [from]);

  const frame = box.current?.getBoundingClientRect();
  const tile =
    from === null
      ? null
      : document.querySelector(`.react-flow__node[data-id="${CSS.escape(from)}"] .tile`)?.getBoundingClientRect();
  const isShown = frame !== undefined && tile !== null && tile !== undefined && to !== null;
  return (
    <svg className="link-preview" ref={box} aria-hidden="true">
      {isShown && (
        <line
          x1={tile.left + tile.width / 2 - frame.left}
          y1={tile.top + tile.height / 2 - frame.top}
          x2={to.x - frame.left}
          y2={to.y - frame.top}
        />
      )}
    </svg>
  );
}
