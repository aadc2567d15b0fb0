import type { ClassState, GradeRow, StudentRow, UnitState } from "../protocol";

/** The columns that the table can be sorted by. */
export type Column = "help" | "name" | "presence" | "network" | "unit" | "steps" | "check" | "handed in" | "grade";

/** The name of a unit as the course prints it: "14" is Lab 14, "ex3" Exercise 3, "prob1" Problem 1. */
export function unitName(unit: string): string {
  const match = /^(ex|prob)?(\d+)$/.exec(unit);
  if (!match) return unit;
  const kind = match[1] === "ex" ? "Exercise" : match[1] === "prob" ? "Problem" : "Lab";
  return `${kind} ${match[2]}`;
}

/** The unit that a student works on, or the last one in which something was done. */
export function currentUnit(student: StudentRow): UnitState | null {
  const open = student.units.find((unit) => unit.unit === student.open_unit);
  if (open) return open;
  if (student.open_unit) return { unit: student.open_unit, done: 0, steps: 0, points: null, of: null };
  return student.units.at(-1) ?? null;
}

/** The sum of all grades; null if nothing was graded. */
export function total(grades: readonly GradeRow[]): { points: number; of: number } | null {
  if (!grades.length) return null;
  const sum = (pick: (grade: GradeRow) => number) => grades.reduce((before, grade) => before + pick(grade), 0);
  return { points: sum((grade) => grade.points), of: sum((grade) => grade.of) };
}

/** Whether a network of the student uses resources. */
export function isRunning(student: StudentRow): boolean {
  return ["starting", "running", "stopping"].includes(student.phase);
}

/** A student who has done no step for this long probably needs help. */
const STUCK_S = 10 * 60;

export interface Help {
  kind: "asks" | "stuck";
  forS: number;
}

/** Whether a student needs help, and for how long: a raised hand, or no step done for a long time. */
export function help(student: StudentRow, nowS: number): Help | null {
  if (student.hand_raised_s !== null) return { kind: "asks", forS: nowS - student.hand_raised_s };
  if (student.idle_since_s === null || nowS - student.idle_since_s < STUCK_S) return null;
  return { kind: "stuck", forS: nowS - student.idle_since_s };
}

/** How long ago something was: "now", "5 min ago", "yesterday 14:03". */
export function ago(lastSeenS: number | null, nowS: number): string {
  if (lastSeenS === null) return "never";
  const minutes = Math.floor((nowS - lastSeenS) / 60);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(lastSeenS * 1000).toLocaleDateString();
}

/** A number without trailing zeros: 7.5, 10. */
export function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** The students whose name contains all words, in the order of a column. */
export function arranged(state: ClassState, words: string, column: Column, isDescending: boolean): StudentRow[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = state.students.filter((student) => wanted.every((word) => student.name.toLowerCase().includes(word)));
  const compare = (a: StudentRow, b: StudentRow) =>
    compareKeys(key(a, column, state.now_s), key(b, column, state.now_s)) || a.name.localeCompare(b.name);
  rows.sort(compare);
  return isDescending ? rows.reverse() : rows;
}

function compareKeys(a: number | string, b: number | string): number {
  return typeof a === "string" || typeof b === "string"
    ? String(a).localeCompare(String(b), undefined, { numeric: true })
    : a - b;
}

function key(student: StudentRow, column: Column, nowS: number): number | string {
  const unit = currentUnit(student);
  switch (column) {
    case "help": {
      // Raised hands come before students who are stuck; within each, the longest wait comes first.
      const needed = help(student, nowS);
      return needed === null ? 0 : -needed.forS - (needed.kind === "asks" ? 1e9 : 0);
    }
    case "name":
      return student.name;
    case "presence":
      return student.is_online ? Number.MAX_VALUE : (student.seen_s ?? 0);
    case "network":
      return isRunning(student) ? 1 + student.nodes : 0;
    case "unit":
      return unit ? unitName(unit.unit) : "";
    case "steps":
      return unit && unit.steps ? unit.done / unit.steps : -1;
    case "check":
      return unit && unit.of ? (unit.points ?? 0) / unit.of : -1;
    case "handed in":
      return student.hand_ins.length;
    case "grade":
      return total(student.grades)?.points ?? -1;
  }
}
