/** What a step of a lesson asks the student to do, in the words of this page. */

import type { LessonStep } from "../protocol";

const PLACES: Readonly<Record<string, string>> = { client: "the client", mininet: "Mininet's prompt" };

export interface Instruction {
  /** Before the lines to type; the whole instruction if there are none. */
  text: string;
  /** After them: what to press, and when. */
  then: string;
  /** The label of the button that does it for the student. */
  button: string;
}

export function instructionOf(step: LessonStep): Instruction {
  const places = placesOf(step.where);
  switch (step.kind) {
    case "canvas":
      return /^(Run|Stop)$/.test(step.action)
        ? { text: `Press ${step.action}.`, then: "", button: step.action }
        : { text: `${step.action.replace(/^(?=File|Edit)/, "Choose ")}.`, then: "", button: "Do" };
    case "enter":
      return {
        text: `Press Enter in the ${terminals(step.where)}, one right after the other.`,
        then: "",
        button: "Enter",
      };
    case "stop":
      return {
        text: `Press Ctrl-C in the ${terminals(step.where)}${step.ends ? ", which ends" : "."}`,
        then: "",
        button: "Ctrl-C",
      };
    case "wait":
      return { text: `Wait until this has ended in the ${terminals(step.where)}:`, then: "", button: "" };
    case "look":
      return {
        text: /^Look/.test(step.action) ? `${step.action}.` : `Look at the result on ${places}.`,
        then: "",
        button: "",
      };
    case "skip":
      return { text: "", then: "", button: "" };
    case "type":
      return { text: typed(step), then: afterwards(step), button: "Type" };
  }
}

function typed({ where }: LessonStep): string {
  return where[0] === "mininet" ? "Type at Mininet's prompt:" : `Type in the ${terminals(where)}:`;
}

function afterwards(step: LessonStep): string {
  if (step.waits_for_enter) return "Do not press Enter yet.";
  if (step.for_s !== null) return `Press Ctrl-C after ${secondsText(step.for_s)}.`;
  return step.keeps_running ? "Leave it running." : "";
}

/** "terminal of h1", "terminals of h1 and h2". */
export function terminals(where: readonly string[]): string {
  return `${where.length > 1 ? "terminals" : "terminal"} of ${placesOf(where)}`;
}

function placesOf(where: readonly string[]): string {
  const names = where.map((place) => PLACES[place] ?? place);
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");
}

/** A duration: "4 s", "1.5 min". Ctrl-C after 3.5 s is pressed after the fourth reply: 4 s. */
export function secondsText(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.round(seconds / 6) / 10} min`;
}
