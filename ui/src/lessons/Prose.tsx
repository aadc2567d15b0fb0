import "./figure/figure.css";
import { useEffect, useMemo, useRef } from "react";
import { draw } from "./figure/draw";
import { read, type Command } from "./markdown";

export interface ProseActions {
  onCommand: (command: Command) => void;
  onUnit: (folder: string) => void;
}

interface Props extends ProseActions {
  unit: string;
  markdown: string;
}

/** Some text of a lesson. It is HTML made by markdown.ts, not by React. */
export function Prose({ unit, markdown, onCommand, onUnit }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const text = useMemo(() => read(markdown, `api/lessons/${unit}`), [unit, markdown]);
  useEffect(() => {
    const element = container.current;
    if (element === null) return;
    element.innerHTML = text.html;
    const drawAll = () => drawFigures(element, text.figures);
    drawAll();
    let width = element.clientWidth;
    const watcher = new ResizeObserver(() => {
      if (Math.abs(element.clientWidth - width) < 24) return;
      width = element.clientWidth;
      drawAll();
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [text]);
  const click = (event: React.MouseEvent<HTMLDivElement>) => {
    const target = (event.target as HTMLElement).closest<HTMLElement>("button, a");
    if (!target) return;
    const { command, unit: other, anchor } = target.dataset;
    if (command !== undefined) onCommand(text.commands[Number(command)]!);
    else if (other !== undefined) onUnit(other);
    else if (anchor !== undefined) container.current?.querySelector(`[id="${CSS.escape(anchor)}"]`)?.scrollIntoView();
    if (target.tagName === "A") event.preventDefault();
  };
  return <div className="prose" ref={container} onClick={click} />;
}

function drawFigures(element: HTMLElement, figures: readonly string[]): void {
  for (const figure of element.querySelectorAll<HTMLElement>("[data-figure]")) {
    try {
      figure.innerHTML = draw(figures[Number(figure.dataset["figure"])]!, element.clientWidth - 24);
      figure.querySelector("svg")?.setAttribute("aria-label", figureName(figure));
    } catch {
      // Show the source of the figure instead.
    }
  }
}

/** The accessible name of a figure: the texts in it. */
function figureName(figure: HTMLElement): string {
  const texts = [...figure.querySelectorAll("text")].map((text) => text.textContent?.trim()).filter(Boolean);
  return `Figure: ${texts.join(", ")}`;
}
