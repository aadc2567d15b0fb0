import type { PointerEvent, KeyboardEvent } from "react";

interface Props {
  label: string;
  /** A horizontal divider is dragged up and down. */
  orientation: "horizontal" | "vertical";
  /** Whether it resizes the first region, on its left, instead of the second. */
  isFirst?: boolean;
  size: number;
  smallest: number;
  largest: number;
  onSize: (size: number) => void;
}

const STEP = 24;

/** The line between two regions, moved by dragging or with the arrow keys. It resizes the second. */
export function Divider({ label, orientation, isFirst = false, size, smallest, largest, onSize }: Props) {
  const set = (wanted: number) => onSize(Math.round(Math.min(Math.max(wanted, smallest), largest)));
  const at = (event: PointerEvent) => (orientation === "horizontal" ? event.clientY : event.clientX);

  const drag = (event: PointerEvent<HTMLDivElement>) => {
    event.preventDefault();
    const handle = event.currentTarget;
    const started = at(event);
    handle.setPointerCapture(event.pointerId);
    const move = (moved: globalThis.PointerEvent) =>
      set(size + (isFirst ? -1 : 1) * (started - (orientation === "horizontal" ? moved.clientY : moved.clientX)));
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", move), {
      once: true,
    });
  };
  const press = (event: KeyboardEvent) => {
    const larger = orientation === "horizontal" ? "ArrowUp" : "ArrowLeft";
    const smaller = orientation === "horizontal" ? "ArrowDown" : "ArrowRight";
    if (event.key === (isFirst ? smaller : larger)) set(size + STEP);
    else if (event.key === (isFirst ? larger : smaller)) set(size - STEP);
    else return;
    event.preventDefault();
  };
  return (
    <div
      className={`divider divider-${orientation} ${isFirst ? "divider-first" : ""}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={orientation}
      aria-valuenow={size}
      aria-valuemin={smallest}
      aria-valuemax={largest}
      onPointerDown={drag}
      onKeyDown={press}
    />
  );
}
