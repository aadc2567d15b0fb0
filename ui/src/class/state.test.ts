import { describe, expect, it } from "vitest";
import type { ClassState, StudentRow } from "../protocol";
import { ago, arranged, currentUnit, help, total, unitName } from "./state";

function student(name: string, more: Partial<StudentRow> = {}): StudentRow {
  return {
    name,
    seed: 1,
    is_online: false,
    seen_s: null,
    phase: "stopped",
    nodes: 0,
    open_unit: "",
    units: [],
    hand_ins: [],
    grades: [],
    disk_bytes: 0,
    disk_limit_bytes: 1,
    number: 0,
    hand_raised_s: null,
    idle_since_s: null,
    ...more,
  };
}

const units = [
  { unit: "5", done: 3, steps: 10, points: null, of: null },
  { unit: "ex3", done: 2, steps: 4, points: 5, of: 10 },
];

describe("the class", () => {
  it("names units as the course does", () => {
    expect(["14", "ex3", "prob1", "slow-link"].map(unitName)).toEqual([
      "Lab 14",
      "Exercise 3",
      "Problem 1",
      "slow-link",
    ]);
  });

  it("shows who needs help, those who ask first, then by how long", () => {
    const rows = [
      student("works", { idle_since_s: 900 }),
      student("stuck", { idle_since_s: 100 }),
      student("asks", { hand_raised_s: 990 }),
      student("waits", { hand_raised_s: 400, idle_since_s: 100 }),
    ];
    expect(rows.map((row) => help(row, 1000)?.kind ?? "")).toEqual(["", "stuck", "asks", "asks"]);
    const state: ClassState = {
      folder: "",
      now_s: 1000,
      networks: null,
      has_links: true,
      graded_s: null,
      students: rows,
      grading: "",
      grading_result: "",
    };
    const names = arranged(state, "", "help", false).map(({ name }) => name);
    expect(names).toEqual(["waits", "asks", "stuck", "works"]);
  });

  it("shows the open unit, and otherwise the last", () => {
    expect(currentUnit(student("a", { units, open_unit: "5" }))?.done).toBe(3);
    expect(currentUnit(student("a", { units }))?.unit).toBe("ex3");
    expect(currentUnit(student("a", { units, open_unit: "6" }))).toMatchObject({ unit: "6", done: 0 });
    expect(currentUnit(student("a"))).toBeNull();
  });

  it("adds grades up", () => {
    const grade = { unit: "ex3", points: 7.5, of: 10, late: "", missed: "", error: "" };
    expect(total([grade, { ...grade, points: 1 }])).toEqual({ points: 8.5, of: 20 });
    expect(total([])).toBeNull();
  });

  it("sorts and filters", () => {
    const students = [
      student("Bob", { units }),
      student("Ada Lovelace", { is_online: true }),
      student("Eve", { seen_s: 5 }),
    ];
    const state: ClassState = {
      folder: "",
      now_s: 0,
      networks: null,
      has_links: true,
      graded_s: null,
      grading: "",
      grading_result: "",
      students,
    };
    const names = (...words: [string, Parameters<typeof arranged>[2], boolean]) =>
      arranged(state, ...words).map((one) => one.name);
    expect(names("", "name", false)).toEqual(["Ada Lovelace", "Bob", "Eve"]);
    expect(names("", "presence", true)).toEqual(["Ada Lovelace", "Eve", "Bob"]);
    expect(names("", "steps", true)[0]).toBe("Bob");
    expect(names("love ada", "name", false)).toEqual(["Ada Lovelace"]);
  });

  it("says how long ago something was", () => {
    expect([ago(null, 100), ago(90, 100), ago(0, 300), ago(0, 7300)]).toEqual([
      "never",
      "just now",
      "5 min ago",
      "2 h ago",
    ]);
  });
});
