/** Lay out the nodes, edges and texts of a figure. */

import dagre from "@dagrejs/dagre";
import type { Flow, FlowEdge, FlowGroup, FlowNode } from "./parse";

export const LINE = 17;
const PADDING = 9;

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

export type PlacedNode = FlowNode & Place;
export type PlacedEdge = FlowEdge & {
  points: { x: number; y: number }[];
  /** The position of the label. */
  at?: Place;
};
export type PlacedGroup = FlowGroup & Place;

export interface FlowLayout {
  width: number;
  height: number;
  nodes: PlacedNode[];
  edges: PlacedEdge[];
  groups: PlacedGroup[];
}

/** Lay a figure out. `measure` returns the width of a text. */
export type Measure = (text: string) => number;

export function layOut(flow: Flow, direction: "LR" | "TB", measure: Measure): FlowLayout {
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 18, ranksep: 30, marginx: 4, marginy: 4 });
  for (const group of flow.groups) graph.setNode(key(group.id), {});
  for (const node of flow.nodes) {
    graph.setNode(node.id, sizeOf(node, measure));
    if (node.group) graph.setParent(node.id, key(node.group));
  }
  flow.edges.forEach((edge, index) => {
    graph.setEdge(edge.from, edge.to, { ...labelSize(edge, measure), labelpos: "c" }, `${index}`);
  });
  dagre.layout(graph);
  return read(graph, flow, measure);
}

type Graph = InstanceType<typeof dagre.graphlib.Graph>;

function read(graph: Graph, flow: Flow, measure: Measure): FlowLayout {
  const nodes = flow.nodes.map((node) => ({ ...node, ...placeOf(graph.node(node.id) as Place) }));
  const groups = flow.groups.map((group) => titled(group, placeOf(graph.node(key(group.id)) as Place), measure));
  const edges = flow.edges.map((edge, index): PlacedEdge => {
    const layoutEdge = graph.edge({ v: edge.from, w: edge.to, name: `${index}` }) as {
      points: { x: number; y: number }[];
    } & Place;
    return { ...edge, points: layoutEdge.points, ...(edge.lines.length ? { at: placeOf(layoutEdge) } : {}) };
  });
  return fitted({ nodes, groups, edges });
}

/** Add space for the titles of groups, which dagre does not know, so that they are not cut off. */
function fitted(parts: Omit<FlowLayout, "width" | "height">): FlowLayout {
  const places: Place[] = [
    ...parts.nodes,
    ...parts.groups,
    ...parts.edges.flatMap((edge) => [
      ...(edge.at ? [edge.at] : []),
      ...edge.points.map((point) => ({ ...point, width: 0, height: 0 })),
    ]),
  ];
  const left = Math.min(...places.map((place) => place.x - place.width / 2)) - 4;
  const top = Math.min(...places.map((place) => place.y - place.height / 2)) - 4;
  const moved = <T extends { x: number; y: number }>(one: T): T => ({
    ...one,
    x: one.x - left,
    y: one.y - top,
  });
  return {
    width: Math.max(...places.map((place) => place.x + place.width / 2)) - left + 4,
    height: Math.max(...places.map((place) => place.y + place.height / 2)) - top + 4,
    nodes: parts.nodes.map(moved),
    groups: parts.groups.map(moved),
    edges: parts.edges.map((edge) => ({
      ...edge,
      points: edge.points.map(moved),
      ...(edge.at ? { at: moved(edge.at) } : {}),
    })),
  };
}

function titled(group: FlowGroup, place: Place, measure: Measure): PlacedGroup {
  return {
    ...group,
    ...place,
    y: place.y - LINE / 2,
    height: place.height + LINE,
    width: Math.max(place.width, measure(group.title) + 2 * PADDING),
  };
}

function sizeOf(node: FlowNode, measure: Measure): { width: number; height: number } {
  const width = Math.max(...node.lines.map(measure), 12) + 2 * PADDING;
  const height = node.lines.length * LINE + 2 * PADDING;
  if (node.shape === "circle") {
    const size = Math.max(width, height, 38);
    return { width: size, height: size };
  }
  if (node.shape === "diamond") return { width: width * 1.5, height: height * 1.6 };
  return { width, height };
}

function labelSize(edge: FlowEdge, measure: Measure): { width: number; height: number } {
  if (!edge.lines.length) return { width: 0, height: 0 };
  return { width: Math.max(...edge.lines.map(measure)) + 8, height: edge.lines.length * LINE };
}

function placeOf(box: Place): Place {
  return { x: box.x, y: box.y, width: box.width, height: box.height };
}

/** Groups and nodes may have the same name. */
function key(group: string): string {
  return `group ${group}`;
}
