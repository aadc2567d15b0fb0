import { expect, it } from "vitest";
import source from "./Canvas.tsx?raw";

it("passes React Flow the same functions and objects in each render, so that it does not redraw everything", () => {
  const properties = /<ReactFlow<[^]*?\n {6}>\n/.exec(source)?.[0] ?? "";
  expect(properties).toContain("onNodeDragStop={drop}");
  expect(properties).not.toMatch(/=>|=\{[[{(]/);
});
