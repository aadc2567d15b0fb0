import { useEffect, useMemo, useState } from "react";
import { errorText, perform, request } from "../connection";
import type { LessonPage } from "../protocol";
import { useRunning } from "../stores/running";
import { pinLesson, useView } from "../stores/view";
import { Tabs, type Tab } from "../layout/Tabs";
import { openFile } from "../terminals/tabs";
import { CheckResults } from "./CheckResults";
import type { Command } from "./markdown";
import { outlineOf, type Outline } from "./outline";
import { Player } from "./Player";
import { Reader } from "./Reader";
import { type LessonPart, useLessonPlace } from "./place";
import { useDocument } from "../stores/document";
import { useLessons } from "../stores/lessons";
import { StartAt, Starting } from "./StartAt";
import { startUnit } from "./starting";
import { typeFor } from "./typing";

interface Props {
  unit: string;
  onRead: (unit: string) => void;
  onList: () => void;
}

/** A lesson: its text and its actions. */
export function LessonView({ unit, onRead, onList }: Props) {
  const page = usePage(unit);
  useEffect(widenSide, []);
  const { lessons, open_unit, working, working_step, checking } = useLessons();
  const lesson = lessons.find((one) => one.unit === unit);
  const [showsResults, setShowsResults] = useState(true);
  const isChecking = checking !== "" && open_unit === unit;

  const command = async ({ place, line }: Command) => {
    if (place === "") await runOutside(line);
    else await typeFor(place, line);
  };
  const runOutside = async (line: string) => {
    if (/^wanlab lab start\b/.test(line)) await startUnit({ unit, action: "start" });
    else if (/^wanlab lab check\b/.test(line)) await check();
  };
  const check = async () => {
    if (isChecking) return;
    setShowsResults(true);
    await perform({ do: "lesson", unit, action: "check" });
  };
  const outline = useMemo(
    () => (page === null || typeof page === "string" ? NO_OUTLINE : outlineOf(page.markdown, page.steps)),
    [page],
  );
  const part = usePart(unit, lesson?.done.length ?? 0, open_unit === unit);
  if (typeof page === "string") return <p className="empty">{page}</p>;
  const actions = {
    onCommand: (one: Command) => void command(one),
    onUnit: (folder: string) => onRead(lessons.find((one) => folderOf(one.unit) === folder)?.unit ?? unit),
  };
  const choose = (chosen: LessonPart) =>
    useLessonPlace.setState(({ parts }) => ({ parts: { ...parts, [unit]: chosen } }));
  return (
    <div className="lesson-view">
      <header className="lesson-head">
        <button type="button" className="icon-button" aria-label="All lessons" title="All lessons" onClick={onList}>
          ‹ All
        </button>
        <span className="lesson-title" title={lesson?.heading}>
          {lesson?.heading}
        </span>
        <Actions
          unit={unit}
          page={page}
          outline={outline}
          isOpen={open_unit === unit}
          isChecking={isChecking}
          onCheck={() => void check()}
        />
      </header>
      <div className="bar lesson-parts">
        <Tabs label="Parts of the lesson" tabs={partsOf(outline)} chosen={part} onChoose={choose} />
      </div>
      <Starting unit={unit} />
      {working === unit && <p className="lesson-working">Making the report: {working_step}</p>}
      {isChecking && (
        <p className="lesson-working" role="status">
          Checking {checking}. Stop ends the check and the network.
        </p>
      )}
      {!isChecking && showsResults && (lesson?.results.length ?? 0) > 0 && (
        <CheckResults results={lesson?.results ?? []} onClose={() => setShowsResults(false)} />
      )}
      <div className="lesson-part" role="tabpanel" id={`panel-${part}`} aria-labelledby={`tab-${part}`}>
        {page === null ? null : part === "do" ? (
          <Player
            page={page}
            outline={outline}
            lesson={lesson}
            isOpen={open_unit === unit}
            onCheck={() => void check()}
            onRead={onRead}
            {...actions}
          />
        ) : (
          <Reader
            key={part}
            unit={unit}
            part={part}
            markdown={part === "read" ? outline.before : outline.after}
            onNext={part === "read" ? () => choose("do") : null}
            {...actions}
          />
        )}
      </div>
    </div>
  );
}

const NO_OUTLINE: Outline = { before: "", cards: [], after: "" };

function partsOf({ before, after }: Outline): Tab<LessonPart>[] {
  const parts: Tab<LessonPart>[] = [
    { id: "read", title: "Read" },
    { id: "do", title: "Do" },
    { id: "questions", title: "Questions" },
  ];
  return parts.filter(({ id }) => id === "do" || (id === "read" ? before : after));
}

/** The part that is shown: the text until something has been done, then the steps. */
function usePart(unit: string, done: number, isOpen: boolean): LessonPart {
  const chosen = useLessonPlace((state) => state.parts[unit]);
  return chosen ?? (done > 0 || isOpen ? "do" : "read");
}

/** Moves the lessons to a separate panel on the left, and back. */
function Pin() {
  const isPinned = useView((state) => state.isLessonPinned);
  return (
    <button
      type="button"
      className="icon-button"
      aria-pressed={isPinned}
      title={
        isPinned
          ? "Move the lesson back to the right, beside Properties"
          : "Keep the lesson on the left, so that Properties can be seen with it"
      }
      onClick={() => pinLesson(!isPinned)}
    >
      {isPinned ? "Move right" : "Move left"}
    </button>
  );
}

const READABLE_WIDTH = 420;

/** Widen the side panel, because lessons need more space than properties. */
function widenSide(): void {
  const { isLessonPinned, sideWidth } = useView.getState();
  if (!isLessonPinned && sideWidth < READABLE_WIDTH) useView.setState({ sideWidth: READABLE_WIDTH });
}

/** The folder of a unit, as in links between lessons: "14" is lab14, "ex3" exercise3, "prob1" problem1. */
function folderOf(unit: string): string {
  const match = /^(ex|prob)?(\d+)$/.exec(unit);
  if (!match) return unit;
  if (match[1] === "ex") return `exercise${match[2]}`;
  return match[1] === "prob" ? `problem${match[2]}` : `lab${match[2]!.padStart(2, "0")}`;
}

/** The lesson, with the numbers that the seed draws for it. */
function usePage(unit: string): LessonPage | string | null {
  const seed = useDocument((state) => state.preferences.seed);
  const [page, setPage] = useState<LessonPage | string | null>(null);
  useEffect(() => {
    let isWanted = true;
    request(`api/lessons/${encodeURIComponent(unit)}`)
      .then(async (response) => (await response.json()) as LessonPage)
      .catch(errorText)
      .then((read) => isWanted && setPage(read));
    return () => {
      isWanted = false;
    };
  }, [unit, seed]);
  return page;
}

interface ActionProps {
  unit: string;
  page: LessonPage | null;
  outline: Outline;
  isOpen: boolean;
  isChecking: boolean;
  onCheck: () => void;
}

function Actions({ unit, page, outline, isOpen, isChecking, onCheck }: ActionProps) {
  const isRunning = useRunning((state) => state.run.phase === "running");
  const isStopped = useRunning(({ run: { phase } }) => phase === "stopped" || phase === "failed");
  const [isChoosing, setIsChoosing] = useState(false);
  const [showsMore, setShowsMore] = useState(false);
  const { starting, lessons, is_class } = useLessons();
  const lesson = lessons.find((one) => one.unit === unit);
  return (
    <span className="lesson-actions">
      {isOpen ? (
        <button type="button" className="button" onClick={() => void perform({ do: "lesson", unit, action: "close" })}>
          Close lesson
        </button>
      ) : (
        <button
          type="button"
          className="button button-first"
          title="Open the network of this lesson"
          onClick={() => void startUnit({ unit, action: "start" })}
        >
          Start
        </button>
      )}
      {page?.has_check && (
        <button
          type="button"
          className="button"
          disabled={!isRunning || isChecking}
          title={isRunning ? "Check your work in the running network" : "Run the network to check it"}
          onClick={onCheck}
        >
          {isChecking ? "Checking…" : "Check"}
        </button>
      )}
      {is_class && <Hand unit={unit} />}
      {is_class && <HandIn unit={unit} handedInS={lesson?.handed_in_s ?? null} />}
      <button
        type="button"
        className="icon-button"
        aria-expanded={showsMore}
        aria-label="More actions"
        title="More actions"
        onClick={() => setShowsMore(!showsMore)}
      >
        ⋯
      </button>
      {showsMore && (
        <span className="lesson-more">
          {(page?.steps.length ?? 0) > 1 && (
            <button
              type="button"
              className="button"
              disabled={!isStopped || starting !== ""}
              title="Start from a later step: the earlier steps are performed for you"
              onClick={() => {
                setShowsMore(false);
                setIsChoosing(true);
              }}
            >
              Start from step…
            </button>
          )}
          <StartJitter />
          {!is_class && <Report unit={unit} />}
          <Pin />
        </span>
      )}
      {isChoosing && page !== null && (
        <StartAt page={page} cards={outline.cards} done={lesson?.done ?? []} onClose={() => setIsChoosing(false)} />
      )}
    </span>
  );
}

/** Starts commands that start together some milliseconds apart, as on a real computer. */
function StartJitter() {
  const isWanted = useLessonPlace((state) => state.hasStartJitter);
  return (
    <label
      className="check"
      title="On the virtual clock, two flows that start together start in the same nanosecond, and may stay in step. With this, each starts up to 5 ms later, by a delay that the seed draws: at Mininet's prompt, and with the button Enter. From the next Start on."
    >
      <input
        type="checkbox"
        checked={isWanted}
        onChange={({ target }) => useLessonPlace.setState({ hasStartJitter: target.checked })}
      />
      Start jitter of 5 ms
    </label>
  );
}

/** Makes the report of a unit, and shows it. */
function Report({ unit }: { unit: string }) {
  const { lessons, working, working_step } = useLessons();
  const report = lessons.find((one) => one.unit === unit)?.report;
  if (working === unit) {
    return (
      <button
        type="button"
        className="button"
        title={working_step}
        onClick={() => void perform({ do: "lesson", unit, action: "cancel_report" })}
      >
        Cancel report
      </button>
    );
  }
  return (
    <>
      {report && (
        <button type="button" className="button" onClick={() => openFile(report)}>
          Show report
        </button>
      )}
      <button
        type="button"
        className="button"
        disabled={working !== null}
        title="Perform all steps of this unit, with its solution, in a separate machine and write a report. Your own work is not used or changed."
        onClick={() => void perform({ do: "lesson", unit, action: "report" })}
      >
        {report ? "Make the report again" : "Make a report"}
      </button>
    </>
  );
}

/** Asks the teacher of a class for help, or no longer. */
function Hand({ unit }: { unit: string }) {
  const isRaised = useLessons((state) => state.hand_raised_s !== null);
  return (
    <button
      type="button"
      className="button"
      aria-pressed={isRaised}
      title={isRaised ? "Your teacher sees that you need help" : "Show your teacher that you need help"}
      onClick={() => void perform({ do: "lesson", unit, action: isRaised ? "lower_hand" : "raise_hand" })}
    >
      {isRaised ? "Hand is up" : "Raise hand"}
    </button>
  );
}

/** Gives the work on a unit to the teacher of a class. */
function HandIn({ unit, handedInS }: { unit: string; handedInS: number | null }) {
  const handIn = () => perform({ do: "lesson", unit, action: "hand_in" });
  const before = handedInS === null ? "" : `Handed in on ${new Date(handedInS * 1000).toLocaleString()}. `;
  return (
    <button
      type="button"
      className="button"
      title={`${before}Give your script, or what you typed, to your teacher. Only your latest hand-in counts.`}
      onClick={() => void handIn()}
    >
      {handedInS === null ? "Hand in" : "Hand in again"}
    </button>
  );
}
