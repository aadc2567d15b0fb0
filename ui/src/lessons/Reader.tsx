import { useEffect, useRef } from "react";
import { noteScrolled, useLessonPlace } from "./place";
import { Prose, type ProseActions } from "./Prose";

interface Props extends ProseActions {
  unit: string;
  part: string;
  markdown: string;
  /** Goes on to the steps; null after them. */
  onNext: (() => void) | null;
}

/** The text before the steps of a lesson, or the questions after them. */
export function Reader({ unit, part, markdown, onNext, ...actions }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const key = `${unit} ${part}`;
  useEffect(() => {
    container.current!.scrollTop = useLessonPlace.getState().scrolled[key] ?? 0;
  }, [key]);
  return (
    <div
      className="lesson"
      ref={container}
      onScroll={() => noteScrolled(key, container.current?.scrollTop ?? 0)}
      tabIndex={0}
      role="region"
      aria-label="Lesson"
    >
      <Prose unit={unit} markdown={markdown} {...actions} />
      {onNext && (
        <p>
          <button type="button" className="button button-first" onClick={onNext}>
            To the steps ›
          </button>
        </p>
      )}
    </div>
  );
}
