/**
 * The time-sequence graph of a flow: what the view shows, how it zooms, and which losses there are.
 * Times are in seconds on the network's clock, bytes count from the first byte of the flow's data.
 */
import { clockText } from "../clock/time";
import type { TimeSequencePage } from "../protocol";
import { lastBefore } from "../stores/hover";

export interface View {
  from_s: number;
  to_s: number;
  from_b: number;
  to_b: number;
}

/** Segments in a row that were lost together, and how the sender made up for them. */
export interface Loss {
  at_s: number;
  start: number;
  end: number;
  segments: number;
  /** Whether it is known that they were lost, and not only sent again. */
  isCertain: boolean;
  again_s: number | null;
  acked_s: number | null;
}

const MARGIN = 0.04;
const MIN_SPAN_S = 2e-6;
const MIN_SPAN_B = 200;
const MAX_TOGETHER_S = 0.05;
const MAX_SEGMENTS_SHOWN = 90;

/** Arrays for searching and drawing, made once for each page of data. */
export interface Sequence {
  page: TimeSequencePage;
  sent_s: readonly number[];
  answered_s: readonly number[];
  losses: readonly Loss[];
  whole: View;
}

export function sequenceOf(page: TimeSequencePage): Sequence {
  const sent_s = page.sent.times_ns.map((time) => time / 1e9);
  const answered_s = page.answers.times_ns.map((time) => time / 1e9);
  const losses = lossesOf(page, sent_s, answered_s);
  return { page, sent_s, answered_s, losses, whole: wholeView(page, sent_s, answered_s) };
}

function wholeView(page: TimeSequencePage, sent_s: readonly number[], answered_s: readonly number[]): View {
  const first_s = Math.min(sent_s[0] ?? 0, answered_s[0] ?? Infinity);
  const last_s = Math.max(sent_s.at(-1) ?? 1, answered_s.at(-1) ?? 0);
  // Not the window, which may be much larger: it would flatten everything else.
  const most = page.sent.ends.reduce((most, end) => Math.max(most, end), 1);
  const least = page.sent.starts.reduce((least, start) => Math.min(least, start), most);
  const [width, height] = [Math.max(last_s - first_s, MIN_SPAN_S), Math.max(most - least, MIN_SPAN_B)];
  return {
    from_s: first_s - MARGIN * width,
    to_s: last_s + MARGIN * width,
    from_b: least - MARGIN * height,
    to_b: most + MARGIN * height,
  };
}

/** The view with the part below 1 of its width and height, or more, around a point that stays in place. */
export function zoomed(view: View, part: number, at_s: number, at_b: number): View {
  const width = view.to_s - view.from_s;
  const height = view.to_b - view.from_b;
  const part_s = Math.max(part, MIN_SPAN_S / width);
  const part_b = Math.max(part, MIN_SPAN_B / height);
  return {
    from_s: at_s - (at_s - view.from_s) * part_s,
    to_s: at_s + (view.to_s - at_s) * part_s,
    from_b: at_b - (at_b - view.from_b) * part_b,
    to_b: at_b + (view.to_b - at_b) * part_b,
  };
}

export function zoomedInMiddle(view: View, part: number): View {
  return zoomed(view, part, (view.from_s + view.to_s) / 2, (view.from_b + view.to_b) / 2);
}

/** The view moved by parts of its width and height. */
export function moved(view: View, across: number, up: number): View {
  const [by_s, by_b] = [across * (view.to_s - view.from_s), up * (view.to_b - view.from_b)];
  return {
    from_s: view.from_s + by_s,
    to_s: view.to_s + by_s,
    from_b: view.from_b + by_b,
    to_b: view.to_b + by_b,
  };
}

/** A view between two corners, not smaller than the smallest. */
export function between(a: { s: number; b: number }, b: { s: number; b: number }): View {
  const view = {
    from_s: Math.min(a.s, b.s),
    to_s: Math.max(a.s, b.s),
    from_b: Math.min(a.b, b.b),
    to_b: Math.max(a.b, b.b),
  };
  const isSmall = view.to_s - view.from_s < MIN_SPAN_S || view.to_b - view.from_b < MIN_SPAN_B;
  if (!isSmall) return view;
  return {
    ...view,
    to_s: Math.max(view.to_s, view.from_s + MIN_SPAN_S),
    to_b: Math.max(view.to_b, view.from_b + MIN_SPAN_B),
  };
}

function lossesOf(page: TimeSequencePage, sent_s: readonly number[], answered_s: readonly number[]): readonly Loss[] {
  const { starts, ends, kinds, fates } = page.sent;
  const again = new Map<number, number[]>();
  kinds.forEach((kind, index) => {
    if (kind === "new") return;
    const all = again.get(starts[index]!) ?? [];
    all.push(index);
    again.set(starts[index]!, all);
  });
  const losses: Loss[] = [];
  fates.forEach((fate, index) => {
    const isLate = kinds[index] === "late";
    if (fate !== "lost" && fate !== "resent" && !isLate) return;
    const [start, end, at_s] = [starts[index]!, ends[index]!, sent_s[index]!];
    const repair = isLate ? index : again.get(start)?.find((other) => other > index);
    const again_s = repair === undefined ? null : sent_s[repair]!;
    const last = losses.at(-1);
    if (last !== undefined && start === last.end && at_s - last.at_s < MAX_TOGETHER_S) {
      last.end = end;
      last.segments += 1;
      last.again_s ??= again_s;
    } else {
      losses.push({ at_s, start, end, segments: 1, isCertain: fate === "lost", again_s, acked_s: null });
    }
  });
  for (const loss of losses) loss.acked_s = ackedAt(page, answered_s, loss.end, loss.again_s ?? loss.at_s);
  return losses;
}

/** When all bytes before `end` had been acknowledged. */
function ackedAt(page: TimeSequencePage, answered_s: readonly number[], end: number, from_s: number): number | null {
  for (let row = lastBefore(answered_s, from_s) + 1; row < answered_s.length; row += 1) {
    if (page.answers.acks[row]! >= end) return answered_s[row]!;
  }
  return null;
}

/** The view of one loss: from shortly before it until its bytes were acknowledged. */
export function viewOfLoss(sequence: Sequence, loss: Loss): View {
  const { page, sent_s } = sequence;
  const until_s = loss.acked_s ?? loss.again_s ?? loss.at_s;
  const width = Math.max(until_s - loss.at_s, 1e-3);
  const segment = Math.max((loss.end - loss.start) / loss.segments, 1);
  let most = loss.end;
  for (let row = Math.max(lastBefore(sent_s, loss.at_s), 0); row < sent_s.length && sent_s[row]! <= until_s; row += 1) {
    most = Math.max(most, page.sent.ends[row]!);
  }
  most = Math.min(most, loss.end + MAX_SEGMENTS_SHOWN * segment);
  const height = Math.max(most - loss.start, 6 * segment);
  return {
    from_s: loss.at_s - 0.15 * width,
    to_s: until_s + 0.2 * width,
    from_b: loss.start - 0.25 * height,
    to_b: loss.start + 1.1 * height,
  };
}

/** The index of the next or the previous loss, seen from the middle of a view or from a chosen loss. */
export function lossBeside(losses: readonly Loss[], chosen: number | null, view: View, way: 1 | -1): number | null {
  if (losses.length === 0) return null;
  if (chosen !== null) return Math.min(Math.max(chosen + way, 0), losses.length - 1);
  const at_s = (view.from_s + view.to_s) / 2;
  const after = losses.findIndex((loss) => loss.at_s >= at_s);
  // In the view of all, the first loss comes first.
  const isAll = losses.every((loss) => loss.at_s > view.from_s && loss.at_s < view.to_s);
  if (isAll) return way > 0 ? 0 : losses.length - 1;
  if (way > 0) return after < 0 ? losses.length - 1 : after;
  return after < 0 ? losses.length - 1 : Math.max(after - 1, 0);
}

/** "Loss 2 of 5 at 4.213 s: bytes 57,920 to 59,368, sent again 88.4 ms later, acknowledged 129 ms later" */
export function lossText(losses: readonly Loss[], index: number): string {
  const loss = losses[index];
  if (loss === undefined) return "";
  const what = loss.isCertain ? "Loss" : "Retransmission";
  const count = loss.segments === 1 ? "" : `${loss.segments} segments, `;
  const again =
    loss.again_s === null ? "" : loss.again_s === loss.at_s ? "" : `, sent again ${after(loss, loss.again_s)}`;
  const acked = loss.acked_s === null ? "" : `, acknowledged ${after(loss, loss.acked_s)}`;
  return `${what} ${index + 1} of ${losses.length} at ${clockText(loss.at_s * 1e9)}: ${count}${bytesText(loss.start, loss.end)}${again}${acked}`;
}

function after(loss: Loss, time_s: number): string {
  return `${shortTime(time_s - loss.at_s)} later`;
}

/** "88.4 ms", "1.2 s", "35 µs" */
export function shortTime(time_s: number): string {
  const [factor, unit] = time_s >= 1 ? [1, "s"] : time_s >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${+(time_s * factor).toPrecision(3)} ${unit}`;
}

function bytesText(start: number, end: number): string {
  return `bytes ${start.toLocaleString("en")} to ${(end - 1).toLocaleString("en")}`;
}

export interface Size {
  width: number;
  height: number;
}

export function toX(view: View, { width }: Size, at_s: number): number {
  return ((at_s - view.from_s) / (view.to_s - view.from_s)) * width;
}

export function toY(view: View, { height }: Size, at_b: number): number {
  return height - ((at_b - view.from_b) / (view.to_b - view.from_b)) * height;
}

export function pointAt(view: View, { width, height }: Size, x: number, y: number): { s: number; b: number } {
  return {
    s: view.from_s + (x / width) * (view.to_s - view.from_s),
    b: view.from_b + ((height - y) / height) * (view.to_b - view.from_b),
  };
}

const REACH_PX = 7;

/** The segment or acknowledgement near a point of the picture, in words; "" if there is none. */
export function nearText(sequence: Sequence, view: View, size: Size, x: number, y: number): string {
  const { page, sent_s, answered_s } = sequence;
  const reach_s = (REACH_PX / size.width) * (view.to_s - view.from_s);
  const at = pointAt(view, size, x, y);
  let best = REACH_PX;
  let text = "";
  const rows = (times: readonly number[]) => [lastBefore(times, at.s - reach_s) + 1, lastBefore(times, at.s + reach_s)];
  const consider = (time_s: number, low: number, high: number, words: () => string) => {
    const down = Math.max(toY(view, size, high) - y, y - toY(view, size, low), 0);
    const distance = Math.hypot(toX(view, size, time_s) - x, down);
    if (distance < best) [best, text] = [distance, words()];
  };
  const [firstAnswer, lastAnswer] = rows(answered_s);
  for (let row = firstAnswer!; row <= lastAnswer!; row += 1) {
    const ack = page.answers.acks[row]!;
    consider(answered_s[row]!, ack, ack, () => answerText(page, row));
    for (const [start, end] of page.answers.sacks[row]!) {
      consider(answered_s[row]!, start!, end!, () => answerText(page, row));
    }
  }
  const [firstSent, lastSent] = rows(sent_s);
  for (let row = firstSent!; row <= lastSent!; row += 1) {
    consider(sent_s[row]!, page.sent.starts[row]!, page.sent.ends[row]!, () => segmentText(page, row));
  }
  return text;
}

const KIND_WORDS = { new: "", again: ", sent again", late: ", first seen after newer bytes" } as const;
const FATE_WORDS = { "": "", arrived: "", lost: ", lost", resent: ", sent again later" } as const;

function segmentText({ sent }: TimeSequencePage, row: number): string {
  const bytes = bytesText(sent.starts[row]!, sent.ends[row]!);
  const at = clockText(sent.times_ns[row]!);
  return `${at}: packet ${sent.numbers[row]}, ${bytes}${KIND_WORDS[sent.kinds[row]!]}${FATE_WORDS[sent.fates[row]!]}`;
}

function answerText({ answers }: TimeSequencePage, row: number): string {
  const window = answers.window_ends[row];
  const parts = [
    `${clockText(answers.times_ns[row]!)}: packet ${answers.numbers[row]}`,
    `acknowledges all before ${answers.acks[row]!.toLocaleString("en")}${answers.duplicates[row] ? " (duplicate)" : ""}`,
    ...answers.sacks[row]!.map(([start, end]) => `SACK ${bytesText(start!, end!)}`),
    ...(window == null ? [] : [`window ${(window - answers.acks[row]!).toLocaleString("en")} bytes`]),
  ];
  return parts.join(", ");
}

/** "1,204 segments, 12 lost, 14 sent again, 640 acknowledgements" */
export function summaryText({ page }: Sequence): string {
  if (page.sent.starts.length === 0) return "No data of this flow";
  const counted = (count: number, one: string, many = `${one}s`) =>
    `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  const lost = page.sent.fates.filter((fate) => fate === "lost").length;
  const again = page.sent.kinds.filter((kind) => kind !== "new").length;
  const isKnown = page.sent.fates.some((fate) => fate === "arrived" || fate === "lost");
  return [
    `${page.is_cut ? "the first " : ""}${counted(page.sent.starts.length, "segment")}`,
    ...(isKnown ? [`${lost.toLocaleString("en")} lost`] : []),
    `${again.toLocaleString("en")} sent again`,
    counted(page.answers.acks.length, "acknowledgement"),
  ].join(", ");
}
