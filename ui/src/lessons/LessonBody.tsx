import "./figure/figure.css";
import { useEffect, useMemo, useRef } from "react";
import type { LessonPage, LessonStep } from "../protocol";
import { draw } from "./figure/draw";
import { read, type Command } from "./markdown";
import { noteScrolled, useLessonPlace } from "./place";
import { numberOf, ON_CANVAS, sectionOf, stepsOf } from "./steps";

interface Props {
  page: LessonPage;
  done: readonly number[];
  onCommand: (command: Command) => void;
  onStep: (step: LessonStep) => void;
  onUnit: (folder: string) => void;
}

/** The text of a lesson. It is HTML made by markdown.ts, not by React: only its marks change. */
export function LessonBody({ page, done, onCommand, onStep, onUnit }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const text = useMemo(() => read(page.markdown, `/api/lessons/${page.unit}`), [page]);
  const numbers = useMemo(() => stepsOf(text.commands, page.steps), [text, page]);

  useEffect(() => {
    const element = container.current;
    if (element === null) return;
    element.innerHTML = text.html;
    placeCanvasSteps(element, page.steps, numbers);
    const drawAll = () => drawFigures(element, text.figures);
    drawAll();
    element.scrollTop = useLessonPlace.getState().scrolled[page.unit] ?? 0;
    let width = element.clientWidth;
    const watcher = new ResizeObserver(() => {
      if (Math.abs(element.clientWidth - width) < 24) return;
      width = element.clientWidth;
      drawAll();
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [text, page, numbers]);

  useEffect(() => {
    const isDone = new Set(done);
    for (const row of container.current?.querySelectorAll<HTMLElement>("[data-row]") ?? []) {
      const number = numbers[Number(row.dataset["row"])];
      const isKnown = number !== null && number !== undefined;
      row.classList.toggle("is-done", isKnown && isDone.has(number));
      if (isKnown) row.dataset["stepOf"] = String(number);
    }
    for (const row of container.current?.querySelectorAll<HTMLElement>("[data-step]") ?? []) {
      row.classList.toggle("is-done", isDone.has(Number(row.dataset["step"])));
    }
  }, [text, page, numbers, done]);

  const click = (event: React.MouseEvent<HTMLDivElement>) => {
    const target = (event.target as HTMLElement).closest<HTMLElement>("button, a");
    if (!target) return;
    const { command, step, unit, anchor } = target.dataset;
    if (command !== undefined) onCommand(text.commands[Number(command)]!);
    else if (step !== undefined) onStep(page.steps.find((one) => one.n === Number(step))!);
    else if (unit !== undefined) onUnit(unit);
    else if (anchor !== undefined) container.current?.querySelector(`[id="${CSS.escape(anchor)}"]`)?.scrollIntoView();
    if (target.tagName === "A") event.preventDefault();
  };
  const scroll = () => noteScrolled(page.unit, container.current?.scrollTop ?? 0);
  return <div className="lesson" ref={container} onClick={click} onScroll={scroll} tabIndex={0} role="region" aria-label="Lesson" />;
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

/** The accessible name of a figure: its section, and the texts in it. */
function figureName(figure: HTMLElement): string {
  const texts = [...figure.querySelectorAll("text")].map((text) => text.textContent?.trim()).filter(Boolean);
  return `Figure: ${texts.join(", ")}`;
}

/** Insert each canvas step before the next command of the manual, or at the end of its section. */
function placeCanvasSteps(element: HTMLElement, steps: readonly LessonStep[], numbers: readonly (number | null)[]): void {
  const headings = [...element.querySelectorAll<HTMLElement>("h2, h3")];
  const sections = new Map(
    headings.flatMap((heading) => {
      const number = numberOf(heading.textContent ?? "");
      return number === null ? [] : [[number, heading] as const];
    }),
  );
  for (const step of steps.filter((one) => one.where[0] === ON_CANVAS)) {
    const number = sectionOf(step.at, [...sections.keys()]);
    const heading = number === null ? undefined : sections.get(number);
    const after = [...element.querySelectorAll<HTMLElement>("[data-row]")].find((row) => {
      const stepNumber = numbers[Number(row.dataset["row"])] ?? null;
      return stepNumber !== null && stepNumber > step.n;
    });
    const block = after?.closest<HTMLElement>(".console") ?? null;
    listAt(element, heading ?? null, block).append(chip(step));
  }
}

/** The list for canvas steps at a position; created if it does not exist yet. */
function listAt(element: HTMLElement, heading: HTMLElement | null, block: HTMLElement | null): HTMLElement {
  const isInSection = block !== null && (heading === null || sectionHeading(element, block) === heading);
  if (isInSection) {
    const before = topLevel(element, block);
    const known = before.previousElementSibling;
    if (known instanceof HTMLElement && known.className === "canvas-steps") return known;
    return made((list) => before.before(list));
  }
  let last: Element | null = heading;
  while (last?.nextElementSibling && !/^H[1-3]$/.test(last.nextElementSibling.tagName)) last = last.nextElementSibling;
  if (last instanceof HTMLElement && last.className === "canvas-steps") return last;
  return made((list) => (last ? last.after(list) : element.append(list)));
}

function made(put: (list: HTMLElement) => void): HTMLElement {
  const list = document.createElement("div");
  list.className = "canvas-steps";
  put(list);
  return list;
}

function topLevel(element: HTMLElement, inner: HTMLElement): HTMLElement {
  let at = inner;
  while (at.parentElement && at.parentElement !== element) at = at.parentElement;
  return at;
}

function sectionHeading(element: HTMLElement, block: HTMLElement): Element | null {
  let at: Element | null = topLevel(element, block);
  while (at && !/^H[1-3]$/.test(at.tagName)) at = at.previousElementSibling;
  return at;
}

function chip(step: LessonStep): HTMLElement {
  const row = document.createElement("div");
  row.className = "row";
  row.dataset["step"] = String(step.n);
  const text = document.createElement("span");
  text.textContent = step.action;
  row.append(text);
  if (!step.can_perform) return row;
  const button = document.createElement("button");
  button.type = "button";
  button.dataset["step"] = String(step.n);
  button.textContent = "Do";
  button.setAttribute("aria-label", `Do this for me: ${step.action}`);
  row.append(button);
  return row;
}
