/** The reader's position: the shown lesson, and how far each lesson is scrolled. Kept in this browser. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

interface LessonPlace {
  /** The lesson that is shown; null for the list of all lessons. */
  unit: string | null;
  /** How far each lesson is scrolled, in pixels. */
  scrolled: Readonly<Record<string, number>>;
}

export const useLessonPlace = create<LessonPlace>()(
  persist((): LessonPlace => ({ unit: null, scrolled: {} }), { name: "wanlab.lesson" }),
);

export function noteScrolled(unit: string, pixels: number): void {
  useLessonPlace.setState(({ scrolled }) => ({ scrolled: { ...scrolled, [unit]: Math.round(pixels) } }));
}
