import { expect, it } from "vitest";
import {
  add,
  chartTab,
  close,
  columnsOf,
  dock,
  floatOff,
  move,
  NO_PANES,
  resized,
  show,
  showBeside,
  splitOff,
  terminalTab,
  tile,
  type Panes,
} from "./panes";

const [a, b, c] = [terminalTab("1"), terminalTab("2"), terminalTab("3")];
const three = [a, b, c].reduce(add, NO_PANES);
const seen = (state: Panes) => state.panes.map((pane) => [pane.tabs.join(), pane.front]);

it("what is added comes behind the front tab; what is shown comes to the front", () => {
  expect(seen(three)).toEqual([[`${a},${b},${c}`, a]]);
  expect(seen(show(three, c))).toEqual([[`${a},${b},${c}`, c]]);
  expect(seen(add(three, b))).toEqual(seen(three));
});

it("closing the front tab brings its neighbour to the front; the last tab leaves an empty pane", () => {
  expect(seen(close(show(three, b), b))).toEqual([[`${a},${c}`, c]]);
  expect(seen([a, b, c].reduce(close, three))).toEqual([["", null]]);
});

it("a tab that is split off goes to a new pane on the right, and its old empty pane disappears", () => {
  const split = splitOff(three, b);
  expect(seen(split)).toEqual([
    [`${a},${c}`, a],
    [b, b],
  ]);
  expect(split.active).toBe(split.panes[1]!.id);
  expect(seen(close(split, b))).toEqual([[`${a},${c}`, a]]);
  expect(close(split, b).active).toBe(split.panes[0]!.id);
});

it("a chart is shown beside the pane in use, which stays in use, and the next one with it", () => {
  const [queue, other] = [chartTab("1"), chartTab("2")];
  const one = showBeside(three, queue);
  expect(seen(one)).toEqual([
    [`${a},${b},${c}`, a],
    [queue, queue],
  ]);
  expect(one.active).toBe(three.active);
  const two = showBeside(one, other);
  expect(seen(two)).toEqual([
    [`${a},${b},${c}`, a],
    [`${queue},${other}`, other],
  ]);
  expect(seen(showBeside(two, queue))[1]).toEqual([`${queue},${other}`, queue]);
  expect(two.active).toBe(three.active);
  expect(seen(showBeside(NO_PANES, queue))).toEqual([[queue, queue]]);
});

it("a tab moves to another pane", () => {
  const split = splitOff(three, b);
  expect(seen(move(split, a, split.panes[1]!.id))).toEqual([
    [c, c],
    [`${b},${a}`, a],
  ]);
});

it("all stand side by side, and then in one pane again", () => {
  expect(seen(tile(three))).toEqual([
    [a, a],
    [b, b],
    [c, c],
  ]);
  expect(seen(tile(tile(three)))).toEqual([[`${a},${b},${c}`, a]]);
});

it("a pane below another is in its column, and becomes the top one when the other is closed", () => {
  const below = splitOff(splitOff(three, b, true), c);
  const columns = (state: Panes) => columnsOf(state).map((column) => column.map((pane) => pane.tabs.join()));
  expect(columns(below)).toEqual([[a, b], [c]].map((column) => [...column]));
  expect(columns(close(below, a))).toEqual([[b], [c]]);
  expect(columns(close(below, b))).toEqual([[a], [c]]);
});

it("a floating pane is not a column, and is docked again on the right", () => {
  const frame = { x: 1, y: 2, width: 300, height: 200 };
  const floating = floatOff(three, b, frame);
  expect(floating.panes.at(-1)).toEqual({ id: 2, tabs: [b], front: b, float: frame });
  expect(
    columnsOf(floating)
      .flat()
      .map(({ tabs }) => tabs),
  ).toEqual([[a, c]]);
  expect(
    columnsOf(dock(floating, 2))
      .flat()
      .map(({ tabs }) => tabs),
  ).toEqual([[a, c], [b]]);
  expect(seen(close(floating, b))).toEqual([[`${a},${c}`, a]]);
});

it("columns keep their widths", () => {
  const wide = resized(
    splitOff(three, b),
    "wide",
    new Map([
      [1, 300],
      [2, 100],
    ]),
  );
  expect(wide.panes.map((pane) => pane.wide)).toEqual([300, 100]);
  expect(close(wide, a).panes.map((pane) => pane.wide)).toEqual([300, 100]);
});
