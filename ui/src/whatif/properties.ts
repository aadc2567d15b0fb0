/** The properties of a link that can be asked about. */
import { queueName, valueOf, type Direction } from "../editor/conditions";
import * as units from "../inspector/units";
import { LINK_SETTINGS, type DrawnLink } from "../protocol";

export const QUEUE = "queue";
export const QUEUE_SIZE = "queue size";
const CHECKS = { rate: units.rate, time: units.time, fraction: units.fraction, count: units.whole(0, 1_000_000) };

export interface Property {
  word: string;
  title: string;
  check: units.Check;
}

/** What can be asked about, the most interesting first. */
export const PROPERTIES: readonly Property[] = [
  { word: QUEUE, title: "Queue", check: () => "" },
  { word: QUEUE_SIZE, title: "Queue size (bytes)", check: units.size },
  ...LINK_SETTINGS.filter(({ varies }) => varies).map(({ word, label, kind }) => ({
    word,
    title: label,
    check: CHECKS[kind],
  })),
];

/** The value that a property has now, in words. */
export function valueNow(link: DrawnLink, direction: Direction, word: string): string {
  const { value, differs } = valueOf(link, direction, word === QUEUE_SIZE ? QUEUE : word);
  if (differs) return "different in the two directions";
  if (word === QUEUE) return queueName(value) || "default";
  if (word === QUEUE_SIZE) {
    const limit = typeof value === "object" && value !== null ? (value as { limit?: unknown }).limit : undefined;
    return limit === undefined ? "default" : String(limit);
  }
  return value === undefined ? "none" : String(value);
}

/** The options of the link with another value; "" removes one. */
export function optionsWith(
  link: DrawnLink,
  direction: Direction,
  word: string,
  text: string,
): Readonly<Record<string, unknown>> {
  const value = text.trim();
  if (word !== QUEUE_SIZE) return { [word]: value === "" ? null : value };
  const now = valueOf(link, direction === "both" ? "a" : direction, QUEUE).value;
  const queue = typeof now === "object" && now !== null ? now : { kind: typeof now === "string" ? now : "fifo" };
  const { packets: _, ...rest } = queue as Record<string, unknown>;
  return { [QUEUE]: { ...rest, limit: value } };
}
