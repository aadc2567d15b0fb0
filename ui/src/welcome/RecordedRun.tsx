/** A loop of a recorded run, for the empty canvas. */
import { useEffect, useRef, useState } from "react";
import { isDark, useView } from "../stores/view";
import { HEIGHT, paint, WIDTH } from "./paint";
import { RECORDING, SPEED } from "./recording";
import { tryThis } from "./tryThis";
import "./welcome.css";

/** What is shown if nothing may move: the queue is full and drops. */
const STILL_NS = 0.37e9;
const FRAME_MS = 30;

const isCalm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The recording moves only while it is seen: not in a background tab, and not where the window has no room. */
function useIsSeen(element: { current: Element | null }): boolean {
  const [isInView, setInView] = useState(false);
  const [isInFront, setInFront] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setInView(entries.at(-1)!.isIntersecting));
    observer.observe(element.current!);
    const note = () => setInFront(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", note);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", note);
    };
  }, [element]);
  return isInView && isInFront;
}

export default function RecordedRun({ isPlacing }: { isPlacing: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const instant_ns = useRef(isCalm() ? STILL_NS : 0);
  const [isPlaying, setPlaying] = useState(() => !isCalm());
  const dark = useView(isDark);
  const isSeen = useIsSeen(canvas);
  const moves = isPlaying && isSeen && !isPlacing;
  const toggle = () => setPlaying(!isPlaying);

  useEffect(() => {
    paint(canvas.current!, instant_ns.current, dark);
    if (!moves) return undefined;
    let frame = 0;
    let before_ms = performance.now();
    const step = (now_ms: number) => {
      frame = requestAnimationFrame(step);
      const passed_ms = now_ms - before_ms;
      if (passed_ms < FRAME_MS) return;
      before_ms = now_ms;
      // After a pause of the browser, it goes on from where it was.
      instant_ns.current += Math.min(passed_ms, 200) * 1e6 * SPEED;
      if (instant_ns.current >= RECORDING.length_ns) instant_ns.current = 0;
      paint(canvas.current!, instant_ns.current, dark);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [moves, dark]);

  return (
    <figure className="recorded-run">
      <canvas
        ref={canvas}
        role="img"
        aria-label="A recorded run in slow motion: two TCP flows share a link of 1 Mbit/s, fill its queue, and lose packets"
        style={{ width: WIDTH, height: HEIGHT }}
      />
      <figcaption style={isPlacing ? { visibility: "hidden" } : undefined}>
        <span>A run that was recorded, ten times slower</span>
        <button type="button" className="link-button" onClick={toggle}>
          {isPlaying ? "Pause" : "Play"}
        </button>
        <button type="button" className="button button-first" onClick={() => void tryThis()}>
          Try this
        </button>
      </figcaption>
    </figure>
  );
}
