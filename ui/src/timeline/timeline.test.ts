import { expect, it } from "vitest";
import type { DrawnLink, LivePort, SessionEvent } from "../protocol";
import { tickText } from "../clock/time";
import {
  barsOf,
  eventText,
  instantAt,
  isFailed,
  lastText,
  MARGIN,
  marksOf,
  neighbour,
  stepNs,
  tickNs,
  ticksOf,
  xOf,
} from "./layout";

const EMPTY: SessionEvent = {
  number: 1,
  at_ns: 0,
  kind: "command",
  text: "",
  until_ns: null,
  where: "",
  terminal: "",
  count: 0,
  status: null,
  is_interrupted: false,
  before: null,
  after: null,
  up: null,
  link: "",
  port_before: null,
  port_after: null,
};
let number = 0;
function event(change: Partial<SessionEvent>): SessionEvent {
  number += 1;
  return { ...EMPTY, number, ...change };
}
const S = 1e9;
const scale = { width: 1000 + 2 * MARGIN, end_ns: 10 * S };

it("an instant and its position are converted to each other, within the ends of the line", () => {
  expect(xOf(2.5 * S, scale)).toBe(MARGIN + 250);
  expect(instantAt(MARGIN + 250, scale)).toBe(2.5 * S);
  expect(instantAt(0, scale)).toBe(0);
  expect(instantAt(9999, scale)).toBe(10 * S);
});

it("ticks are at round times, from a minute on at whole minutes", () => {
  expect(tickNs(scale)).toBe(1 * S);
  expect(ticksOf({ ...scale, width: 400 }).map((at) => tickText(at / S, 2))).toEqual([
    "0 s",
    "2 s",
    "4 s",
    "6 s",
    "8 s",
    "10 s",
  ]);
  expect(tickNs({ ...scale, end_ns: 3600 * S })).toBe(300 * S);
});

it("an arrow key moves by a round fraction of the session", () => {
  expect([0, 1 * S, 10 * S, 600 * S].map(stepNs)).toEqual([1e6, 5e6, 50e6, 5 * S]);
});

it("terminals share a row only if their commands do not cover one another", () => {
  const events = [
    event({ at_ns: 1 * S, until_ns: 3 * S, terminal: "t1" }),
    event({ at_ns: 2 * S, terminal: "t2" }),
    event({ at_ns: 5 * S, until_ns: 5 * S, terminal: "t1" }),
  ];
  const { bars, rows } = barsOf(events, scale, 4 * S);
  expect(bars.map(({ row, x, width }) => [row, x - MARGIN, width])).toEqual([
    [0, 100, 200],
    [1, 200, 200],
    [0, 500, 3],
  ]);
  expect(rows).toBe(2);
  const apart = ["t1", "t2", "t3"].map((terminal, at) => event({ at_ns: at * S, until_ns: (at + 0.5) * S, terminal }));
  expect(barsOf(apart, scale, 9 * S).rows).toBe(1);
  const atOnce = ["t1", "t2", "t3", "t4", "t5"].map((terminal) => event({ at_ns: S, until_ns: 5 * S, terminal }));
  expect(barsOf(atOnce, scale, 9 * S).bars.map(({ row }) => row)).toEqual([0, 1, 2, 3, 4]);
});

it("only one of several events of a kind at a pixel is drawn, and no change that another event explains", () => {
  const events = [0, 1, 2].map((at_ns) =>
    event({ kind: "drop", at_ns, until_ns: at_ns + 1, where: "s1-eth1", count: 1 }),
  );
  expect(marksOf([...events, event({ kind: "port", text: "" })], scale)).toHaveLength(1);
});

it("events have descriptions, and keys go from one to the next", () => {
  const [a, b] = [
    event({ at_ns: 1 * S, where: "h1", text: "false", status: 1 }),
    event({ at_ns: 2 * S, kind: "drop", where: "s1-eth1", count: 4 }),
  ];
  expect(eventText(a!)).toBe("h1: false (status 1)");
  const server = event({ where: "h2", text: "iperf3 -s", status: 1, is_interrupted: true });
  expect([eventText(server), isFailed(server), isFailed(a!)]).toEqual(["h2: iperf3 -s (Ctrl-C)", false, true]);
  expect(eventText(b!)).toBe("4 packets dropped at s1-eth1");
  expect(neighbour([a!, b!], 1 * S, 1)).toBe(b);
  expect(neighbour([a!, b!], 1 * S, -1)).toBe(undefined);
  expect(lastText([a!, b!], 1.5 * S)).toBe("h1: false (status 1)");
  expect(lastText([a!, { ...b!, at_ns: a!.at_ns }], 1.5 * S)).toBe(
    "h1: false (status 1); 4 packets dropped at s1-eth1",
  );
  expect(lastText([a!], 0)).toBe("");
});

it("links and ports have their state at an instant", async () => {
  const { pastAt } = await import("../stores/past");
  const link = (delay: string): DrawnLink => ({
    id: "l1",
    a: "n1",
    b: "n2",
    options: { delay },
    a_options: {},
    b_options: {},
  });
  const port = (is_up: boolean): LivePort => ({
    link: "l1",
    end: "a",
    node: "n1",
    name: "h1-eth0",
    mac: "",
    addresses: [],
    is_up,
    tc: null,
    lost: "",
  });
  const events = [
    event({ at_ns: 10, kind: "link", link: "l1", before: link("1ms"), after: link("2ms") }),
    event({ at_ns: 20, kind: "link", link: "l1", before: link("2ms"), after: link("3ms") }),
    event({ at_ns: 30, kind: "link", link: "l1", up: false }),
    event({ at_ns: 30, kind: "port", link: "l1", port_before: port(true), port_after: port(false) }),
  ];
  const delays = [0, 10, 25, 40].map((at_ns) => pastAt(events, at_ns).links[0]?.options["delay"]);
  expect(delays).toEqual(["1ms", "2ms", "3ms", "3ms"]);
  expect([29, 30].map((at_ns) => pastAt(events, at_ns).linksDown.has("l1"))).toEqual([false, true]);
  // Now in a branch without these changes.
  expect(pastAt([], 25, events).links[0]?.options["delay"]).toBe("1ms");
  expect([29, 30].map((at_ns) => pastAt(events, at_ns).ports["l1 a"]?.is_up)).toEqual([true, false]);
});
