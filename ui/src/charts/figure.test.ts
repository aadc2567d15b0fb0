import { expect, it } from "vitest";
import { drawingOf, roundTicks, svgOf, type Figure } from "./figure";
import { pdfOf, rgb } from "./pdf";

const FIGURE: Figure = {
  title: "Queue",
  unit: "B",
  curves: [
    { title: "s1-eth1", colour: "hsl(215 70% 42%)" },
    { title: "s1-eth1 · original <b>", colour: "hsl(215 70% 42%)", dash: [5, 4] },
  ],
  data: [
    [0, 1, 2, 3],
    [0, 1000, null, 500],
    [0, undefined as unknown as null, 400, 900],
  ],
  span_s: [0, 3],
};

it("the legend shows the dashes of the curves", () => {
  const { lines, curves } = drawingOf(FIGURE);
  expect(lines.slice(-2).map(({ dash }) => dash)).toEqual([[], [5, 4]]);
  expect(curves.at(-1)!.dash).toEqual([5, 4]);
});

it("axes have titles and round ticks", () => {
  const words = drawingOf(FIGURE).texts.map(({ text }) => text);
  expect(words).toContain("time of the network");
  expect(words).toContain("0.5 kB");
  expect(words.filter((word) => word === "Queue")).toHaveLength(2);
  expect(roundTicks(0, 3, 7)).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3]);
  expect(roundTicks(118, 152, 7)).toEqual([120, 125, 130, 135, 140, 145, 150]);
});

it("a gap is not bridged, and a time of another curve is no gap", () => {
  expect(drawingOf(FIGURE).curves.map(({ points }) => points.length)).toEqual([2, 3]);
});

it("many curves get more rows of the legend", () => {
  const many = {
    ...FIGURE,
    curves: Array.from({ length: 30 }, (_, n) => ({ title: `h${n} → server:5201`, colour: "#000000" })),
  };
  expect(drawingOf(many).height).toBeGreaterThan(drawingOf(FIGURE).height);
});

it("names are escaped in SVG", () => {
  expect(svgOf(FIGURE)).toContain("s1-eth1 · original &lt;b&gt;");
});

it("the PDF's offsets point to its objects", async () => {
  const bytes = new Uint8Array(await pdfOf(FIGURE).arrayBuffer());
  const file = Array.from(bytes, (code) => String.fromCharCode(code)).join("");
  expect(file.startsWith("%PDF-1.4\n")).toBe(true);
  const table = Number(/startxref\n(\d+)/.exec(file)![1]);
  expect(file.slice(table, table + 4)).toBe("xref");
  const offsets = [...file.matchAll(/^(\d{10}) 00000 n $/gm)].map(([, offset]) => Number(offset));
  expect(offsets.map((offset, index) => file.slice(offset).startsWith(`${index + 1} 0 obj`))).toEqual(
    Array(6).fill(true),
  );
  const length = Number(/\/Length (\d+)/.exec(file)![1]);
  expect(
    file
      .split("stream\n")[1]!
      .slice(0, length + 1)
      .endsWith("\n"),
  ).toBe(true);
});

it("colours of CSS are converted", () => {
  expect(rgb("hsl(0 100% 50%)")).toBe("1 0 0");
  expect(rgb("hsl(120 100% 25%)")).toBe("0 0.5 0");
  expect(rgb("#ff8000")).toBe("1 0.5 0");
});
