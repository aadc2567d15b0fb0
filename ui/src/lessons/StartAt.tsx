import { useEffect, useRef, useState } from "react";
import { Dialog } from "../layout/Dialog";
import type { LessonPage, LessonStep } from "../protocol";
import { useLessons } from "../stores/lessons";
import { perform } from "../connection";
import { secondsText } from "./instruction";
import type { Card } from "./outline";
import { choicesOf, secondsBefore, suggestionOf } from "./startAt";
import { startUnit } from "./starting";

interface Props {
  page: LessonPage;
  cards: readonly Card[];
  done: readonly number[];
  onClose: () => void;
}

/** Starts a unit at a later step: the steps before it are performed. */
export function StartAt({ page, cards, done, onClose }: Props) {
  const choices = choicesOf(cards);
  const [at, setAt] = useState(() => suggestionOf(choices, page.steps, new Set(done)) ?? 1);
  const before = page.steps.filter(({ n, kind }) => n < at && kind !== "skip").length;
  const seconds = secondsBefore(page.steps, at);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector(".is-chosen")?.scrollIntoView({ block: "center" });
  }, []);
  const start = () => {
    onClose();
    void startUnit({ unit: page.unit, action: "start_at", step: at });
  };
  return (
    <Dialog
      title="Start from a later step"
      onClose={onClose}
      buttons={
        <>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="button button-first" onClick={start}>
            Start from step {at}
          </button>
        </>
      }
    >
      <p className="dialog-text">
        {before === 1 ? "The step before it is" : `The ${before} steps before it are`} performed for you, as if you had
        typed {before === 1 ? "it" : "them"}
        {seconds >= 1 && `, in ${secondsText(seconds)} on the network's clock`}. Then the network runs with the
        terminals that they have opened, and you continue from the step that you choose here:
      </p>
      <div className="start-steps" role="radiogroup" aria-label="Step" ref={list}>
        {choices.map(({ title, steps }) => (
          <div key={steps[0]!.n} role="group" aria-label={title || "Steps"}>
            {title && <p className="start-section">{title}</p>}
            {steps.map((step) => (
              <label key={step.n} className={step.n === at ? "is-chosen" : ""}>
                <input type="radio" name="start-step" checked={step.n === at} onChange={() => setAt(step.n)} />
                <span className="start-step-number">{step.n}</span>
                <span className={step.lines.length > 0 ? "start-step-line" : ""}>
                  {titleOf(step)}
                  {done.includes(step.n) && <span className="start-step-done"> ✓ done</span>}
                </span>
              </label>
            ))}
          </div>
        ))}
      </div>
    </Dialog>
  );
}

/** The step that is being performed, and a button to stop it. */
export function Starting({ unit }: { unit: string }) {
  const { starting, open_unit } = useLessons();
  if (starting === "" || open_unit !== unit) return null;
  return (
    <p className="lesson-working" role="status">
      {starting}…{" "}
      <button
        type="button"
        className="button"
        onClick={() => void perform({ do: "lesson", unit, action: "cancel_start" })}
      >
        Cancel
      </button>
    </p>
  );
}

function titleOf({ text, lines, action }: LessonStep): string {
  return action !== "" ? action : text.split("\n")[0] || (lines[0] ?? "");
}
