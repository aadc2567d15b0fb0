import "./lessons.css";
import { useState } from "react";
import { useLessons } from "../stores/lessons";
import { LessonList } from "./LessonList";
import { LessonView } from "./LessonView";

/** The course: the list of units, or one lesson. */
export function Lessons() {
  const open = useLessons((state) => state.open_unit);
  const [read, setRead] = useState<string | null>(open);
  // Show a lesson that is started, here or in another window.
  const [known, setKnown] = useState(open);
  if (open !== known) {
    setKnown(open);
    if (open !== null) setRead(open);
  }
  if (read === null) return <LessonList onRead={setRead} />;
  return <LessonView key={read} unit={read} onRead={setRead} onList={() => setRead(null)} />;
}
