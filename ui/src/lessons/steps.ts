/** Match the commands of a lesson with the steps of its unit, and find the place of canvas steps. */

import type { LessonStep } from "../protocol";
import type { Command } from "./markdown";

export const ON_CANVAS = "gui";

/** The number of the step of each command; null if it is not one of the manual's. */
export function stepsOf(commands: readonly Command[], steps: readonly LessonStep[]): (number | null)[] {
  // A step in two terminals, or of two lines, has several commands in the lesson.
  const open = new Map(
    steps.map((step) => [step, step.where.flatMap((place) => step.lines.map((line) => ({ place, line })))]),
  );
  const fits = (command: Command, step: LessonStep) =>
    open.get(step)!.findIndex(({ place, line }) => place === command.place && same(line, command.line));
  // First in the order of the lesson, which nearly always is that of the steps; then the rest, anywhere.
  const used = new Set<LessonStep>();
  let next = 0;
  const numbers = commands.map((command) => {
    const at = steps.findIndex((step, index) => index >= next && fits(command, step) >= 0);
    if (at < 0) return null;
    const step = steps[at]!;
    const rest = open.get(step)!;
    rest.splice(fits(command, step), 1);
    next = rest.length === 0 ? at + 1 : at;
    used.add(step);
    return step.n;
  });
  return numbers.map((number, index) => {
    if (number !== null) return number;
    const step = steps.find((one) => !used.has(one) && fits(commands[index]!, one) >= 0);
    if (step) used.add(step);
    return step?.n ?? null;
  });
}

function same(a: string, b: string): boolean {
  const plain = (text: string) => text.replace(/\s+/g, " ").trim();
  return plain(a) === plain(b);
}

/** The section of a step of the manual: "3.1/2" belongs to "3.1", or else to "3". */
export function sectionOf(at: string, sections: readonly string[]): string | null {
  const number = /^\d+(\.\d+)*/.exec(at)?.[0] ?? "";
  for (let wanted = number; wanted; wanted = wanted.split(".").slice(0, -1).join(".")) {
    if (sections.includes(wanted)) return wanted;
  }
  return null;
}

/** The number of a heading: "3.1 The same network, drawn" has "3.1". */
export function numberOf(heading: string): string | null {
  return /^(\d+(?:\.\d+)*)\.?\s/.exec(heading)?.[1] ?? null;
}
