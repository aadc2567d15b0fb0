/** Divide a lesson into what is read before, the cards of the player, and the questions after them.
 *
 *  A card has a few steps that belong together: the text that introduces a block of commands, the steps
 *  of that block, and the text about what they show. lab.yaml orders the steps; the text is the lesson's.
 */

import type { LessonStep } from "../protocol";
import { commandOf, type Command } from "./markdown";
import { numberOf, sectionOf, stepsOf } from "./steps";

export interface Card {
  title: string;
  /** Markdown before and after the steps. */
  before: string;
  steps: readonly LessonStep[];
  /** Commands that belong to no step, which may be tried. */
  extras: readonly Command[];
  after: string;
}

export interface Outline {
  /** Markdown. */
  before: string;
  cards: readonly Card[];
  after: string;
}

interface Block {
  kind: "heading" | "console" | "text";
  text: string;
  level: number;
}

/** The parts of a lesson in which something is done; the others are read. */
const WORK = ["Steps", "Start", "Tasks", "Check"];
/** Paragraphs that say what a command has shown, not what to do next. */
const LOOKS_BACK = /^(\*\*(Observe|Time)|[*|>-] |<details|```|\$\$|!\[|\d+\. )/;

export function outlineOf(markdown: string, steps: readonly LessonStep[]): Outline {
  const blocks = blocksOf(markdown);
  const chapters = split(blocks, 2);
  const isWork = chapters.map(({ title }) => WORK.includes(title));
  const [first, last] = [isWork.indexOf(true), isWork.lastIndexOf(true)];
  if (first < 0) return { before: "", cards: cardsOf([{ title: "", blocks }], steps), after: "" };
  const sections = chapters
    .slice(first, last + 1)
    .flatMap(({ title, blocks: inside }) => split(inside, 3, title === "Steps" ? "" : title));
  // What "Steps" says before its first section is about all of them.
  const preface = sections[0]!.title === "" ? sections.splice(0, 1) : [];
  return {
    before: [...chapters.slice(0, first), ...preface].map(sourceOf).join("\n\n"),
    cards: cardsOf(sections, steps),
    after: chapters
      .slice(last + 1)
      .map(sourceOf)
      .join("\n\n"),
  };
}

interface Part {
  title: string;
  blocks: Block[];
}

interface Draft extends Part {
  before: Block[];
  commands: Command[];
  after: Block[];
  steps: LessonStep[];
}

function cardsOf(parts: readonly Part[], steps: readonly LessonStep[]): Card[] {
  const drafts = parts.flatMap(draftsOf);
  const commands = drafts.flatMap((draft) => draft.commands);
  const numbers = stepsOf(commands, steps);
  const extras = new Map<Draft, Command[]>();
  const homes = new Map<number, Draft>();
  let index = 0;
  for (const draft of drafts) {
    for (const command of draft.commands) {
      const number = numbers[index++] ?? null;
      if (number === null) extras.set(draft, [...(extras.get(draft) ?? []), command]);
      else if (!homes.has(number)) homes.set(number, draft);
    }
  }
  placeRest(drafts, steps, homes);
  for (const step of steps) if (step.kind !== "skip") homes.get(step.n)?.steps.push(step);
  return drafts
    .map((draft) => ({
      title: draft.title,
      before: textOf(draft.before),
      steps: draft.steps,
      extras: extras.get(draft) ?? [],
      after: textOf(draft.after),
    }))
    .filter((card) => card.before || card.after || card.steps.length > 0 || card.extras.length > 0);
}

/** Find the cards of steps without a command in the text: those on the canvas, Enter, Ctrl-C. */
function placeRest(drafts: readonly Draft[], steps: readonly LessonStep[], homes: Map<number, Draft>): void {
  const sections = drafts.map(({ title }) => numberOf(title));
  let previous: Draft | undefined;
  steps.forEach((step, index) => {
    const known = homes.get(step.n);
    if (known === undefined) {
      const section = sectionOf(
        step.at,
        sections.filter((number) => number !== null),
      );
      const inside = drafts.filter((_, at) => section !== null && sections[at] === section);
      const next = steps
        .slice(index + 1)
        .map(({ n }) => homes.get(n))
        .find((draft) => draft !== undefined);
      const isLater = previous !== undefined && inside.includes(previous);
      const first = next !== undefined && inside.includes(next) ? next : inside.at(-1);
      homes.set(step.n, (isLater ? previous : (first ?? previous ?? next)) ?? drafts[0]!);
    }
    previous = homes.get(step.n);
  });
}

/** The cards of a section: one for each block of commands, or one without any. */
function draftsOf({ title, blocks }: Part): Draft[] {
  const drafts: Draft[] = [];
  let pending: Block[] = [];
  for (const block of blocks) {
    if (block.kind !== "console") {
      pending.push(block);
      continue;
    }
    const last = drafts.at(-1);
    const introduction = last === undefined ? pending : introducing(pending);
    last?.after.push(...pending.slice(0, pending.length - introduction.length));
    drafts.push({ title, blocks: [], before: introduction, commands: commandsOf(block), after: [], steps: [] });
    pending = [];
  }
  if (drafts.length === 0) return [{ title, blocks: [], before: pending, commands: [], after: [], steps: [] }];
  drafts.at(-1)!.after.push(...pending);
  return drafts;
}

/** The last paragraphs of some text, if they introduce the commands that follow. */
function introducing(pending: readonly Block[]): Block[] {
  const last = pending.at(-1);
  if (last === undefined) return [];
  return last.text.trimEnd().endsWith(":") || !LOOKS_BACK.test(last.text) ? [last] : [];
}

function commandsOf(block: Block): Command[] {
  return block.text
    .split("\n")
    .slice(1, -1)
    .map(commandOf)
    .filter((command) => command !== null);
}

function split(blocks: readonly Block[], level: number, title = ""): Part[] {
  const parts: Part[] = [{ title, blocks: [] }];
  for (const block of blocks) {
    if (block.kind === "heading" && block.level === level)
      parts.push({ title: block.text.replace(/^#+ /, ""), blocks: [] });
    else parts.at(-1)!.blocks.push(block);
  }
  return parts.filter((part, index) => index > 0 || part.blocks.length > 0);
}

function sourceOf({ title, blocks }: Part): string {
  return textOf([...(title ? [{ kind: "heading", text: `## ${title}`, level: 2 } as const] : []), ...blocks]);
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map(({ text }) => text).join("\n\n");
}

/** The blocks of a lesson that are separated by empty lines; code, formulas and folded parts are whole. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  let fence = "";
  let depth = 0;
  const end = () => {
    if (lines.length > 0) blocks.push(blockOf(lines.join("\n")));
    lines = [];
  };
  for (const line of markdown.split("\n")) {
    const mark = /^ *(```+|\$\$)/.exec(line)?.[1] ?? "";
    const isWhole = mark === "$$" && /\$\$.*\$\$/.test(line);
    if (!fence && depth === 0 && /^(#{1,3} |```)/.test(line)) end();
    if (fence ? line.trim().startsWith(fence) || line.trimEnd().endsWith(fence) : mark && !isWhole) {
      fence = fence ? "" : mark;
      lines.push(line);
      if (!fence && depth === 0) end();
      continue;
    }
    if (!fence) depth += (line.match(/<details>/g)?.length ?? 0) - (line.match(/<\/details>/g)?.length ?? 0);
    if (line.trim() === "" && !fence && depth === 0) end();
    else {
      lines.push(line);
      if (!fence && depth === 0 && /^#{1,3} /.test(line)) end();
    }
  }
  end();
  return blocks;
}

function blockOf(text: string): Block {
  const heading = /^(#{1,3}) /.exec(text);
  if (heading) return { kind: "heading", text, level: heading[1]!.length };
  return { kind: /^```console\n/.test(text) ? "console" : "text", text, level: 0 };
}
