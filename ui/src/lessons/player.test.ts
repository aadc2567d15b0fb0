import { describe, expect, it } from "vitest";
import type { LessonStep } from "../protocol";
import { instructionOf, secondsText } from "./instruction";
import { blocksOf, outlineOf } from "./outline";
import { firstOpenCard, isComplete, nextSteps, placeAmong, stateOf } from "./progress";

const PLAIN: LessonStep = {
  n: 0,
  at: "",
  where: [],
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
const step = (n: number, changes: Partial<LessonStep>): LessonStep => ({ ...PLAIN, n, ...changes });

const LESSON = `# Lab 1

## Theory

Some theory.

## Steps

As in the manual.

### 2 Start

### 3.1 Measure

Type these:

\`\`\`console
h2$ iperf3 -s
h1$ iperf3 -c 10.0.0.2
\`\`\`

**Time:** 10 s.

<details><summary>Why</summary>

Because.

</details>

**Observe:** it is fast. Then draw it:

\`\`\`console
h1$ plot_iperf.sh
\`\`\`

### Check and end

The check measures.

## Questions

1. Why?
`;
const STEPS = [
  step(1, { at: "2/1", where: ["gui"], kind: "canvas", action: "Run", can_perform: true }),
  step(2, { at: "3.1/1", where: ["h2"], lines: ["iperf3 -s"], keeps_running: true }),
  step(3, { at: "3.1/2", where: ["h1"], lines: ["iperf3 -c 10.0.0.2"] }),
  step(4, { at: "3.1/3", where: ["h2"], kind: "stop", ends: "iperf3 -s" }),
  step(5, { at: "3.1/4", where: ["h1"], lines: ["plot_iperf.sh"] }),
];

describe("a lesson becomes cards", () => {
  const { before, cards, after } = outlineOf(LESSON, STEPS);

  it("with what is read before and after them", () => {
    expect(before).toBe("# Lab 1\n\n## Theory\n\nSome theory.\n\nAs in the manual.");
    expect(after).toBe("## Questions\n\n1. Why?");
  });

  it("one for each block of commands, in the order of the steps", () => {
    const shown = cards.map((card) => [card.title, ...card.steps.map(({ n }) => n)]);
    expect(shown).toEqual([["2 Start", 1], ["3.1 Measure", 2, 3, 4], ["3.1 Measure", 5], ["Check and end"]]);
  });

  it("and the text stays where it belongs", () => {
    expect(cards[1]!.before).toBe("Type these:");
    expect(cards[1]!.after).toContain("**Time:** 10 s.");
    expect(cards[1]!.after).toContain("Because.\n\n</details>");
    expect(cards[2]!.before).toBe("**Observe:** it is fast. Then draw it:");
  });
});

it("a lesson without chapters is all cards", () => {
  const { before, cards } = outlineOf("# Slow\n\nFind out.\n\n```console\nh1$ ping h2\n```\n", []);
  expect(before).toBe("");
  expect(cards.map(({ extras }) => extras)).toEqual([[{ place: "h1", line: "ping h2" }]]);
});

it("blocks of code, formulas and folded parts are whole", () => {
  const parts = [
    "```text\na\n\nb\n```",
    "$$\nx\n\ny\n$$",
    "<details><summary>A</summary>\n\nb\n\n</details>",
    "$$ z $$",
    "text",
  ];
  expect(blocksOf(parts.join("\n\n")).map(({ text }) => text)).toEqual(parts);
});

it("the next step is the first that is not done, and lines that wait for Enter come together", () => {
  const steps = [
    step(1, {}),
    step(2, { is_optional: true, counts: false }),
    step(3, { waits_for_enter: true }),
    step(4, { waits_for_enter: true }),
    step(5, { kind: "enter" }),
    step(6, { kind: "look", counts: false }),
    step(7, {}),
  ];
  const card = { title: "", before: "", steps, extras: [], after: "" };
  const next = (...done: number[]) => nextSteps(card, new Set(done)).map(({ n }) => n);
  expect(next()).toEqual([1]);
  expect(next(1)).toEqual([3, 4, 5]);
  expect(next(1, 3, 4, 5)).toEqual([7]);
  expect(next(1, 3, 4, 5, 7)).toEqual([]);
  expect(isComplete(card, new Set([1, 3, 4, 5, 7]))).toBe(true);
  expect(firstOpenCard([card, card], new Set([1]))).toBe(0);
  expect(placeAmong(steps[6]!, steps)).toEqual({ at: 5, of: 5 });
  const states = steps.map((one) => stateOf(one, nextSteps(card, new Set([1])), new Set([1])));
  expect(states).toEqual(["done", "later", "current", "current", "current", "look", "later"]);
});

it("a step between lines that wait for Enter comes next with those before it", () => {
  const steps = [
    step(1, { waits_for_enter: true }),
    step(2, {}),
    step(3, { waits_for_enter: true }),
    step(4, { kind: "enter" }),
  ];
  const card = { title: "", before: "", steps, extras: [], after: "" };
  const next = (...done: number[]) => nextSteps(card, new Set(done)).map(({ n }) => n);
  expect(next()).toEqual([1, 2]);
  expect(next(2)).toEqual([1, 3, 4]);
  expect(next(1, 2, 3, 4)).toEqual([]);
});

it("instructions are for this page", () => {
  const said = (changes: Partial<LessonStep>) => {
    const { text, then } = instructionOf(step(1, changes));
    return `${text} ${then}`.trim();
  };
  expect(said({ kind: "canvas", action: "Open terminals of h1 and h2" })).toBe("Open terminals of h1 and h2.");
  expect(said({ where: ["h1"], for_s: 3.5 })).toBe("Type in the terminal of h1: Press Ctrl-C after 4 s.");
  expect(said({ where: ["h1", "h2"], waits_for_enter: true })).toBe(
    "Type in the terminals of h1 and h2: Do not press Enter yet.",
  );
  expect(said({ where: ["client"], keeps_running: true })).toBe(
    "Type in the terminal of the client: Leave it running.",
  );
  expect(said({ where: ["mininet"] })).toBe("Type at Mininet's prompt:");
  expect(said({ kind: "stop", where: ["h2"], ends: "iperf3 -s" })).toBe(
    "Press Ctrl-C in the terminal of h2, which ends",
  );
  expect(said({ kind: "enter", where: ["h1", "h2"] })).toBe(
    "Press Enter in the terminals of h1 and h2, one right after the other.",
  );
  expect([secondsText(3.5), secondsText(90), secondsText(150)]).toEqual(["4 s", "90 s", "2.5 min"]);
});
