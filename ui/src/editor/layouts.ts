/** Layouts of a drawing. All functions are pure; the order of the nodes decides where there is a choice. */
import { centre, inCircle, type Placed, type Point } from "./geometry";

export type Layout = "grid" | "circle" | "tree" | "force";
/** The ids of two linked nodes. */
export type Edge = readonly [string, string];

/** Distances between neighbours, in pixels of the canvas. */
const [STEP_X, STEP_Y] = [120, 110];
type Graph = ReadonlyMap<string, readonly string[]>;

/** Arrange nodes around the centre of their current positions. */
export function laidOut(nodes: readonly Placed[], edges: readonly Edge[], layout: Layout): Placed[] {
  const graph = graphOf(nodes, edges);
  const points = { grid: inGrid, circle: onCircle, tree: asTree, force: byForce }[layout](nodes, graph);
  const [old, now] = [centre(nodes), centre([...points.values()])];
  return nodes.map((node) => {
    const { x, y } = points.get(node.id) ?? node;
    return { ...node, x: Math.round(x - now.x + old.x), y: Math.round(y - now.y + old.y) };
  });
}

function graphOf(nodes: readonly Placed[], edges: readonly Edge[]): Graph {
  const graph = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const [a, b] of edges) {
    if (a === b || graph.get(a)?.includes(b)) continue;
    if (!graph.has(a) || !graph.has(b)) continue;
    graph.get(a)!.push(b);
    graph.get(b)!.push(a);
  }
  return graph;
}

function inGrid(nodes: readonly Placed[]): Map<string, Point> {
  const columns = Math.ceil(Math.sqrt(nodes.length));
  return new Map(
    nodes.map(({ id }, index) => [id, { x: (index % columns) * STEP_X, y: Math.floor(index / columns) * STEP_Y }]),
  );
}

/** On a circle in an order in which most neighbours are side by side. */
function onCircle(nodes: readonly Placed[], graph: Graph): Map<string, Point> {
  const order = partsOf(graph).flatMap((part) => depthFirst(part[0]!, graph));
  const known = new Map(nodes.map((node) => [node.id, node]));
  return new Map(inCircle(order.map((id) => known.get(id)!)).map((node) => [node.id, node]));
}

function depthFirst(root: string, graph: Graph): string[] {
  const order: string[] = [];
  const seen = new Set<string>();
  const waiting = [root];
  while (waiting.length > 0) {
    const id = waiting.pop()!;
    if (seen.has(id)) continue;
    seen.add(id);
    order.push(id);
    waiting.push(...[...graph.get(id)!].reverse());
  }
  return order;
}

/** The connected components, each from one of its nodes outwards. */
function partsOf(graph: Graph): string[][] {
  const seen = new Set<string>();
  const parts: string[][] = [];
  for (const id of graph.keys()) {
    if (seen.has(id)) continue;
    const part = [...depthsFrom(id, graph).keys()];
    for (const one of part) seen.add(one);
    parts.push(part);
  }
  return parts;
}

/** The hops from a node to all that it reaches, nearest first. */
function depthsFrom(root: string, graph: Graph): Map<string, number> {
  const depths = new Map([[root, 0]]);
  for (const [id, depth] of depths) {
    for (const other of graph.get(id)!) if (!depths.has(other)) depths.set(other, depth + 1);
  }
  return depths;
}

/** Trees side by side: each from its middle downwards, parents centred above their children. Links that
 *  close loops are ignored. */
function asTree(_: readonly Placed[], graph: Graph): Map<string, Point> {
  const points = new Map<string, Point>();
  let x = 0;
  for (const part of partsOf(graph)) {
    const root = middleOf(part, graph);
    const depths = depthsFrom(root, graph);
    const taken = new Set([root]);
    const children = new Map<string, string[]>();
    for (const id of depths.keys()) {
      const own = graph.get(id)!.filter((other) => !taken.has(other) && depths.get(other)! > depths.get(id)!);
      for (const one of own) taken.add(one);
      children.set(id, own);
    }
    const order = downwards(root, children);
    for (const id of order) {
      if (children.get(id)!.length > 0) continue;
      points.set(id, { x, y: depths.get(id)! * STEP_Y });
      x += STEP_X;
    }
    for (const id of order.reverse()) {
      const xs = children.get(id)!.map((child) => points.get(child)!.x);
      if (xs.length > 0) points.set(id, { x: (Math.min(...xs) + Math.max(...xs)) / 2, y: depths.get(id)! * STEP_Y });
    }
    x += STEP_X / 2;
  }
  return points;
}

/** Parents before their children, from left to right. */
function downwards(root: string, children: ReadonlyMap<string, readonly string[]>): string[] {
  const order: string[] = [];
  const waiting = [root];
  while (waiting.length > 0) {
    order.push(waiting.pop()!);
    waiting.push(...[...children.get(order.at(-1)!)!].reverse());
  }
  return order;
}

/** The middle of a longest way through a component, of two such nodes the one with more neighbours. */
function middleOf(part: readonly string[], graph: Graph): string {
  const one = [...depthsFrom(part[0]!, graph).keys()].at(-1)!;
  const depths = depthsFrom(one, graph);
  const way = [[...depths.keys()].at(-1)!];
  while (way.at(-1) !== one) {
    const last = way.at(-1)!;
    way.push(graph.get(last)!.find((other) => depths.get(other)! < depths.get(last)!)!);
  }
  const half = (way.length - 1) / 2;
  const [a, b] = [way[Math.floor(half)]!, way[Math.ceil(half)]!];
  return graph.get(b)!.length > graph.get(a)!.length ? b : a;
}

const LENGTH = 130;
const ROUNDS = 300;
/** A turn by the golden angle spreads points evenly on a spiral. */
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/**
 * Links pull, nodes push each other away (Fruchterman and Reingold, "Graph drawing by force-directed
 * placement", 1991, with their grid: far nodes do not push). It begins on a spiral, so that the result
 * does not depend on where the nodes were.
 */
function byForce(nodes: readonly Placed[], graph: Graph): Map<string, Point> {
  const ids = partsOf(graph).flat();
  const index = new Map(ids.map((id, at) => [id, at]));
  const links = ids.flatMap((id, a) =>
    graph.get(id)!.flatMap((other) => (index.get(other)! > a ? [[a, index.get(other)!] as const] : [])),
  );
  const points = ids.map((_, at): Point => ({
    x: LENGTH * Math.sqrt(at) * Math.cos(at * GOLDEN),
    y: LENGTH * Math.sqrt(at) * Math.sin(at * GOLDEN),
  }));
  const rounds = Math.max(60, Math.min(ROUNDS, Math.round(60_000 / nodes.length)));
  const reach = LENGTH * Math.sqrt(nodes.length);
  for (let round = 0; round < rounds; round += 1) {
    const moves = pushes(points);
    for (const [a, b] of links) {
      const [dx, dy] = [points[b]!.x - points[a]!.x, points[b]!.y - points[a]!.y];
      const pull = Math.hypot(dx, dy) / LENGTH;
      moves[a]!.x += dx * pull;
      moves[a]!.y += dy * pull;
      moves[b]!.x -= dx * pull;
      moves[b]!.y -= dy * pull;
    }
    const limit = (reach / 10) * (1 - round / rounds) ** 2 + 1;
    points.forEach((point, at) => {
      const { x, y } = moves[at]!;
      const length = Math.hypot(x, y) || 1;
      point.x += (x / length) * Math.min(length, limit);
      point.y += (y / length) * Math.min(length, limit);
    });
  }
  return new Map(ids.map((id, at) => [id, points[at]!]));
}

/** The force with which near nodes push each other away. */
function pushes(points: readonly Point[]): Point[] {
  const moves = points.map((): Point => ({ x: 0, y: 0 }));
  const size = 3 * LENGTH;
  const cells = new Map<string, number[]>();
  points.forEach(({ x, y }, at) => {
    const cell = `${Math.floor(x / size)} ${Math.floor(y / size)}`;
    const there = cells.get(cell);
    if (there === undefined) cells.set(cell, [at]);
    else there.push(at);
  });
  points.forEach((point, at) => {
    const [column, row] = [Math.floor(point.x / size), Math.floor(point.y / size)];
    for (let i = -1; i <= 1; i += 1) {
      for (let j = -1; j <= 1; j += 1) {
        for (const other of cells.get(`${column + i} ${row + j}`) ?? []) {
          if (other <= at) continue;
          const [dx, dy] = [point.x - points[other]!.x, point.y - points[other]!.y];
          const square = Math.max(1, dx * dx + dy * dy);
          const push = (LENGTH * LENGTH) / square;
          moves[at]!.x += dx * push;
          moves[at]!.y += dy * push;
          moves[other]!.x -= dx * push;
          moves[other]!.y -= dy * push;
        }
      }
    }
  });
  return moves;
}
