/**
 * The conditions of a link by direction: `options` hold for both, `a_options` and `b_options` for
 * packets that leave at that end. Here an option is in one place only: in `options` if it is equal in
 * both directions, else at both ends.
 */
import { CONDITIONS, type DrawnLink } from "../protocol";

export type Direction = "both" | "a" | "b";

/** The value for packets that leave at an end. */
export function valueAt(link: DrawnLink, end: "a" | "b", name: string): unknown {
  return link[`${end}_options`][name] ?? link.options[name];
}

/** The value in a direction; for "both", `differs` if the two directions are not the same. */
export function valueOf(link: DrawnLink, direction: Direction, name: string): { value: unknown; differs: boolean } {
  if (direction !== "both") return { value: valueAt(link, direction, name), differs: false };
  const a = valueAt(link, "a", name);
  const b = valueAt(link, "b", name);
  return same(a, b) ? { value: a, differs: false } : { value: undefined, differs: true };
}

/** The link with an option set in a direction; undefined removes the option. */
export function withValue(link: DrawnLink, direction: Direction, name: string, value: unknown): DrawnLink {
  const a = direction === "b" ? valueAt(link, "a", name) : value;
  const b = direction === "a" ? valueAt(link, "b", name) : value;
  const isSame = same(a, b);
  return {
    ...link,
    options: withOption(link.options, name, isSame ? a : undefined),
    a_options: withOption(link.a_options, name, isSame ? undefined : a),
    b_options: withOption(link.b_options, name, isSame ? undefined : b),
  };
}

export function withOption(
  options: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): Record<string, unknown> {
  const { [name]: _, ...rest } = options;
  return value === undefined ? rest : { ...rest, [name]: value };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

const BETWEEN = " · ";

/** The settings of `tc` at the ends of a link that differ from the drawing. */
export type SetByTc = Partial<Record<"a" | "b", Readonly<Record<string, unknown>> | null>>;

/** The text beside the line ("10Mbps · 20ms"): for both directions, or for each. */
export function summary(link: DrawnLink, tc: SetByTc = {}): { both: string; a: string; b: string } {
  const ofEnd = (end: "a" | "b") => shown(tc[end] ?? { ...link.options, ...only(link[`${end}_options`]) });
  const a = ofEnd("a");
  const b = ofEnd("b");
  return a === b ? { both: a, a: "", b: "" } : { both: "", a, b };
}

/** A summary, broken into lines of at most `room` characters. */
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
  return Object.fromEntries(Object.entries(options).filter(([name]) => CONDITIONS.includes(name)));
}

/** Conditions in one line: "10Mbps · 20ms±2ms · loss 1% · fq_codel". */
export function shown(options: Readonly<Record<string, unknown>>): string {
  const text = (name: string) => (options[name] === undefined ? "" : String(options[name]));
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

const TIME_NS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 };

/** The nanoseconds of "20ms"; null if the text is no time. */
export function timeNs(text: unknown): number | null {
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|μs|ms|s)/.exec(String(text)) ?? [];
  return number === undefined ? null : Number(number) * TIME_NS[unit!]!;
}
