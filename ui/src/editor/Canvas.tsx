import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  MiniMap,
  ReactFlow,
  SelectionMode,
  useReactFlow,
  useStore,
  useStoreApi,
  type EdgeChange,
  type EdgeTypes,
  type NodeChange,
  type NodePositionChange,
  type NodeTypes,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type MouseEvent,
  type RefObject,
} from "react";
import { flushSync } from "react-dom";
import { useDocument } from "../stores/document";
import { select, useSelection } from "../stores/selection";
import { useWatchedTraffic } from "../stores/traffic";
import { useWatchedLoads } from "../stores/watchedLoads";
import { isDark, useView } from "../stores/view";
import { moveTo, placeTool } from "./actions";
import { DeviceNode } from "./DeviceNode";
import { FrameNode } from "./FrameNode";
import { flowLinks, flowNodes, type AnyFlow, type DeviceFlow, type LinkFlow } from "./flow";
import { align, TILE, type Guide } from "./geometry";
import { FarLayer, type Scene } from "./FarLayer";
import { Guides } from "./Guides";
import { onNudge, useCanvasKeys } from "./keys";
import { isKind } from "./kinds";
import { LabelNode } from "./LabelNode";
import { LinkEdge } from "./LinkEdge";
import { startLinkAt } from "./linking";
import { LinkPreview } from "./LinkPreview";
import { canvasMenu, linkMenu, nodeMenu } from "./menus";
import { boundsOf, linkNear, MANY, nodeAt, TEXTS_FROM, touched, useAttention, useNearby } from "./nearby";
import { openNode } from "./opening";
import { Overview } from "./Overview";
import { PacketLayer } from "../packets/PacketLayer";
import { useRunning } from "../stores/running";
import { openProperties } from "./problems";
import { popUp } from "../layout/Menu";
import { useTool } from "./tool";
import { centreOn, elementOf, fit, fitAgain, focusElement, leaveFit, MIN_ZOOM, setFlow, toDocument } from "./viewport";

const NODE_TYPES: NodeTypes = { device: DeviceNode, label: LabelNode, frame: FrameNode };
const EDGE_TYPES: EdgeTypes = { link: LinkEdge };
const GRID: [number, number] = [20, 20];
const CENTRE: [number, number] = [0.5, 0.5];
const PAN_BUTTONS = [1];
const SNAP_PX = 6;
const NO_GUIDES: readonly Guide[] = [];
// React Flow renders all nodes and links again when one of its properties is another object or function,
// so these are the same ones in each render.
const SELECTION_KEYS = ["Shift", "Control", "Meta"];
const PRO_OPTIONS = { hideAttribution: true };

/** The canvas. Dragged elements move here only; the document changes when they are dropped. */
export function Canvas() {
  const { nodes, links, labels, frames, revision } = useDocument();
  const selected = useSelection((state) => state.ids);
  const tool = useTool((state) => state.tool);
  const view = useView();
  const { showsMinimap, snapsToGrid } = view;
  const flow = useReactFlow<AnyFlow, LinkFlow>();
  const isFar = useStore((state) => state.transform[2] < TEXTS_FROM);
  const isRunning = useRunning((state) => state.run.phase === "running");
  const box = useRef<HTMLDivElement>(null);
  const isDragging = useRef(false);
  const isBanding = useRef(false);
  const [guides, setGuides] = useState(NO_GUIDES);
  const [drawn, setDrawn] = useState<AnyFlow[]>([]);
  // The drawn nodes without waiting for React, because a drop must see the last move.
  const now = useRef(drawn);
  const draw = useCallback((next: (before: AnyFlow[]) => AnyFlow[]) => {
    now.current = next(now.current);
    setDrawn(now.current);
  }, []);
  const drawDrag = useDrawnInFrame(setDrawn, setGuides, now);

  useLayoutEffect(() => {
    draw((before) => flowNodes(nodes, labels, frames, selected, before));
  }, [draw, nodes, labels, frames, selected]);
  const isLarger = useIsOutside(drawn);
  const linesBefore = useRef<LinkFlow[]>([]);
  const lines = useMemo(() => {
    linesBefore.current = flowLinks(links, nodes, selected, linesBefore.current);
    return linesBefore.current;
  }, [links, nodes, selected]);
  const isMany = drawn.length > MANY;
  const nearby = useNearby(drawn, lines);
  const scene = useMemo<Scene>(() => ({ drawn, lines, nearby }), [drawn, lines, nearby]);

  useEffect(() => {
    setFlow(flow as never, box.current);
    return () => setFlow(null, null);
  }, [flow]);
  useFitted(revision);
  useKeptInView(isLarger);
  useWatchedTraffic();
  useWatchedLoads();
  useCanvasKeys(box);
  useBand(isBanding, now);
  useEffect(
    () =>
      onNudge((moved) => {
        const positions = new Map(moved.map(({ id, x, y }) => [id, { x, y }]));
        draw((before) =>
          before.map((node) => {
            const position = positions.get(node.id);
            return position === undefined ? node : { ...node, position };
          }),
        );
      }),
    [draw],
  );

  const onNodesChange = useCallback(
    (changes: NodeChange<AnyFlow>[]) => {
      applySelection(changes);
      const moves = changes.filter((change) => change.type !== "select" && change.type !== "remove");
      if (moves.length === 0) return;
      if (isDragging.current) {
        const guides = useView.getState().snapsToGrid ? NO_GUIDES : snap(moves, now.current, SNAP_PX / flow.getZoom());
        moves.push(...followers(moves, now.current));
        now.current = applyNodeChanges(moves, now.current);
        drawDrag(guides);
      } else draw((before) => applyNodeChanges(moves, before));
    },
    [flow, draw, drawDrag],
  );
  const onEdgesChange = useCallback((changes: EdgeChange<LinkFlow>[]) => {
    if (!isBanding.current) applySelection(changes);
  }, []);
  const startBand = useCallback(() => {
    isBanding.current = true;
  }, []);
  const endBand = useCallback(() => {
    isBanding.current = false;
    selectLinksBetween();
  }, []);
  const startDrag = useCallback(() => {
    isDragging.current = true;
  }, []);
  const drop = useCallback(() => {
    isDragging.current = false;
    drawDrag(NO_GUIDES);
    moveTo(now.current.map(({ id, position: { x, y } }) => ({ id, x: Math.round(x), y: Math.round(y) })));
  }, [drawDrag]);

  const { isFar: isDrawn } = nearby;
  const place = useCallback(
    (event: MouseEvent) => {
      const { tool: used } = useTool.getState();
      const at = toDocument({ x: event.clientX, y: event.clientY });
      if (used === "label" || used === "frame") {
        useTool.setState({ tool: "select" });
        placeTool(used, at);
      } else if (isKind(used)) placeTool(used, at);
      else if (used === "select") {
        const near = isDrawn ? (nodeAt(at, now.current) ?? farLinkAt(at, flow.getZoom())) : null;
        select(near === null ? [] : [near]);
      }
    },
    [flow, isDrawn],
  );
  const popUpOnPane = useCallback(
    (event: MouseEvent | globalThis.MouseEvent) => {
      event.preventDefault();
      const [x, y] = pointOf(event as MouseEvent);
      const near = isDrawn ? farLinkAt(toDocument({ x, y }), flow.getZoom()) : null;
      if (near !== null) {
        select([near]);
        popUp("Link", linkMenu(near), x, y);
        return;
      }
      popUp("Canvas", canvasMenu(toDocument({ x, y })), x, y);
    },
    [flow, isDrawn],
  );
  const isSelecting = tool === "select";
  return (
    <div
      ref={box}
      className={`canvas ${isFar ? "is-far" : ""} ${nearby.isFar ? "is-drawn" : ""} tool-${isSelecting ? "select" : tool === "link" ? "link" : "place"}`}
      role="application"
      aria-label="Canvas"
      tabIndex={-1}
      onPointerMoveCapture={(event) => {
        if (isMany && !isDragging.current && !isBanding.current) {
          attend(nodeAt(toDocument({ x: event.clientX, y: event.clientY }), now.current));
        }
      }}
      onPointerLeave={() => {
        if (!isDragging.current) attend(null);
      }}
      onKeyDownCapture={(event) => {
        if (isMany && event.key === "Tab" && tabTo(event.shiftKey ? -1 : 1, now.current)) event.preventDefault();
      }}
      onFocusCapture={(event) => useAttention.setState({ focused: nodeUnder(event.target) })}
      onPointerDownCapture={(event) => {
        const node = nodeUnder(event.target);
        if (node === null) return;
        if (tool === "link") {
          event.stopPropagation();
          startLinkAt(node, event);
        } else if (isSelecting && !useSelection.getState().ids.has(node)) {
          // React Flow does not know selected nodes that are not elements, so it would keep them.
          if (isMany && event.button === 0) selectOnly(event, { id: node });
        }
      }}
    >
      <ReactFlow<AnyFlow, LinkFlow>
        nodes={nearby.nodes}
        edges={nearby.links}
        onlyRenderVisibleElements={isMany && !nearby.isFar}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        nodeOrigin={CENTRE}
        colorMode={isDark(view) ? "dark" : "light"}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onNodeDragStart={startDrag}
        onNodeDragStop={drop}
        onSelectionStart={startBand}
        onSelectionEnd={endBand}
        onPaneClick={place}
        onNodeClick={isSelecting ? selectOnly : nothing}
        onNodeDoubleClick={open}
        onEdgeDoubleClick={openLink}
        onNodeContextMenu={popUpOnNode}
        onEdgeContextMenu={popUpOnLink}
        onPaneContextMenu={popUpOnPane}
        onMoveStart={leaveFitByHand}
        nodesDraggable={isSelecting}
        elementsSelectable={isSelecting}
        nodesConnectable={false}
        nodesFocusable
        edgesFocusable={false}
        disableKeyboardA11y
        selectionOnDrag={isSelecting}
        selectionMode={SelectionMode.Partial}
        multiSelectionKeyCode={SELECTION_KEYS}
        selectionKeyCode={null}
        deleteKeyCode={null}
        panOnDrag={PAN_BUTTONS}
        panActivationKeyCode="Space"
        panOnScroll
        zoomOnDoubleClick={false}
        minZoom={MIN_ZOOM}
        maxZoom={3}
        snapToGrid={snapsToGrid}
        snapGrid={GRID}
        nodeDragThreshold={3}
        elevateNodesOnSelect={false}
        proOptions={PRO_OPTIONS}
      >
        {isMany && <FarLayer scene={scene} />}
        {isRunning && <PacketLayer lines={lines} drawn={drawn} />}
        <Background variant={BackgroundVariant.Dots} gap={20} size={1.4} color="var(--canvas-dot)" />
        <Guides guides={guides} />
        {showsMinimap && isLarger && isMany && <Overview drawn={drawn} colourOf={colourOf} />}
        {showsMinimap && isLarger && !isMany && (
          <MiniMap
            pannable
            zoomable
            ariaLabel="Overview"
            nodeColor={colourOf}
            nodeBorderRadius={10}
            style={{ width: 150, height: 100 }}
          />
        )}
      </ReactFlow>
      <LinkPreview />
    </div>
  );
}

function nodeUnder(target: EventTarget): string | null {
  return (target as Element).closest<HTMLElement>(".react-flow__node-device")?.dataset.id ?? null;
}

function open(_: MouseEvent, { id }: { id: string }): void {
  openNode(id);
}

function openLink(_: MouseEvent, { id }: { id: string }): void {
  select([id]);
  openProperties();
}

function popUpOnNode(event: MouseEvent, { id }: { id: string }): void {
  event.preventDefault();
  if (!useSelection.getState().ids.has(id)) select([id]);
  popUp("Node", nodeMenu(id), ...pointOf(event));
}

function popUpOnLink(event: MouseEvent, { id }: { id: string }): void {
  event.preventDefault();
  select([id]);
  popUp("Link", linkMenu(id), ...pointOf(event));
}

function leaveFitByHand(event: unknown): void {
  if (event !== null) leaveFit(); // without an event, a program has moved the canvas
}

/** Without a click handler React Flow lets pointers pass through nodes, but the link tool needs them. */
function nothing(): void {}

/** Select a node alone, also if it is one of several selected ones. */
function selectOnly(event: MouseEvent, { id }: { id: string }): void {
  if (!event.shiftKey && !event.ctrlKey && !event.metaKey) select([id]);
}

/** Apply React Flow's selection changes to our own selection, which everything else uses. */
function applySelection(changes: readonly (NodeChange<AnyFlow> | EdgeChange<LinkFlow>)[]): void {
  const chosen = changes.filter((change) => change.type === "select");
  if (chosen.length === 0) return;
  const ids = new Set(useSelection.getState().ids);
  for (const change of chosen) {
    if (change.selected) ids.add(change.id);
    else ids.delete(change.id);
  }
  select(ids);
}

/** After a rubber band: select the links between the enclosed nodes, and no others. */
function selectLinksBetween(): void {
  const { ids } = useSelection.getState();
  const { links } = useDocument.getState();
  const between = Object.values(links).filter(({ a, b }) => ids.has(a) && ids.has(b));
  const others = [...ids].filter((id) => !(id in links));
  select([...others, ...between.map(({ id }) => id)]);
}

/** Align dragged elements with nearby ones; changes the moves. */
function snap(moves: NodeChange<AnyFlow>[], drawn: readonly AnyFlow[], distance: number): readonly Guide[] {
  const positions = moves.filter((move) => move.type === "position");
  const points = positions.flatMap((move) => (move.position ? [move.position] : []));
  const moved = new Set(positions.map(({ id }) => id));
  const others = drawn
    .filter(({ id, selected, type }) => !moved.has(id) && !selected && type !== "frame")
    .map(({ position }) => position);
  const { dx, dy, guides } = align(points, others, distance);
  for (const move of positions) {
    if (move.position) move.position = { x: move.position.x + dx, y: move.position.y + dy };
  }
  return guides.length === 0 ? NO_GUIDES : guides;
}

/** Moves of the selected elements that React Flow does not know: they follow the dragged ones. */
function followers(moves: readonly NodeChange<AnyFlow>[], drawn: readonly AnyFlow[]): NodePositionChange[] {
  const positions = moves.filter((move) => move.type === "position");
  const moved = new Set(positions.map(({ id }) => id));
  const [first] = positions;
  const before = drawn.find(({ id }) => id === first?.id);
  if (!first?.position || !before?.selected) return [];
  const [dx, dy] = [first.position.x - before.position.x, first.position.y - before.position.y];
  return drawn
    .filter(({ id, selected }) => selected && !moved.has(id))
    .map(({ id, position: { x, y } }) => ({
      id,
      type: "position",
      position: { x: x + dx, y: y + dy },
      ...(first.dragging === undefined ? {} : { dragging: first.dragging }),
    }));
}

/** Tab to a node that is outside the window and therefore no element; returns whether it is one. */
function tabTo(step: 1 | -1, drawn: readonly AnyFlow[]): boolean {
  const at = drawn.findIndex(({ id }) => id === useAttention.getState().focused);
  const next = at === -1 ? undefined : drawn[at + step];
  if (next === undefined || elementOf(next.id) !== null) return false;
  centreOn(next.position);
  focusElement(next.id);
  return true;
}

/** Make the node under the pointer an element, at once so that a press reaches it. */
function attend(hovered: string | null): void {
  if (useAttention.getState().hovered !== hovered) flushSync(() => useAttention.setState({ hovered }));
}

/** Select what the rubber band touches, also what React Flow does not know. */
function useBand(isBanding: RefObject<boolean>, now: RefObject<readonly AnyFlow[]>): void {
  const store = useStoreApi();
  useEffect(
    () =>
      store.subscribe(({ userSelectionRect: band, transform: [left, top, zoom] }, before) => {
        if (!isBanding.current || band === null || band === before.userSelectionRect || now.current.length <= MANY)
          return;
        const [x, y] = [(band.x - left) / zoom, (band.y - top) / zoom];
        const ids = touched(
          { left: x, top: y, right: x + band.width / zoom, bottom: y + band.height / zoom },
          now.current,
        );
        const { ids: chosen } = useSelection.getState();
        if (ids.length !== chosen.size || ids.some((id) => !chosen.has(id))) select(ids);
      }),
    [store, isBanding, now],
  );
}

function farLinkAt(point: { x: number; y: number }, zoom: number): string | null {
  const { nodes, links } = useDocument.getState();
  return linkNear(point, zoom, links, new Map(Object.values(nodes).map(({ id, x, y }) => [id, { x, y }])));
}

/** Where a context menu opens: at the pointer, or at the element if it was opened by key. */
function pointOf(event: MouseEvent): [number, number] {
  if (event.clientX !== 0 || event.clientY !== 0) return [event.clientX, event.clientY];
  const frame = (event.target as Element).getBoundingClientRect();
  return [frame.left + frame.width / 2, frame.top + frame.height / 2];
}

function colourOf(node: AnyFlow): string {
  if (node.type !== "device") return "var(--line-strong)";
  const { kind, options } = (node as DeviceFlow).data.node;
  return `var(--${kind === "switch" && options.kind === "ovs" ? "ovs" : kind})`;
}

/** Whether a node is outside the window; otherwise the overview would only hide the nodes it shows. */
function useIsOutside(drawn: readonly AnyFlow[]): boolean {
  const { left, top, right, bottom } = useMemo(() => boundsOf(drawn), [drawn]);
  const [wide, high] = [TILE.width / 2, TILE.height / 2];
  return useStore(
    ({ transform: [x, y, zoom], width, height }) =>
      (left - wide) * zoom + x < 0 ||
      (top - high) * zoom + y < 0 ||
      (right + wide) * zoom + x > width ||
      (bottom + high) * zoom + y > height,
  );
}

/** Draw a drag once per frame, in the frame of its move. At the edge of the window, React Flow moves the
 *  nodes twice per frame: for the pointer, and because it scrolls. */
function useDrawnInFrame(
  setDrawn: (drawn: AnyFlow[]) => void,
  setGuides: (guides: readonly Guide[]) => void,
  now: RefObject<AnyFlow[]>,
): (guides: readonly Guide[]) => void {
  const frame = useRef<number | null>(null);
  const guides = useRef(NO_GUIDES);
  useEffect(() => () => cancelAnimationFrame(frame.current ?? 0), []);
  return useCallback(
    (next) => {
      guides.current = next;
      frame.current ??= requestAnimationFrame(() => {
        frame.current = null;
        // At once, because a busy browser would otherwise show only every other move.
        flushSync(() => {
          setDrawn(now.current);
          setGuides(guides.current);
        });
      });
    },
    [setDrawn, setGuides, now],
  );
}

/** Fit the document to the window whenever one has been opened. */
function useFitted(revision: number): void {
  const opened = useDocument((state) => state.opened);
  const isKnown = revision !== 0;
  useEffect(() => {
    if (!isKnown) return;
    const frame = requestAnimationFrame(() => requestAnimationFrame(fit));
    return () => cancelAnimationFrame(frame);
  }, [opened, isKnown]);
}

/** Fit the drawing again when panes make the canvas smaller or larger. */
function useKeptInView(isOutside: boolean): void {
  const [width, height] = [useStore((state) => state.width), useStore((state) => state.height)];
  const before = useRef({ width, height, isOutside });
  // Before the window is painted, so that no element is seen or clicked at its old place.
  useLayoutEffect(() => {
    const { current: last } = before;
    const isFirst = last.width === 0;
    before.current = { width, height, isOutside };
    if (!isFirst && (last.width !== width || last.height !== height)) {
      fitAgain({ width: last.width, height: last.height }, !last.isOutside && isOutside);
    }
  }, [width, height, isOutside]);
}
