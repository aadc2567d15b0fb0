import { useEffect, useRef } from "react";
import type { LessonStep } from "../protocol";
import { instructionOf, secondsText } from "./instruction";
import type { StepState } from "./progress";

interface Props {
  step: LessonStep;
  state: StepState;
  /** Whether the student should be led to this step: the first of those that come next. */
  isNext: boolean;
  /** Whether its command runs now. */
  isRunning: boolean;
  hint: string;
  onDo: () => void;
  onInterrupt: () => void;
  onPlace: (place: string) => void;
}

const MARKS: Readonly<Record<StepState, string>> = { done: "✓", current: "", later: "", look: "•" };

/** One step: what to do, a button that does it, and a hint if a mistake was seen. */
export function StepRow({ step, state, isNext, isRunning, hint, onDo, onInterrupt, onPlace }: Props) {
  const row = useRef<HTMLLIElement>(null);
  const { text, then, button } = instructionOf(step);
  const isOpen = state === "current" || state === "later";
  useEffect(() => {
    if (isNext) row.current?.scrollIntoView({ block: "nearest" });
  }, [isNext]);
  return (
    <li
      ref={row}
      className={`player-step is-${state}`}
      data-step={step.n}
      data-kind={step.kind}
      aria-current={isNext ? "step" : undefined}
    >
      <span
        className="player-mark"
        role="img"
        aria-label={state === "done" ? `step ${step.n}, done` : `step ${step.n}`}
      >
        {MARKS[state] || step.n}
      </span>
      <div className="player-what">
        <p>
          {step.is_optional && <em>Optional: </em>}
          {text}
          {step.ends && <code>{step.ends}</code>}
        </p>
        {step.kind === "type" && step.lines.map((line, index) => <Line key={index} line={line} />)}
        {isOpen && then && <p>{then}</p>}
        {state === "current" && isRunning && <p className="player-time">It runs…</p>}
        {state === "current" && !isRunning && <Time step={step} />}
        {isOpen && hint && <Hint text={hint} />}
      </div>
      {isOpen && (step.can_type || step.can_perform) && (
        <span className="player-buttons">
          {step.kind === "type" && state === "current" && (
            <button
              type="button"
              title={`Show a terminal of ${step.where.join(", ")}`}
              aria-label={`Show a terminal for step ${step.n}`}
              onClick={() => step.where.forEach(onPlace)}
            >
              Show
            </button>
          )}
          {isRunning && step.for_s !== null && (
            <button
              type="button"
              aria-label={`Ctrl-C for me: step ${step.n}`}
              title="Do this for me"
              onClick={onInterrupt}
            >
              Ctrl-C
            </button>
          )}
          {button && !isRunning && (
            <button type="button" aria-label={`${button} for me: step ${step.n}`} title="Do this for me" onClick={onDo}>
              {button}
            </button>
          )}
        </span>
      )}
    </li>
  );
}

function Line({ line }: { line: string }) {
  return (
    <pre className="player-line" tabIndex={0}>
      <code>{line}</code>
    </pre>
  );
}

/** How long a step takes, if it takes long. */
function Time({ step }: { step: LessonStep }) {
  if (step.takes_s < 5 || step.for_s !== null) return null;
  return <p className="player-time">Takes {secondsText(step.takes_s)} on the network's clock.</p>;
}

/** Help with a mistake; `code` in the text is set as code. */
export function Hint({ text }: { text: string }) {
  return (
    <p className="player-hint" role="status">
      {text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}
    </p>
  );
}
