/** The reader's position: the shown lesson, and how far each lesson is scrolled. Kept in this browser. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export type LessonPart = "read" | "do" | "questions";

interface LessonPlace {
  /** The lesson that is shown; null for the list of all lessons. */
  unit: string | null;
  /** The part of each lesson that is shown. */
  parts: Readonly<Record<string, LessonPart>>;
  /** How far each part is scrolled, in pixels. */
  scrolled: Readonly<Record<string, number>>;
  /** The step that the unit was started at, until its card is shown. */
  startedAt: number | null;
  /** Whether commands that are started together start some milliseconds apart; from the next start on. */
  hasStartJitter: boolean;
}

export const useLessonPlace = create<LessonPlace>()(
  persist((): LessonPlace => ({ unit: null, parts: {}, scrolled: {}, startedAt: null, hasStartJitter: false }), {
    name: "wanlab.lesson",
  }),
);

export function noteScrolled(part: string, pixels: number): void {
  useLessonPlace.setState(({ scrolled }) => ({ scrolled: { ...scrolled, [part]: Math.round(pixels) } }));
}
