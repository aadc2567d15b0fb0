import { expect, it } from "vitest";
import source from "./Canvas.tsx?raw";

it("React Flow gets the same functions and objects in each render, or else it draws all nodes and links anew", () => {
  const properties = /<ReactFlow<[^]*?\n {6}>\n/.exec(source)?.[0] ?? "";
  expect(properties).toContain("onNodeDragStop={drop}");
  expect(properties).not.toMatch(/=>|=\{[[{(]/);
});
