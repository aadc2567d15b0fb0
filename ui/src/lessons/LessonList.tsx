import type { LessonInfo } from "../protocol";
import { useLessons } from "../stores/lessons";

const KINDS: readonly [string, string][] = [
  ["lab", "Labs"],
  ["exercise", "Exercises"],
  ["problem", "Problems"],
];

/** All units of the course, with the progress in each. */
export function LessonList({ onRead }: { onRead: (unit: string) => void }) {
  const { lessons, open_unit } = useLessons();
  if (!lessons.length) return <p className="empty">Loading…</p>;
  return (
    <div className="lesson-list">
      {KINDS.map(([kind, title]) => (
        <section key={kind}>
          <h2>{title}</h2>
          <ul>
            {lessons
              .filter((lesson) => lesson.kind === kind)
              .map((lesson) => (
                <li key={lesson.unit}>
                  <button type="button" title={lesson.goal} onClick={() => onRead(lesson.unit)}>
                    <span className="lesson-name">{lesson.heading}</span>
                    <Progress lesson={lesson} isOpen={lesson.unit === open_unit} />
                  </button>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

export function Progress({ lesson, isOpen }: { lesson: LessonInfo; isOpen: boolean }) {
  const { done, steps, points, of } = lesson;
  const isPassed = points !== null && points === of;
  return (
    <span className="lesson-progress">
      {isOpen && <span className="lesson-badge">open</span>}
      {points !== null && (
        <span className={`lesson-badge ${isPassed ? "lesson-badge-good" : ""}`}>
          {points} of {of}
        </span>
      )}
      {done.length > 0 && (
        <progress
          max={steps}
          value={done.length}
          aria-label={`${done.length} of ${steps} steps done`}
          title={`${done.length} of ${steps} steps done`}
        />
      )}
    </span>
  );
}
