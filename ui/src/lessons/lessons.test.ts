/** All lessons of the course can be shown: figures, formulas, commands and answers. */

import { describe, expect, it } from "vitest";
import { draw } from "./figure/draw";
import { parse } from "./figure/parse";
import { read } from "./markdown";

const sources = import.meta.glob<string>("../../../src/wanlab/labs/units/*/lesson.md", {
  query: "?raw",
  import: "default",
  eager: true,
});
const lessons = Object.entries(sources).map(([path, text]) => ({
  name: path.split("/").at(-2)!,
  text: onPage(text),
}));

/** The page's edition of a lesson, as labs/lesson.py makes it. */
function onPage(text: string): string {
  const parts = text.split(/^<!-- (terminal|page|end) -->\n|<!-- (terminal|page|end) -->/m);
  let kept = parts[0]!;
  for (let at = 1; at < parts.length; at += 3) {
    if ((parts[at] ?? parts[at + 1]) !== "terminal") kept += parts[at + 2]!;
  }
  return kept;
}

const width = (text: string) => text.length * 7;

describe("every lesson", () => {
  it("is there", () => expect(lessons.length).toBe(31));

  it.each(lessons)("$name: figures are drawn, wide and narrow", ({ text }) => {
    const { figures } = read(text, "/x");
    const count = text.match(/^ *```mermaid$/gm)?.length ?? 0;
    expect(figures.length).toBe(count);
    for (const figure of figures) {
      for (const room of [300, 2000]) {
        const svg = draw(figure, room, width);
        expect(svg).not.toMatch(/NaN|undefined/);
        const named = parse(figure);
        const texts = named.kind === "flow" ? named.nodes.flatMap((node) => node.lines) : named.actors;
        for (const line of texts)
          expect(svg).toContain(line.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"));
      }
    }
  });

  it.each(lessons)("$name: all formulas are valid, and none is left as text", ({ text }) => {
    const { html } = read(text, "/x");
    expect(html).not.toContain("temml-error");
    const code = /<(pre|code|annotation|button|span class="prompt")[\s\S]*?<\/(pre|code|annotation|button|span)>/g;
    expect(html.replace(code, "").replace(/<[^>]*>/g, "")).not.toMatch(/\$[^$]*\$/);
  });

  it.each(lessons)("$name: each command has a button, and each answer is hidden", ({ text }) => {
    const { html, commands } = read(text, "/x");
    const blocks = text.match(/^[ >]*```console$[\s\S]*?^[ >]*```$/gm) ?? [];
    const lines = blocks.flatMap((block) => block.split("\n").slice(1, -1));
    expect(commands.length).toBe(lines.length);
    expect(html.match(/data-command="/g)?.length ?? 0).toBe(lines.length);
    expect(html.match(/<details>/g)?.length ?? 0).toBe(text.match(/<details>/g)?.length ?? 0);
    expect(html.replace(/<figure.*?<\/figure>/gs, "")).not.toMatch(/&lt;\/?(details|br)/);
  });
});
