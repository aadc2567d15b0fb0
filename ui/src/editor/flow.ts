/** Convert the document to React Flow's nodes and edges. Unchanged elements stay the same objects. */
import { Position, type Edge, type Node as FlowNode } from "@xyflow/react";
import type { DrawnFrame, DrawnLabel, DrawnLink, DrawnNode } from "../protocol";
import type { ById } from "../stores/document";
import { laneOf, TILE } from "./geometry";

export type DeviceFlow = FlowNode<{ node: DrawnNode }, "device">;
export type LabelFlow = FlowNode<{ label: DrawnLabel }, "label">;
export type FrameFlow = FlowNode<{ frame: DrawnFrame }, "frame">;
export type AnyFlow = DeviceFlow | LabelFlow | FrameFlow;
export type LinkFlow = Edge<{ link: DrawnLink; lane: number; isForward: boolean; isControl: boolean }, "link">;

const HANDLES = (["source", "target"] as const).map((type) => ({
  type,
  position: Position.Top,
  x: TILE.width / 2,
  y: TILE.height / 2,
  width: 1,
  height: 1,
}));

/** `before`: the nodes as drawn now. A node that is being dragged stays under the pointer. */
export function flowNodes(
  nodes: ById<DrawnNode>,
  labels: ById<DrawnLabel>,
  frames: ById<DrawnFrame>,
  selected: ReadonlySet<string>,
  before: readonly AnyFlow[],
): AnyFlow[] {
  const known = new Map(before.map((flow) => [flow.id, flow]));
  const devices = Object.values(nodes).map((node) => device(node, selected.has(node.id), known.get(node.id)));
  const texts = Object.values(labels).map((label) => text(label, selected.has(label.id), known.get(label.id)));
  const boxes = Object.values(frames).map((frame) => box(frame, selected.has(frame.id), known.get(frame.id)));
  return [...boxes, ...devices, ...texts];
}

/** A frame lies behind everything else, and its position is its upper left corner. */
function box(frame: DrawnFrame, selected: boolean, old: AnyFlow | undefined): AnyFlow {
  const isKept = old?.type === "frame" && old.data.frame === frame;
  if (isKept && old.selected === selected) return old;
  if (isKept) return { ...old, selected };
  const { x, y, width, height } = frame;
  return {
    ...(old as FrameFlow | undefined),
    id: frame.id,
    type: "frame",
    origin: [0, 0],
    zIndex: -1,
    position: old?.dragging ? old.position : { x, y },
    data: { frame },
    selected,
    width,
    height,
    ariaLabel: `frame ${frame.text}`,
  };
}

function device(node: DrawnNode, selected: boolean, old: AnyFlow | undefined): AnyFlow {
  const isKept = old?.type === "device" && old.data.node === node;
  if (isKept && old.selected === selected) return old;
  if (isKept) return { ...old, selected };
  const position = old?.dragging ? old.position : { x: node.x, y: node.y };
  return {
    ...(old as DeviceFlow | undefined),
    id: node.id,
    type: "device",
    position,
    data: { node },
    selected,
    width: TILE.width,
    height: TILE.height,
    // So that React Flow draws links without measuring their ends, which may be outside the window.
    handles: HANDLES,
    ariaLabel: `${node.kind} ${node.name}`,
  };
}

function text(label: DrawnLabel, selected: boolean, old: AnyFlow | undefined): AnyFlow {
  const isKept = old?.type === "label" && old.data.label === label;
  if (isKept && old.selected === selected) return old;
  if (isKept) return { ...old, selected };
  const position = old?.dragging ? old.position : { x: label.x, y: label.y };
  return {
    ...(old as LabelFlow | undefined),
    id: label.id,
    type: "label",
    position,
    data: { label },
    selected,
    ariaLabel: `label ${label.text}`,
  };
}

export function flowLinks(
  links: ById<DrawnLink>,
  nodes: ById<DrawnNode>,
  selected: ReadonlySet<string>,
  before: readonly LinkFlow[],
): LinkFlow[] {
  const known = new Map(before.map((flow) => [flow.id, flow]));
  const parallel = new Map<string, string[]>();
  for (const { id, a, b } of Object.values(links)) {
    const pair = a < b ? `${a} ${b}` : `${b} ${a}`;
    parallel.set(pair, [...(parallel.get(pair) ?? []), id]);
  }
  const lanes = new Map<string, number>();
  for (const ids of parallel.values()) {
    ids.forEach((id, index) => lanes.set(id, laneOf(index, ids.length)));
  }
  return Object.values(links).map((link) => {
    const lane = lanes.get(link.id) ?? 0;
    const isControl = [link.a, link.b].some((end) => nodes[end]?.kind === "controller");
    const isSelected = selected.has(link.id);
    const old = known.get(link.id);
    const [nameA, nameB] = [nodes[link.a]?.name, nodes[link.b]?.name];
    const ariaLabel = `link ${nameA ?? "?"}–${nameB ?? "?"}`;
    const isKept =
      old?.data?.link === link &&
      old.data.lane === lane &&
      old.data.isControl === isControl &&
      old.ariaLabel === ariaLabel;
    if (isKept && old.selected === isSelected) return old;
    if (isKept) return { ...old, selected: isSelected };
    return {
      id: link.id,
      type: "link",
      source: link.a,
      target: link.b,
      data: { link, lane, isForward: link.a < link.b, isControl },
      selected: isSelected,
      ariaLabel,
    };
  });
}
