import "./player.css";
import { useEffect, useMemo, useRef, useState } from "react";
import { perform } from "../connection";
import type { LessonInfo, LessonPage, LessonStep, StepFigure } from "../protocol";
import { useDocument } from "../stores/document";
import { useLessons } from "../stores/lessons";
import { useRunning } from "../stores/running";
import { CLIENT, openTerminal, PROMPT, showTab } from "../terminals/tabs";
import { terminalTab } from "../terminals/panes";
import { performStep } from "./canvasSteps";
import type { Card, Outline } from "./outline";
import { useLessonPlace } from "./place";
import { firstOpenCard, isComplete, nextSteps, placeAmong, stateOf } from "./progress";
import { Prose, type ProseActions } from "./Prose";
import { Hint, StepRow } from "./StepRow";

interface Props extends ProseActions {
  page: LessonPage;
  outline: Outline;
  lesson: LessonInfo | undefined;
  isOpen: boolean;
  onCheck: () => void;
  onRead: (unit: string) => void;
}

/** Leads through the steps of a lesson, a few at a time. */
export function Player({ page, outline, lesson, isOpen, onCheck, onRead, ...actions }: Props) {
  const done = useMemo(() => new Set(lesson?.done ?? []), [lesson?.done]);
  const { cards } = outline;
  const [at, setAt] = useCard(cards, done);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    body.current?.scrollTo({ top: 0 });
  }, [at]);
  const card = cards[at];
  if (card === undefined) return <p className="empty">This lesson has no steps.</p>;
  const next = nextSteps(card, done);
  const isLast = at === cards.length - 1;
  const isDone = isComplete(card, done);
  return (
    <section className="player" aria-label="Steps">
      <Heading card={card} next={next[0]} page={page} done={done.size} />
      <div className="player-body lesson" ref={body} tabIndex={0} role="region" aria-label="Step">
        {!isOpen && (
          <p className="player-start">
            Press <b>Start</b> above: it opens the network of this lesson.
          </p>
        )}
        <Prose unit={page.unit} markdown={card.before} {...actions} />
        <Steps unit={page.unit} card={card} next={next} done={done} />
        {card.extras.length > 0 && <Prose unit={page.unit} markdown={extrasOf(card)} {...actions} />}
        <Prose unit={page.unit} markdown={card.after} {...actions} />
        <Why figures={card.steps.flatMap(({ figures }) => figures)} />
        {isLast && <Ending page={page} lesson={lesson} isOpen={isOpen} onCheck={onCheck} onRead={onRead} />}
      </div>
      <footer className="player-foot">
        <button
          type="button"
          className="button"
          aria-label="Back to the steps before"
          disabled={at === 0}
          onClick={() => setAt(at - 1)}
        >
          ‹ Back
        </button>
        <span>
          {at + 1} / {cards.length}
        </span>
        <button
          type="button"
          aria-label="Next steps"
          className={`button ${isDone ? "button-first" : ""}`}
          disabled={isLast}
          onClick={() => setAt(at + 1)}
        >
          Next ›
        </button>
      </footer>
    </section>
  );
}

/** The shown card: at first one with something to do, then the one that the student works on. */
function useCard(cards: readonly Card[], done: ReadonlySet<number>): [number, (at: number) => void] {
  const [at, setAt] = useState(() => firstOpenCard(cards, done));
  const before = useRef(done);
  useEffect(() => {
    const added = [...done].filter((n) => !before.current.has(n)).at(-1);
    before.current = done;
    // Start does steps of several cards, and then the first of them is to be shown.
    if (added === undefined) return;
    setAt((shown) => {
      if (cards[shown]?.steps.some(({ n }) => n === added)) return shown;
      const home = cards.findIndex((card) => card.steps.some(({ n }) => n === added));
      return home > shown && isComplete(cards[shown]!, done) ? home : shown;
    });
  }, [cards, done]);
  const startedAt = useLessonPlace((state) => state.startedAt);
  useEffect(() => {
    if (startedAt === null) return;
    const home = cards.findIndex((card) => card.steps.some(({ n }) => n === startedAt));
    if (home >= 0) setAt(home);
    useLessonPlace.setState({ startedAt: null });
  }, [cards, startedAt]);
  return [at, setAt];
}

interface HeadingProps {
  card: Card;
  next: LessonStep | undefined;
  page: LessonPage;
  done: number;
}

function Heading({ card, next, page, done }: HeadingProps) {
  const of = page.steps.filter(({ counts }) => counts).length;
  const position = next === undefined ? null : placeAmong(next, page.steps);
  return (
    <header className="player-head">
      <h2>{card.title}</h2>
      <span>{position === null ? `${done} of ${of} done` : `Step ${position.at} of ${of}`}</span>
      <progress max={of} value={done} aria-label={`${done} of ${of} steps done`} />
    </header>
  );
}

interface StepsProps {
  unit: string;
  card: Card;
  next: readonly LessonStep[];
  done: ReadonlySet<number>;
}

function Steps({ unit, card, next, done }: StepsProps) {
  const { hint, open_unit, running_steps } = useLessons();
  const isOpen = open_unit === unit;
  const isElsewhere = isOpen && hint !== null && !card.steps.some(({ n }) => n === hint.step);
  const carryOut = async (step: LessonStep) => {
    if (step.kind === "canvas") await performStep(unit, step.n);
    else {
      const opened = await perform({ do: "lesson", unit, action: "type", step: step.n });
      for (const terminal of (opened ?? []) as readonly string[]) showTab(terminalTab(terminal));
    }
  };
  return (
    <>
      {isElsewhere && <Hint text={`Step ${hint.step}: ${hint.text}`} />}
      <ol className="player-steps">
        {card.steps.map((step) => (
          <StepRow
            key={step.n}
            step={step}
            state={stateOf(step, next, done)}
            isNext={step === next[0]}
            isRunning={isOpen && running_steps.includes(step.n)}
            hint={isOpen && hint?.step === step.n ? hint.text : ""}
            onInterrupt={() => void perform({ do: "lesson", unit, action: "interrupt", step: step.n })}
            onDo={() => void carryOut(step)}
            onPlace={(place) => void showPlace(place)}
          />
        ))}
      </ol>
    </>
  );
}

/** Show a terminal of a place of steps; open one if there is none. */
async function showPlace(place: string): Promise<void> {
  const node =
    { client: CLIENT, mininet: PROMPT }[place] ??
    Object.values(useDocument.getState().nodes).find(({ name }) => name === place)?.id;
  const open = useRunning
    .getState()
    .terminals.filter((one) => one.status === null && (place === "mininet" ? one.at_mininet : one.node === node));
  const free = open.find(({ is_busy }) => !is_busy) ?? open[0];
  if (free) showTab(terminalTab(free.id));
  else if (node !== undefined) await openTerminal(node);
}

function extrasOf({ extras }: Card): string {
  const rows = extras.map(({ place, line }) => `${place === "mininet" ? "mininet>" : `${place}$`} ${line}`);
  return ["```console", ...rows, "```"].join("\n");
}

/** Why a number differs from the manual's: folded away, for those who wonder. */
function Why({ figures }: { figures: readonly StepFigure[] }) {
  const explained = figures.filter(({ cause, why }) => cause || why);
  if (explained.length === 0) return null;
  return (
    <details className="player-why">
      <summary>Why is my number different?</summary>
      <dl>
        {explained.map(({ what, manual, expected, why, cause }, index) => (
          <div key={index}>
            <dt>{what}</dt>
            <dd>
              <b>{expected}</b> is right here{why && ` (${why})`}. Manual: {manual}. {cause}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

interface EndingProps {
  page: LessonPage;
  lesson: LessonInfo | undefined;
  isOpen: boolean;
  onCheck: () => void;
  onRead: (unit: string) => void;
}

/** The end of a lesson: the check, its results, and the way to the next lesson. */
function Ending({ page, lesson, isOpen, onCheck, onRead }: EndingProps) {
  const { lessons, checking } = useLessons();
  const isRunning = useRunning((state) => state.run.phase === "running");
  const following = lessons[lessons.findIndex(({ unit }) => unit === page.unit) + 1];
  const isPassed = lesson !== undefined && lesson.points !== null && lesson.points === lesson.of;
  return (
    <div className="player-end">
      {page.has_check && (
        <p>
          <button
            type="button"
            className={`button ${isPassed ? "" : "button-first"}`}
            disabled={!isRunning || !isOpen || checking !== ""}
            onClick={onCheck}
          >
            {checking === "" ? "Check my work" : "Checking…"}
          </button>{" "}
          {!isRunning && "Run the network first."}
        </p>
      )}
      {isPassed && (
        <p className="player-passed">
          ✓ Passed: {lesson.points} of {lesson.of} points.
        </p>
      )}
      {following && (isPassed || !page.has_check) && (
        <p>
          <button type="button" className="button button-first" onClick={() => onRead(following.unit)}>
            Next: {following.heading} ›
          </button>
        </p>
      )}
    </div>
  );
}
