import "./lessons.css";
import { useEffect } from "react";
import { useLessons } from "../stores/lessons";
import { LessonList } from "./LessonList";
import { LessonView } from "./LessonView";
import { useLessonPlace } from "./place";

/** The course: the list of units, or one lesson. */
export function Lessons() {
  const open = useLessons((state) => state.open_unit);
  const read = useLessonPlace((state) => state.unit);
  const setRead = (unit: string | null) => useLessonPlace.setState({ unit });
  // Show a lesson that is started, here or in another window.
  useEffect(() => {
    if (open !== null) useLessonPlace.setState({ unit: open });
  }, [open]);
  if (read === null) return <LessonList onRead={setRead} />;
  return <LessonView key={read} unit={read} onRead={setRead} onList={() => setRead(null)} />;
}
