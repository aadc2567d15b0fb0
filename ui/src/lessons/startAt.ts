/** Where a unit can be started, and how long the steps before take. */

import type { LessonStep } from "../protocol";
import type { Card } from "./outline";

/** The steps of a section at which a unit can be started. */
export interface Choice {
  title: string;
  steps: readonly LessonStep[];
}

/** The steps at which a unit can be started, by section. Not the first, where *Start* does it; none while a line
 *  waits for Enter, and none after a step at Mininet's prompt, whose state nobody can hand over. */
export function choicesOf(cards: readonly Card[]): readonly Choice[] {
  const choices: { title: string; steps: LessonStep[] }[] = [];
  let [isFirst, isWaiting, wasAtPrompt] = [true, false, false];
  for (const { title, steps } of cards) {
    for (const step of steps) {
      if (!isFirst && !isWaiting && !wasAtPrompt) {
        if (choices.at(-1)?.title !== title) choices.push({ title, steps: [] });
        choices.at(-1)!.steps.push(step);
      }
      isFirst = false;
      if (step.waits_for_enter) isWaiting = true;
      if (step.kind === "enter") isWaiting = false;
      if (step.where[0] === "mininet") wasAtPrompt = true;
    }
  }
  return choices;
}

/** The number of the step to suggest: the first that is not done, or the last choice before it. */
export function suggestionOf(
  choices: readonly Choice[],
  steps: readonly LessonStep[],
  done: ReadonlySet<number>,
): number | undefined {
  const numbers = choices.flatMap((choice) => choice.steps.map(({ n }) => n));
  const open = steps.find((step) => step.counts && !done.has(step.n))?.n ?? Infinity;
  return numbers.findLast((n) => n <= open) ?? numbers[0];
}

/** How long the steps before a step take on the network's clock. */
export function secondsBefore(steps: readonly LessonStep[], at: number): number {
  return steps.filter(({ n }) => n < at).reduce((sum, { takes_s }) => sum + takes_s, 0);
}
