import { expect, it } from "vitest";
import type { LessonStep } from "../protocol";
import { numberOf, sectionOf, stepsOf } from "./steps";

function step(n: number, where: string, ...lines: string[]): LessonStep {
  return {
    n,
    at: "",
    where: where.split(","),
    text: "",
    lines,
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
}

it("commands find their steps in order, also where the same one comes twice", () => {
  const steps = [
    step(1, "gui"),
    step(2, "h1", "ping 10.0.0.3"),
    step(3, "client", "sudo tc qdisc  add dev s1-eth2 root netem delay 20ms"),
    step(4, "h1", "ping 10.0.0.3"),
    step(5, "h1,h2", "ifconfig"),
  ];
  const commands = [
    { place: "h1", line: "ping 10.0.0.3" },
    { place: "client", line: "sudo tc qdisc add dev s1-eth2 root netem delay 20ms" },
    { place: "", line: "wanlab lab start 14" },
    { place: "h1", line: "ping 10.0.0.3" },
    { place: "h1", line: "ifconfig" },
    { place: "h2", line: "ifconfig" },
  ];
  expect(stepsOf(commands, steps)).toEqual([2, 3, null, 4, 5, 5]);
});

it("a step of several lines has a command for each of them", () => {
  const steps = [step(1, "h1", "ip neigh flush all", "ping 10.0.0.2"), step(2, "h1", "ping 10.0.0.2")];
  const commands = ["ip neigh flush all", "ping 10.0.0.2", "ping 10.0.0.2", "ping 10.0.0.2"].map((line) => ({
    place: "h1",
    line,
  }));
  expect(stepsOf(commands, steps)).toEqual([1, 1, 2, null]);
});

it("a step belongs to the section of its number, or of the number above", () => {
  expect(sectionOf("3.1/2", ["2", "3", "3.1"])).toBe("3.1");
  expect(sectionOf("2.4/1", ["1", "2", "3"])).toBe("2");
  expect(sectionOf("7/1", ["1"])).toBeNull();
  expect(["3.1 The same network", "2. The path", "Theory"].map(numberOf)).toEqual(["3.1", "2", null]);
});
