/** The time-sequence graph of a flow in a capture, with zoom by wheel, mouse and keyboard. */
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { errorText } from "../connection";
import { Icon } from "../editor/icons";
import type { TimeSequencePage } from "../protocol";
import { flowTitles } from "../charts/paths";
import { useDocument } from "../stores/document";
import { endHover, hoverAt, useHover } from "../stores/hover";
import { useRunning } from "../stores/running";
import { isDark, useView } from "../stores/view";
import { BOTTOM, draw, LEFT, type Colours } from "./drawSequence";
import { fetched } from "./fetched";
import {
  between,
  lossBeside,
  lossText,
  moved,
  nearText,
  pointAt,
  sequenceOf,
  summaryText,
  viewOfLoss,
  zoomed,
  zoomedInMiddle,
  type Sequence as Data,
  type View,
} from "./sequence";

const REFRESH_MS = 2000;
const [STEP, WHEEL_STEP] = [0.15, 1.25];
const DRAG_PX = 4;

interface Props {
  path: string;
  version: number;
  /** "10.0.0.1:40000 > 10.0.0.2:5201"; "" for the flow with the most bytes. */
  flow: string;
  isGrowing: boolean;
  onFlow: (flow: string) => void;
  onList: () => void;
}

export function Sequence({ path, version, flow, isGrowing, onFlow, onList }: Props) {
  const [data, setData] = useState<Data | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    let isWanted = true;
    let timer = 0;
    const read = async () => {
      try {
        const page = await fetched<TimeSequencePage>(path, { sequence: flow });
        if (!isWanted) return;
        setData(sequenceOf(page));
        setError("");
      } catch (reason) {
        if (isWanted) setError(errorText(reason));
      }
      if (isWanted && isGrowing) timer = window.setTimeout(() => void read(), REFRESH_MS);
    };
    void read();
    return () => {
      isWanted = false;
      window.clearTimeout(timer);
    };
  }, [path, version, flow, isGrowing]);
  const flows = useMemo(() => data?.page.flows ?? [], [data]);
  const titles = useTitles(flows);
  const chosen = data?.page.flow ?? flow;
  return (
    <div className="sequence">
      <p className="packet-tools">
        <button type="button" className="button" onClick={onList}>
          Packet list
        </button>
        <label className="clock-choice">
          <select aria-label="Flow" title="Flow" value={chosen} onChange={(event) => onFlow(event.target.value)}>
            {flows.map((one, index) => (
              <option key={one} value={one}>
                {titles[index]}
              </option>
            ))}
          </select>
        </label>
        <span className="hint" role="status">
          {error !== ""
            ? error
            : data === null
              ? "Loading…"
              : `${summaryText(data)}${isGrowing ? ", still capturing" : ""}`}
        </span>
      </p>
      {data !== null && data.sent_s.length > 0 && (
        <Graph key={chosen} data={data} title={titles[flows.indexOf(chosen)] ?? chosen} />
      )}
    </div>
  );
}

function useTitles(flows: readonly string[]): readonly string[] {
  const ports = useRunning((state) => state.run.ports);
  const nodes = useDocument((state) => state.nodes);
  return useMemo(() => flowTitles(flows, ports, (node) => nodes[node]?.name ?? node), [flows, ports, nodes]);
}

function Graph({ data, title }: { data: Data; title: string }) {
  /** Null: all, also of what is still to come. */
  const [zoom, setZoom] = useState<View | null>(null);
  const [loss, setLoss] = useState<number | null>(null);
  const [near, setNear] = useState("");
  const [dragged, setDragged] = useState<{ x: number; y: number; toX: number; toY: number } | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useView(isDark);
  const view = zoom ?? data.whole;

  const size = useCallback(() => {
    const { width, height } = frame.current!.getBoundingClientRect();
    return { width: Math.max(width - LEFT, 1), height: Math.max(height - BOTTOM, 1) };
  }, []);
  const change = useCallback((made: View | null) => {
    setZoom(made);
    setLoss(null);
  }, []);

  useEffect(() => {
    const [place, element] = [frame.current!, canvas.current!];
    const colours = coloursOf(place);
    const paint = () => {
      const { width, height } = place.getBoundingClientRect();
      const scale = window.devicePixelRatio;
      element.width = Math.round(width * scale);
      element.height = Math.round(height * scale);
      const context = element.getContext("2d")!;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      const { at_s, from } = useHover.getState();
      draw(
        context,
        { width, height },
        { sequence: data, view, colours, at_s: from === "packets" ? null : at_s, dragged },
      );
    };
    paint();
    const watcher = new ResizeObserver(paint);
    watcher.observe(place);
    const endHovering = useHover.subscribe(({ from }, before) => {
      if (from !== "packets" || before.from !== "packets") paint();
    });
    return () => {
      watcher.disconnect();
      endHovering();
    };
  }, [data, view, dragged, dark]);

  // React's wheel events are passive, and the page must not scroll.
  useEffect(() => {
    const place = frame.current!;
    const turn = (event: WheelEvent) => {
      event.preventDefault();
      const { left, top } = place.getBoundingClientRect();
      const at = pointAt(view, size(), event.clientX - left - LEFT, event.clientY - top);
      if (event.shiftKey) change(moved(view, (STEP * Math.sign(event.deltaY || event.deltaX)) / 2, 0));
      else change(zoomed(view, event.deltaY > 0 ? WHEEL_STEP : 1 / WHEEL_STEP, at.s, at.b));
    };
    place.addEventListener("wheel", turn, { passive: false });
    return () => place.removeEventListener("wheel", turn);
  }, [view, size, change]);

  const goToLoss = (way: 1 | -1) => {
    const index = lossBeside(data.losses, loss, view, way);
    if (index === null) return;
    setZoom(viewOfLoss(data, data.losses[index]!));
    setLoss(index);
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => change(moved(view, -STEP, 0)),
      ArrowRight: () => change(moved(view, STEP, 0)),
      ArrowUp: () => change(moved(view, 0, STEP)),
      ArrowDown: () => change(moved(view, 0, -STEP)),
      "+": () => change(zoomedInMiddle(view, 1 / 1.5)),
      "=": () => change(zoomedInMiddle(view, 1 / 1.5)),
      "-": () => change(zoomedInMiddle(view, 1.5)),
      Home: () => change(null),
      n: () => goToLoss(1),
      p: () => goToLoss(-1),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  const inside = (event: PointerEvent): [number, number] => {
    const { left, top } = frame.current!.getBoundingClientRect();
    return [event.clientX - left - LEFT, event.clientY - top];
  };
  const move = (event: PointerEvent) => {
    const [x, y] = inside(event);
    if (dragged !== null) return setDragged({ ...dragged, toX: x, toY: y });
    setNear(nearText(data, view, size(), x, y));
    return hoverAt(pointAt(view, size(), x, y).s, "packets");
  };
  const release = (event: PointerEvent) => {
    if (dragged === null) return;
    setDragged(null);
    const [x, y] = inside(event);
    if (Math.hypot(x - dragged.x, y - dragged.y) < DRAG_PX) return;
    change(between(pointAt(view, size(), dragged.x, dragged.y), pointAt(view, size(), x, y)));
  };
  const tool = (
    words: string,
    keys: string,
    icon: Parameters<typeof Icon>[0]["name"],
    run: () => void,
    isOff = false,
  ) => (
    <button
      type="button"
      className="icon-button"
      aria-label={words}
      title={`${words} (${keys})`}
      disabled={isOff}
      onClick={run}
    >
      <Icon name={icon} size={15} />
    </button>
  );
  const isWindowUnknown = data.page.answers.window_ends.every((end) => end == null);
  return (
    <>
      <p className="sequence-tools" role="toolbar" aria-label="Time–sequence graph">
        {tool("Zoom in", "+ or wheel", "plus", () => change(zoomedInMiddle(view, 1 / 1.5)))}
        {tool("Zoom out", "− or wheel", "minus", () => change(zoomedInMiddle(view, 1.5)))}
        {tool("Show all", "Home or double-click", "fit", () => change(null), zoom === null)}
        <button
          type="button"
          className="icon-button"
          disabled={data.losses.length === 0}
          title="Previous loss (P)"
          onClick={() => goToLoss(-1)}
        >
          ◂ Loss
        </button>
        <button
          type="button"
          className="icon-button"
          disabled={data.losses.length === 0}
          title="Next loss (N)"
          onClick={() => goToLoss(1)}
        >
          Loss ▸
        </button>
        <Legend isWindowUnknown={isWindowUnknown} data={data} />
      </p>
      <div
        className="sequence-frame"
        ref={frame}
        role="application"
        tabIndex={0}
        aria-label={`Time–sequence graph of ${title}. Plus and minus zoom, arrows move, N and P go to the next and the previous loss, Home shows all.`}
        onKeyDown={press}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const [x, y] = inside(event);
          setDragged({ x, y, toX: x, toY: y });
        }}
        onPointerMove={move}
        onPointerUp={release}
        onPointerLeave={() => {
          setNear("");
          endHover("packets");
        }}
        onDoubleClick={() => change(null)}
      >
        <canvas ref={canvas} />
      </div>
      <p className="sequence-note" role="status">
        {near !== "" ? near : loss !== null ? lossText(data.losses, loss) : "Drag to zoom in, double-click to see all."}
      </p>
    </>
  );
}

function Legend({ data, isWindowUnknown }: { data: Data; isWindowUnknown: boolean }) {
  const { sent, answers } = data.page;
  const entries = [
    ["sent", "segment", true],
    ["again", "sent again", sent.kinds.some((kind) => kind !== "new")],
    ["lost", "✕ lost", sent.fates.includes("lost")],
    ["lost", "○ sent again later", sent.fates.includes("resent")],
    ["acknowledged", "acknowledged", true],
    ["sack", "SACK", answers.sacks.some((blocks) => blocks.length > 0)],
    ["window", isWindowUnknown ? "window unknown: no handshake" : "receive window", true],
  ] as const;
  return (
    <span className="sequence-legend">
      {entries.map(
        ([mark, words, isShown]) =>
          isShown && (
            <span key={words} data-mark={mark}>
              {words}
            </span>
          ),
      )}
    </span>
  );
}

function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    grid: colour("--line"),
    text: colour("--text-soft"),
    sent: colour("--host"),
    again: colour("--error"),
    acknowledged: colour("--good"),
    sack: colour("--controller"),
    window: colour("--text-faint"),
    mark: colour("--accent"),
    font: colour("--font"),
  };
}
