import { useEffect, useState } from "react";
import { errorText, perform, request } from "../connection";
import type { LessonPage } from "../protocol";
import { useRunning } from "../stores/running";
import { pinLesson, useView } from "../stores/view";
import { openFile } from "../terminals/tabs";
import { performStep } from "./canvasSteps";
import { CheckResults } from "./CheckResults";
import { LessonBody } from "./LessonBody";
import { Progress } from "./LessonList";
import type { Command } from "./markdown";
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
  if (typeof page === "string") return <p className="empty">{page}</p>;
  return (
    <div className="lesson-view">
      <header className="lesson-head">
        <button type="button" className="icon-button" aria-label="All lessons" title="All lessons" onClick={onList}>
          ‹ All
        </button>
        {lesson && <Progress lesson={lesson} isOpen={false} />}
        <Pin />
        <Actions unit={unit} page={page} isOpen={open_unit === unit} isChecking={isChecking} onCheck={() => void check()} />
      </header>
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
      {page !== null && (
        <LessonBody
          page={page}
          done={lesson?.done ?? NONE}
          onCommand={(one) => void command(one)}
          onStep={({ n }) => void performStep(unit, n)}
          onUnit={(folder) => onRead(lessons.find((one) => folderOf(one.unit) === folder)?.unit ?? unit)}
        />
      )}
    </div>
  );
}

/** Moves the lessons to a separate panel on the left, and back. */
function Pin() {
  const isPinned = useView((state) => state.isLessonPinned);
  return (
    <button
      type="button"
      className="icon-button"
      aria-pressed={isPinned}
      title={isPinned ? "Move the lesson back to the right, beside Properties" : "Keep the lesson on the left, so that Properties can be seen with it"}
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

const NONE: readonly number[] = [];

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
    request(`/api/lessons/${encodeURIComponent(unit)}`)
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
  isOpen: boolean;
  isChecking: boolean;
  onCheck: () => void;
}

function Actions({ unit, page, isOpen, isChecking, onCheck }: ActionProps) {
  const isRunning = useRunning((state) => state.run.phase === "running");
  const isStopped = useRunning(({ run: { phase } }) => phase === "stopped" || phase === "failed");
  const [isChoosing, setIsChoosing] = useState(false);
  const { starting, lessons, working, working_step, is_class } = useLessons();
  const lesson = lessons.find((one) => one.unit === unit);
  const report = async () => {
    await perform({ do: "lesson", unit, action: "report" });
  };
  return (
    <span className="lesson-actions">
      {isOpen ? (
        <button type="button" className="button" onClick={() => void perform({ do: "lesson", unit, action: "close" })}>
          Close lesson
        </button>
      ) : (
        <button type="button" className="button button-primary" title="Open the network of this lesson" onClick={() => void startUnit({ unit, action: "start" })}>
          Start
        </button>
      )}
      {(page?.steps.length ?? 0) > 1 && (
        <button type="button" className="button" disabled={!isStopped || starting !== ""} title="Start from a later step: the earlier steps are performed for you" onClick={() => setIsChoosing(true)}>
          Start from step…
        </button>
      )}
      {isChoosing && page !== null && <StartAt page={page} onClose={() => setIsChoosing(false)} />}
      {page?.has_check && (
        <button type="button" className="button" disabled={!isRunning || isChecking} title={isRunning ? "Check your work in the running network" : "Run the network to check it"} onClick={onCheck}>
          {isChecking ? "Checking…" : "Check"}
        </button>
      )}
      {is_class && (
        <HandIn unit={unit} handedInS={lesson?.handed_in_s ?? null} />
      )}
      {!is_class && lesson?.report && working !== unit && (
        <button type="button" className="button" onClick={() => openFile(lesson.report!)}>
          Show report
        </button>
      )}
      {is_class ? null : working === unit ? (
        <button type="button" className="button" title={working_step} onClick={() => void perform({ do: "lesson", unit, action: "cancel_report" })}>
          Cancel report
        </button>
      ) : (
        <button type="button" className="button" disabled={working !== null} title="Perform all steps of this unit, with its solution, in a separate machine and write a report. Your own work is not used or changed." onClick={() => void report()}>
          {lesson?.report ? "Make the report again" : "Make a report"}
        </button>
      )}
    </span>
  );
}

/** Gives the work on a unit to the teacher of a class. */
function HandIn({ unit, handedInS }: { unit: string; handedInS: number | null }) {
  const handIn = () => perform({ do: "lesson", unit, action: "hand_in" });
  const before = handedInS === null ? "" : `Handed in on ${new Date(handedInS * 1000).toLocaleString()}. `;
  return (
    <button type="button" className="button" title={`${before}Give your script, or what you typed, to your teacher. Only your latest hand-in counts.`} onClick={() => void handIn()}>
      {handedInS === null ? "Hand in" : "Hand in again"}
    </button>
  );
}
