/** Actions on the document from the canvas. Each is one edit. */
import type { DrawnFrame, DrawnLabel, DrawnLink, DrawnNode } from "../protocol";
import { useDocument } from "../stores/document";
import { edit } from "../stores/edits";
import { select, useSelection } from "../stores/selection";
import { toast } from "../stores/toasts";
import { aligned, distributed, freePlace, type Edge, type Placed, type Point } from "./geometry";
import { isKind, KINDS, type Kind, type Tool } from "./kinds";
import { laidOut, type Edge as LinkEnds, type Layout } from "./layouts";
import { freshId, nextNumber } from "./names";
import { openProperties } from "./problems";
import { fit, focusElement, middle } from "./viewport";

export function nodeNamed(id: string): string {
  return useDocument.getState().nodes[id]?.name ?? "?";
}

export function linkName(link: DrawnLink): string {
  return `${nodeNamed(link.a)}–${nodeNamed(link.b)}`;
}

/** The name of an edit's elements: "h1", or "3 elements". */
function describe(ids: readonly string[]): string {
  const { nodes, links, labels, frames } = useDocument.getState();
  const [only] = ids;
  if (ids.length !== 1 || only === undefined) return `${ids.length} elements`;
  const link = links[only];
  return nodes[only]?.name ?? (link ? linkName(link) : labels[only] ? "label" : frames[only] ? "frame" : only);
}

// -- adding -----------------------------------------------------------------------------------------

export function addNode(kind: Kind, at: Point): string {
  const info = KINDS[kind];
  const number = nextNumber(info, Object.values(useDocument.getState().nodes));
  const counts = kind === "controller" ? {} : { number };
  const node: DrawnNode = {
    id: freshId("n"),
    kind: info.nodeKind,
    name: `${info.prefix}${number}`,
    x: Math.round(at.x),
    y: Math.round(at.y),
    options: { ...info.options, ...counts },
  };
  void edit(`Add ${node.name}`, { nodes: [node] });
  select([node.id]);
  return node.id;
}

export function addLabel(at: Point): string {
  const label: DrawnLabel = { id: freshId("t"), text: "Text", x: Math.round(at.x), y: Math.round(at.y) };
  void edit("Add label", { labels: [label] });
  select([label.id]);
  return label.id;
}

const FRAME = { width: 260, height: 180 };

/** Add a frame around a point. */
export function addFrame(at: Point): string {
  const [x, y] = [Math.round(at.x - FRAME.width / 2), Math.round(at.y - FRAME.height / 2)];
  const frame: DrawnFrame = { id: freshId("f"), text: "Frame", x, y, ...FRAME, colour: "" };
  void edit("Add frame", { frames: [frame] });
  select([frame.id]);
  return frame.id;
}

/** Place what a tool places. */
export function placeTool(tool: Tool, at: Point): void {
  if (isKind(tool)) addNode(tool, at);
  else if (tool === "label" || tool === "frame") {
    (tool === "label" ? addLabel : addFrame)(at);
    openProperties("text");
  }
}

/** Add an element by key: at a free position near the middle of the visible part. */
export function addSomewhere(tool: Kind | "label" | "frame"): void {
  const at = freePlace(middle(), places());
  focusElement(tool === "label" ? addLabel(at) : tool === "frame" ? addFrame(at) : addNode(tool, at));
}

/** Select what lies inside a frame, and the frame. */
export function selectInside(id: string): void {
  const { nodes, links, labels, frames } = useDocument.getState();
  const frame = frames[id];
  if (frame === undefined) return;
  const isInside = ({ x, y }: Point) =>
    x >= frame.x && x <= frame.x + frame.width && y >= frame.y && y <= frame.y + frame.height;
  const inside = [...Object.values(nodes), ...Object.values(labels)].filter(isInside).map((element) => element.id);
  const known = new Set(inside);
  const between = Object.values(links).filter(({ a, b }) => known.has(a) && known.has(b));
  select([id, ...inside, ...between.map((link) => link.id)]);
}

export function addLink(a: string, b: string): string | null {
  const { nodes, links } = useDocument.getState();
  const [from, to] = [nodes[a], nodes[b]];
  if (from === undefined || to === undefined || a === b) return null;
  const reason = refusal(from, to, Object.values(links));
  if (reason !== null) {
    toast("warning", reason.what, reason.hint);
    return null;
  }
  const link: DrawnLink = { id: freshId("l"), a, b, options: {}, a_options: {}, b_options: {} };
  void edit(`Link ${from.name} and ${to.name}`, { links: [link] });
  select([link.id]);
  return link.id;
}

function refusal(a: DrawnNode, b: DrawnNode, links: readonly DrawnLink[]): { what: string; hint: string } | null {
  const controller = a.kind === "controller" ? a : b.kind === "controller" ? b : null;
  if (controller === null) return null;
  const other = controller === a ? b : a;
  if (other.kind !== "switch" || (other.options.kind ?? "bridge") === "bridge") {
    const hint = "only an Open vSwitch can have a controller; change the type of the switch first";
    return { what: `${other.name} cannot be linked to controller ${controller.name}`, hint };
  }
  const isLinked = links.some((link) => (link.a === a.id && link.b === b.id) || (link.a === b.id && link.b === a.id));
  return isLinked ? { what: `${other.name} is linked to controller ${controller.name} already`, hint: "" } : null;
}

// -- the selection ----------------------------------------------------------------------------------

export function selectAll(): void {
  const { nodes, links, labels, frames } = useDocument.getState();
  select([nodes, links, labels, frames].flatMap(Object.keys));
}

export function selectedIds(): string[] {
  const { nodes, links, labels, frames } = useDocument.getState();
  return [...useSelection.getState().ids].filter((id) => [nodes, links, labels, frames].some((known) => id in known));
}

export function deleteSelected(): void {
  const ids = selectedIds();
  if (ids.length === 0) return;
  void edit(`Delete ${describe(ids)}`, { drop: ids });
  select([]);
}

/** The positions of elements; links have none. */
function placed(ids: Iterable<string>): Placed[] {
  const { nodes, labels, frames } = useDocument.getState();
  return [...ids].flatMap((id) => {
    const element = nodes[id] ?? labels[id] ?? frames[id];
    return element === undefined ? [] : [{ id, x: element.x, y: element.y }];
  });
}

export function places(): Placed[] {
  const { nodes, labels } = useDocument.getState();
  return placed([...Object.keys(nodes), ...Object.keys(labels)]);
}

/** Move elements; those that keep their positions are left out. */
export function moveTo(targets: readonly Placed[], label?: string): void {
  const { nodes, labels, frames } = useDocument.getState();
  const moved = targets.filter(({ id, x, y }) => {
    const element = nodes[id] ?? labels[id] ?? frames[id];
    return element !== undefined && (element.x !== x || element.y !== y);
  });
  if (moved.length === 0) return;
  void edit(label ?? `Move ${describe(moved.map(({ id }) => id))}`, {
    nodes: moved.flatMap(({ id, x, y }) => (nodes[id] ? [{ ...nodes[id], x, y }] : [])),
    labels: moved.flatMap(({ id, x, y }) => (labels[id] ? [{ ...labels[id], x, y }] : [])),
    frames: moved.flatMap(({ id, x, y }) => (frames[id] ? [{ ...frames[id], x, y }] : [])),
  });
}

export function alignSelected(edge: Edge): void {
  moveTo(aligned(placed(selectedIds()), edge), "Align");
}

export function distributeSelected(axis: "x" | "y"): void {
  moveTo(distributed(placed(selectedIds()), axis), "Distribute");
}

/** Arrange the selected nodes; if fewer than two are selected, all nodes. */
export function arrange(layout: Layout): void {
  const { nodes, links } = useDocument.getState();
  const selected = selectedIds().filter((id) => id in nodes);
  const isWhole = selected.length < 2;
  const edges = Object.values(links).map(({ a, b }): LinkEnds => [a, b]);
  moveTo(laidOut(placed(isWhole ? Object.keys(nodes) : selected), edges, layout), "Arrange");
  if (isWhole) requestAnimationFrame(fit);
}

// -- copies -----------------------------------------------------------------------------------------

const MARK = "wanlab things";
const STEP = 40;
let pasted = { text: "", times: 0 };

interface Clip {
  is: typeof MARK;
  nodes: DrawnNode[];
  links: DrawnLink[];
  labels: DrawnLabel[];
  /** Missing in text that an earlier version has copied. */
  frames?: DrawnFrame[];
}

/** The selected nodes, labels and frames, with the links between them, as text for the clipboard. */
export function copied(): string | null {
  const ids = new Set(selectedIds());
  const { nodes, links, labels, frames } = useDocument.getState();
  const clip: Clip = {
    is: MARK,
    nodes: Object.values(nodes).filter(({ id }) => ids.has(id)),
    links: Object.values(links).filter(({ a, b }) => ids.has(a) && ids.has(b)),
    labels: Object.values(labels).filter(({ id }) => ids.has(id)),
    frames: Object.values(frames).filter(({ id }) => ids.has(id)),
  };
  return [clip.nodes, clip.labels, clip.frames].every((elements) => elements?.length === 0)
    ? null
    : JSON.stringify(clip);
}

/** Paste a text that `copied` made. Returns false for any other text. */
export function paste(text: string): boolean {
  const clip = readClip(text);
  if (clip === null) return false;
  pasted = { text, times: pasted.text === text ? pasted.times + 1 : 1 };
  putCopies(clip, STEP * pasted.times, "Paste");
  return true;
}

export function duplicateSelected(): void {
  const text = copied();
  const clip = text === null ? null : readClip(text);
  if (clip !== null) putCopies(clip, STEP, "Duplicate");
}

function readClip(text: string): Clip | null {
  try {
    const clip = JSON.parse(text) as Clip;
    const isOurs = clip.is === MARK && Array.isArray(clip.nodes) && Array.isArray(clip.links);
    return isOurs && Array.isArray(clip.labels) ? clip : null;
  } catch {
    return null;
  }
}

/** Options that must be unique. Copies get automatic values. */
const OWN_OPTIONS = ["ip", "mac", "dpid"];
const OWN_PORT_OPTIONS = ["ip", "mac", "name", "number"];

function without(options: Record<string, unknown>, words: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([word]) => !words.includes(word)));
}

function putCopies(clip: Clip, step: number, label: string): void {
  const known = Object.values(useDocument.getState().nodes);
  const ids = new Map<string, string>();
  const nodes: DrawnNode[] = [];
  for (const node of clip.nodes) {
    const id = freshId("n");
    ids.set(node.id, id);
    nodes.push({ ...renamed(node, [...known, ...nodes]), id, x: node.x + step, y: node.y + step });
  }
  const links = clip.links.flatMap((link) => {
    const [a, b] = [ids.get(link.a), ids.get(link.b)];
    if (a === undefined || b === undefined) return [];
    const a_options = without(link.a_options, OWN_PORT_OPTIONS);
    const b_options = without(link.b_options, OWN_PORT_OPTIONS);
    return [{ ...link, id: freshId("l"), a, b, a_options, b_options }];
  });
  const labels = clip.labels.map((text) => ({
    ...text,
    id: freshId("t"),
    x: text.x + step,
    y: text.y + step,
  }));
  const frames = (clip.frames ?? []).map((frame) => ({
    ...frame,
    id: freshId("f"),
    x: frame.x + step,
    y: frame.y + step,
  }));
  const count = nodes.length + labels.length + frames.length;
  void edit(`${label} ${count === 1 && nodes[0] ? nodes[0].name : `${count} elements`}`, {
    nodes,
    links,
    labels,
    frames,
  });
  select([...nodes, ...labels, ...frames].map(({ id }) => id));
}

function renamed(node: DrawnNode, known: readonly DrawnNode[]): DrawnNode {
  const info = { ...KINDS[node.kind === "switch" ? "bridge" : node.kind] };
  const letters = /^[A-Za-z_.-]+(?=\d+$)/.exec(node.name);
  if (letters !== null) info.prefix = letters[0];
  const number = nextNumber(info, known);
  const counts = node.kind === "controller" ? {} : { number };
  return {
    ...node,
    name: `${info.prefix}${number}`,
    options: { ...without(node.options, OWN_OPTIONS), ...counts },
  };
}
