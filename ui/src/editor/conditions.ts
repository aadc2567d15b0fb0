/**
 * A link's words for both directions, and for one: `options` hold what both have in common,
 * `a_options` and `b_options` what holds for packets that leave at that end only. Here a word always
 * stands at one of these places: equal in both directions at the link, else at its ends.
 */
import type { DrawnLink } from "../protocol";

/** Words of what a link does to packets; everything else in `a_options` is of the port. */
const CONDITION_WORDS = [
  "rate",
  "delay",
  "jitter",
  "delay_correlation",
  "distribution",
  "loss",
  "loss_correlation",
  "duplicate",
  "corrupt",
  "reorder",
  "reorder_correlation",
  "queue",
] as const;

export type Direction = "both" | "a" | "b";

/** What holds for packets that leave at an end. */
export function valueAt(link: DrawnLink, end: "a" | "b", word: string): unknown {
  return link[`${end}_options`][word] ?? link.options[word];
}

/** The value of a direction; `differs` if both are asked for and they are not the same. */
export function valueOf(
  link: DrawnLink,
  direction: Direction,
  word: string,
): { value: unknown; differs: boolean } {
  if (direction !== "both") return { value: valueAt(link, direction, word), differs: false };
  const a = valueAt(link, "a", word);
  const b = valueAt(link, "b", word);
  return same(a, b) ? { value: a, differs: false } : { value: undefined, differs: true };
}

/** The link with a word set in a direction; undefined takes it away. */
export function withValue(link: DrawnLink, direction: Direction, word: string, value: unknown): DrawnLink {
  const a = direction === "b" ? valueAt(link, "a", word) : value;
  const b = direction === "a" ? valueAt(link, "b", word) : value;
  const isSame = same(a, b);
  return {
    ...link,
    options: withOption(link.options, word, isSame ? a : undefined),
    a_options: withOption(link.a_options, word, isSame ? undefined : a),
    b_options: withOption(link.b_options, word, isSame ? undefined : b),
  };
}

export function withOption(
  options: Readonly<Record<string, unknown>>,
  word: string,
  value: unknown,
): Record<string, unknown> {
  const { [word]: _, ...rest } = options;
  return value === undefined ? rest : { ...rest, [word]: value };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

const BETWEEN = " · ";

/** What stands beside the line: "10Mbps 20ms"; with an arrow, what holds one way only. */
export function summary(link: DrawnLink): { both: string; a: string; b: string } {
  const own = (end: "a" | "b") =>
    shown({ ...link.options, ...only(link[`${end}_options`]) });
  const a = own("a");
  const b = own("b");
  return a === b ? { both: a, a: "", b: "" } : { both: "", a, b };
}

/** A summary in as many lines as it needs where there is room for so many letters. */
export function wrapped(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const part of text.split(BETWEEN)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + BETWEEN.length + part.length <= room) {
      lines[lines.length - 1] = last + BETWEEN + part;
    } else lines.push(part);
  }
  return lines;
}

function only(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const known: readonly string[] = CONDITION_WORDS;
  return Object.fromEntries(Object.entries(options).filter(([word]) => known.includes(word)));
}

function shown(options: Readonly<Record<string, unknown>>): string {
  const text = (word: string) => (options[word] === undefined ? "" : String(options[word]));
  const jitter = text("jitter") === "" ? "" : `±${text("jitter")}`;
  const loss = text("loss") === "" ? "" : `loss ${text("loss")}`;
  return [text("rate"), text("delay") + jitter, loss, queueName(options.queue)]
    .filter((part) => part !== "")
    .join(BETWEEN);
}

export function queueName(queue: unknown): string {
  if (typeof queue === "string") return queue;
  if (typeof queue !== "object" || queue === null) return "";
  const { kind = "fifo", limit, packets } = queue as Record<string, unknown>;
  const size = limit !== undefined ? ` ${String(limit)}` : packets !== undefined ? ` ${String(packets)}p` : "";
  return `${String(kind)}${size}`;
}
