/** Where a student is in a lesson: the steps that come next, and the card that has them. */

import type { LessonStep } from "../protocol";
import type { Card } from "./outline";

export type StepState = "done" | "current" | "later" | "look";

/** The steps of a card that come next. Lines that wait for Enter come together with what follows them: that Enter,
 *  or a step to do before it. */
export function nextSteps(card: Card, done: ReadonlySet<number>): readonly LessonStep[] {
  const open = card.steps.filter((step) => step.counts && !done.has(step.n));
  const end = open.findIndex((step) => !step.waits_for_enter);
  return open.slice(0, end < 0 ? open.length : end + 1);
}

export function stateOf(step: LessonStep, next: readonly LessonStep[], done: ReadonlySet<number>): StepState {
  if (done.has(step.n)) return "done";
  if (!step.counts && !step.is_optional) return "look";
  return next.includes(step) ? "current" : "later";
}

/** The card to show first: one with something left to do, or the last one. */
export function firstOpenCard(cards: readonly Card[], done: ReadonlySet<number>): number {
  const open = cards.findIndex((card) => !isComplete(card, done));
  return open < 0 ? cards.length - 1 : open;
}

/** Whether nothing is left to do on a card. */
export function isComplete(card: Card, done: ReadonlySet<number>): boolean {
  return card.steps.every((step) => !step.counts || done.has(step.n));
}

/** The position of a step among those that count: 14 of 27. */
export function placeAmong(step: LessonStep, steps: readonly LessonStep[]): { at: number; of: number } {
  const counted = steps.filter(({ counts }) => counts);
  return { at: counted.findIndex(({ n }) => n === step.n) + 1, of: counted.length };
}
