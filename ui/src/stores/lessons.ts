/** The course: its units, the progress in each, and the one that is open. */
import { create } from "zustand";
import { onPush } from "../connection";
import type { LessonsPush } from "../protocol";

export const useLessons = create<LessonsPush>(() => ({
  push: "lessons",
  lessons: [],
  open_unit: null,
  folder: "",
  is_class: false,
  checking: "",
  starting: "",
  working: null,
  working_step: "",
  hand_raised_s: null,
  is_looked_at: false,
  hint: null,
  running_steps: [],
}));

onPush("lessons", (push) => useLessons.setState(push));
