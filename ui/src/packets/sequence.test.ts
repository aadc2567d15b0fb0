import { expect, it } from "vitest";
import type { TimeSequencePage } from "../protocol";
import {
  between,
  lossBeside,
  lossText,
  moved,
  nearText,
  pointAt,
  sequenceOf,
  summaryText,
  toX,
  toY,
  viewOfLoss,
  zoomed,
} from "./sequence";

const MS = 1e6;

/** Six segments of 1000 bytes, of which two in a row are lost and one is sent again. */
const PAGE: TimeSequencePage = {
  flow: "10.0.0.1:40000 > 10.0.0.2:5201",
  flows: ["10.0.0.1:40000 > 10.0.0.2:5201"],
  sent: {
    numbers: [1, 2, 3, 4, 8, 9],
    times_ns: [10 * MS, 11 * MS, 12 * MS, 13 * MS, 40 * MS, 41 * MS],
    starts: [0, 1000, 2000, 3000, 1000, 2000],
    ends: [1000, 2000, 3000, 4000, 2000, 3000],
    kinds: ["new", "new", "new", "new", "again", "again"],
    fates: ["arrived", "lost", "lost", "arrived", "arrived", "arrived"],
  },
  answers: {
    numbers: [5, 6, 10],
    times_ns: [30 * MS, 33 * MS, 60 * MS],
    acks: [1000, 1000, 4000],
    window_ends: [65000, 65000, 68000],
    sacks: [[], [[3000, 4000]], []],
    duplicates: [false, true, false],
  },
  is_cut: false,
};
const sequence = sequenceOf(PAGE);

it("segments that were lost in a row are one loss, with its repair", () => {
  expect(sequence.losses).toEqual([
    { at_s: 0.011, start: 1000, end: 3000, segments: 2, isCertain: true, again_s: 0.04, acked_s: 0.06 },
  ]);
  expect(lossText(sequence.losses, 0)).toBe(
    "Loss 1 of 1 at 0.011 s: 2 segments, bytes 1,000 to 2,999, sent again 29 ms later, acknowledged 49 ms later",
  );
  expect(summaryText(sequence)).toBe("6 segments, 2 lost, 2 sent again, 3 acknowledgements");
});

it("what was only sent again is not called lost", () => {
  const sent = { ...PAGE.sent, fates: ["", "resent", "", "", "", ""] as TimeSequencePage["sent"]["fates"] };
  const other = sequenceOf({ ...PAGE, sent });
  expect(lossText(other.losses, 0)).toMatch(/^Retransmission 1 of 1 at 0\.011 s: bytes 1,000 to 1,999, sent again/);
  expect(summaryText(other)).toBe("6 segments, 2 sent again, 3 acknowledgements");
});

it("a segment that was lost before the port of the capture is a loss at its first copy", () => {
  const sent = {
    ...PAGE.sent,
    kinds: ["new", "new", "new", "new", "late", "again"] as TimeSequencePage["sent"]["kinds"],
    fates: ["", "", "", "", "", ""] as TimeSequencePage["sent"]["fates"],
  };
  expect(sequenceOf({ ...PAGE, sent }).losses).toMatchObject([{ at_s: 0.04, start: 1000, again_s: 0.04 }]);
});

it("the view of a loss shows it from before it was sent until its bytes were acknowledged", () => {
  const view = viewOfLoss(sequence, sequence.losses[0]!);
  expect(view.from_s).toBeLessThan(0.011);
  expect(view.to_s).toBeGreaterThan(0.06);
  expect(view.from_b).toBeLessThan(1000);
  expect(view.to_b).toBeGreaterThan(4000);
  expect(view.from_s).toBeGreaterThan(0);
});

it("a zoom keeps its point in place and stops at a smallest view", () => {
  const view = { from_s: 0, to_s: 1, from_b: 0, to_b: 1000 };
  expect(zoomed(view, 0.5, 0.25, 1000)).toEqual({ from_s: 0.125, to_s: 0.625, from_b: 500, to_b: 1000 });
  let small = view;
  for (let step = 0; step < 200; step += 1) small = zoomed(small, 0.5, 0.3, 300);
  expect(small.to_s - small.from_s).toBeCloseTo(2e-6, 9);
  expect(small.to_b - small.from_b).toBeCloseTo(200, 3);
  expect(moved(view, 0.5, -1)).toEqual({ from_s: 0.5, to_s: 1.5, from_b: -1000, to_b: 0 });
  expect(between({ s: 2, b: 9000 }, { s: 1, b: 1000 })).toEqual({ from_s: 1, to_s: 2, from_b: 1000, to_b: 9000 });
});

it("points and places in the picture correspond", () => {
  const size = { width: 200, height: 100 };
  const view = { from_s: 1, to_s: 3, from_b: 0, to_b: 500 };
  expect([toX(view, size, 2), toY(view, size, 100)]).toEqual([100, 80]);
  expect(pointAt(view, size, 100, 80)).toEqual({ s: 2, b: 100 });
});

it("the next and the previous loss are those beside the view, or beside the chosen one", () => {
  const loss = sequence.losses[0]!;
  const losses = [1, 2, 3].map((at_s) => ({ ...loss, at_s }));
  const at = (from_s: number, to_s: number) => ({ from_s, to_s, from_b: 0, to_b: 1 });
  expect(lossBeside(losses, null, at(0, 4), 1)).toBe(0);
  expect(lossBeside(losses, null, at(0, 4), -1)).toBe(2);
  expect(lossBeside(losses, null, at(1.4, 1.6), 1)).toBe(1);
  expect(lossBeside(losses, null, at(2.4, 2.6), -1)).toBe(1);
  expect(lossBeside(losses, 1, at(2, 2.1), 1)).toBe(2);
  expect(lossBeside(losses, 2, at(3, 3.1), 1)).toBe(2);
  expect(lossBeside([], null, at(0, 1), 1)).toBeNull();
});

it("the segment or acknowledgement near a point is described", () => {
  const size = { width: 600, height: 400 };
  const view = { from_s: 0, to_s: 0.06, from_b: 0, to_b: 4000 };
  const near = (at_s: number, at_b: number) =>
    nearText(sequence, view, size, toX(view, size, at_s), toY(view, size, at_b));
  expect(near(0.011, 1500)).toBe("0.011 s: packet 2, bytes 1,000 to 1,999, lost");
  expect(near(0.0405, 1500)).toBe("0.040 s: packet 8, bytes 1,000 to 1,999, sent again");
  expect(near(0.033, 3500)).toBe(
    "0.033 s: packet 6, acknowledges all before 1,000 (duplicate), SACK bytes 3,000 to 3,999, window 64,000 bytes",
  );
  expect(near(0.025, 3900)).toBe("");
});
