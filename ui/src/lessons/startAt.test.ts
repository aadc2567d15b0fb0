import { describe, expect, it } from "vitest";
import type { LessonStep } from "../protocol";
import type { Card } from "./outline";
import { choicesOf, secondsBefore, suggestionOf } from "./startAt";

const PLAIN: LessonStep = {
  n: 0,
  at: "",
  where: ["h1"],
  text: "",
  lines: [],
  note: "",
  printed: "",
  can_type: true,
  action: "",
  can_perform: false,
  kind: "type",
  counts: true,
  is_optional: false,
  keeps_running: false,
  waits_for_enter: false,
  ends: "",
  for_s: null,
  takes_s: 0,
  figures: [],
};
const step = (n: number, changes: Partial<LessonStep> = {}): LessonStep => ({ ...PLAIN, n, ...changes });
const card = (title: string, ...steps: LessonStep[]): Card => ({ title, before: "", steps, extras: [], after: "" });

const STEPS = [
  step(1, { kind: "canvas" }),
  step(2, { takes_s: 4 }),
  step(3, { waits_for_enter: true }),
  step(4, { kind: "enter", takes_s: 90 }),
  step(5, { kind: "skip" }),
  step(6, { takes_s: 10 }),
  step(7, { where: ["mininet"] }),
  step(8),
];
const CARDS = [
  card("2 Start", STEPS[0]!, STEPS[1]!),
  card("3 Measure", STEPS[2]!, STEPS[3]!),
  card("3 Measure", STEPS[5]!),
  card("4 Prompt", STEPS[6]!, STEPS[7]!),
];

describe("a unit starts at a later step", () => {
  const choices = choicesOf(CARDS);

  it("of a section, but not while a line waits for Enter, nor after Mininet's prompt", () => {
    expect(choices.map(({ title, steps }) => [title, ...steps.map(({ n }) => n)])).toEqual([
      ["2 Start", 2],
      ["3 Measure", 3, 6],
      ["4 Prompt", 7],
    ]);
  });

  it("by default at the first that is not done, or at the last choice before it", () => {
    expect(suggestionOf(choices, STEPS, new Set())).toBe(2);
    expect(suggestionOf(choices, STEPS, new Set([1, 2, 3]))).toBe(3);
    expect(suggestionOf(choices, STEPS, new Set([1, 2, 3, 4, 5]))).toBe(6);
    expect(suggestionOf(choices, STEPS, new Set([1, 2, 3, 4, 5, 6, 7, 8]))).toBe(7);
    expect(suggestionOf([], STEPS, new Set())).toBeUndefined();
  });

  it("after the time that the steps before it take", () => {
    expect(secondsBefore(STEPS, 2)).toBe(0);
    expect(secondsBefore(STEPS, 3)).toBe(4);
    expect(secondsBefore(STEPS, 6)).toBe(94);
    expect(secondsBefore(STEPS, 8)).toBe(104);
  });
});
