import { expect, it } from "vitest";
import { laidOut, type Edge, type Layout } from "./layouts";

const node = (id: string) => ({ id, x: 10, y: 20 });
const STAR: Edge[] = ["h1", "h2", "h3", "h4"].map((host) => ["s1", host] as const);
const TREE: Edge[] = [
  ["s1", "s2"],
  ["s1", "s3"],
  ["s2", "h1"],
  ["s2", "h2"],
  ["s3", "h3"],
  ["s3", "h4"],
];

function placed(edges: readonly Edge[], layout: Layout) {
  const ids = [...new Set(edges.flat())];
  return new Map(laidOut(ids.map(node), edges, layout).map(({ id, x, y }) => [id, { x, y }]));
}

it("no two nodes stand on top of each other, and the drawing stays where it is", () => {
  for (const layout of ["grid", "circle", "tree", "force"] as const) {
    for (const edges of [STAR, TREE, [...TREE, ["h1", "h4"], ["x", "y"]] as Edge[]]) {
      const points = [...placed(edges, layout).values()];
      points.forEach((one, at) => {
        for (const other of points.slice(at + 1))
          expect(Math.hypot(one.x - other.x, one.y - other.y), layout).toBeGreaterThan(60);
      });
      const xs = points.map(({ x }) => x);
      expect(Math.abs((Math.min(...xs) + Math.max(...xs)) / 2 - 10)).toBeLessThanOrEqual(1);
    }
  }
});

it("a tree has its root on top, and parents above the middle of their children", () => {
  const at = placed(TREE, "tree");
  expect(["s1", "s2", "h1"].map((id) => at.get(id)!.y)).toEqual([20 - 110, 20, 20 + 110]);
  expect(at.get("s2")!.x).toBe((at.get("h1")!.x + at.get("h2")!.x) / 2);
  expect(at.get("s1")!.x).toBe((at.get("s2")!.x + at.get("s3")!.x) / 2);
});

it("on a circle neighbours are side by side", () => {
  const ring: Edge[] = [
    ["a", "b"],
    ["c", "d"],
    ["b", "c"],
    ["d", "e"],
    ["e", "a"],
  ];
  const at = placed(ring, "circle");
  const length = ([a, b]: Edge) => Math.hypot(at.get(a)!.x - at.get(b)!.x, at.get(a)!.y - at.get(b)!.y);
  const lengths = ring.map(length);
  expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThan(3);
});

it("forces put linked nodes nearer than others, with the same result each time", () => {
  const at = placed(TREE, "force");
  const length = (a: string, b: string) => Math.hypot(at.get(a)!.x - at.get(b)!.x, at.get(a)!.y - at.get(b)!.y);
  expect(Math.max(...TREE.map(([a, b]) => length(a, b)))).toBeLessThan(length("h1", "h4"));
  expect(placed(TREE, "force")).toEqual(at);
});

it("1,000 nodes are placed within seconds", () => {
  const edges: Edge[] = Array.from({ length: 999 }, (_, n) => [`n${Math.floor(n / 4)}`, `n${n + 1}`] as const);
  for (const layout of ["grid", "circle", "tree", "force"] as const) expect(placed(edges, layout).size).toBe(1000);
});
