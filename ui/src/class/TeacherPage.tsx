import { useEffect, useState } from "react";
import { errorText, request } from "../connection";
import type { ClassState } from "../protocol";
import { arranged, help, isRunning, type Column } from "./state";
import { SignInCards } from "./SignInCards";
import { StudentLines } from "./StudentLines";

const REFRESH_MS = 2000;
const COLUMNS: readonly [Column, string][] = [
  ["name", "Student"],
  ["help", "Help"],
  ["presence", "Online"],
  ["network", "Network"],
  ["unit", "Unit"],
  ["steps", "Steps"],
  ["check", "Check"],
  ["handed in", "Handed in"],
  ["grade", "Grade"],
];

/** All students of the class. It refreshes by itself. */
export function TeacherPage() {
  const { state, problem, refresh } = useClass();
  const [stopProblem, setStopProblem] = useState("");
  const [words, setWords] = useState("");
  const [showsCards, setShowsCards] = useState(false);
  const [order, setOrder] = useState<{ column: Column; isDescending: boolean }>({
    column: "name",
    isDescending: false,
  });
  const sortBy = (column: Column) =>
    setOrder((before) => ({ column, isDescending: before.column === column ? !before.isDescending : false }));
  const students = state ? arranged(state, words, order.column, order.isDescending) : [];
  return (
    <>
      <header className="class-head">
        <h1>
          <span className="brand">wanlab</span> {state ? folderName(state.folder) : "Class"}
        </h1>
        {state && <Summary state={state} />}
        <span className="class-tools">
          <input
            type="search"
            aria-label="Find a student"
            placeholder="Find a student"
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
          {state && <Grading progress={state.grading} onChanged={refresh} onProblem={setStopProblem} />}
          {state?.has_links && !showsCards && (
            <button type="button" className="button" onClick={() => setShowsCards(true)}>
              Sign-in cards
            </button>
          )}
          <a className="button" href="api/class.csv" download>
            Download CSV
          </a>
        </span>
      </header>
      <p className="class-problem" role="status">
        {problem || stopProblem || (state?.grading_result && `Grading: ${state.grading_result}.`)}
      </p>
      <main>
        {showsCards && <SignInCards names={students.map(({ name }) => name)} onClose={() => setShowsCards(false)} />}
        {state && !showsCards && (
          <table className="class-table">
            <caption className="class-hidden">Students: presence, network, progress, hand-ins and grades</caption>
            <thead>
              <tr>
                {COLUMNS.map(([column, title]) => (
                  <th
                    key={column}
                    scope="col"
                    aria-sort={order.column !== column ? "none" : order.isDescending ? "descending" : "ascending"}
                  >
                    <button type="button" className="class-sort" onClick={() => sortBy(column)}>
                      {title}
                      <span aria-hidden="true">{order.column !== column ? "" : order.isDescending ? " ▾" : " ▴"}</span>
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            {students.map((student) => (
              <StudentLines
                key={student.name}
                student={student}
                nowS={state.now_s}
                columns={COLUMNS.length}
                onChanged={refresh}
                onProblem={setStopProblem}
              />
            ))}
          </table>
        )}
        {state && !students.length && <p className="empty">No student has a name with these letters.</p>}
        {state && !showsCards && (
          <p className="class-notes">
            Steps and checks are what students see in their page. Grades are those of <code>wanlab lab grade</code>
            {state.graded_s === null
              ? ": press Grade hand-ins."
              : `, as of ${new Date(state.graded_s * 1000).toLocaleString()}.`}
          </p>
        )}
      </main>
    </>
  );
}

interface GradingProps {
  progress: string;
  onChanged: () => void;
  onProblem: (text: string) => void;
}

/** Grades what was handed in, on the server. */
function Grading({ progress, onChanged, onProblem }: GradingProps) {
  const ask = async (path: string) => {
    onProblem("");
    try {
      await request(path, { method: "POST" });
    } catch (error) {
      onProblem(`The hand-ins are not graded: ${errorText(error)}.`);
    }
    onChanged();
  };
  if (!progress)
    return (
      <button type="button" className="button" onClick={() => void ask("api/class/grade")}>
        Grade hand-ins
      </button>
    );
  return (
    <>
      <span role="status">Grading, {progress}</span>
      <button type="button" className="button" onClick={() => void ask("api/class/grade/cancel")}>
        Cancel
      </button>
    </>
  );
}

function Summary({ state }: { state: ClassState }) {
  const online = state.students.filter((student) => student.is_online).length;
  const running = state.students.filter(isRunning).length;
  const needing = state.students.filter((student) => help(student, state.now_s) !== null).length;
  const handedIn = state.students.filter((student) => student.hand_ins.length > 0).length;
  return (
    <ul className="class-summary" aria-label="Summary">
      <li>
        <b>{online}</b> of {state.students.length} online
      </li>
      <li>
        <b>{running}</b>{" "}
        {state.networks !== null ? `of ${state.networks} networks` : running === 1 ? "network" : "networks"}
      </li>
      <li>
        <b>{handedIn}</b> handed in
      </li>
      {needing > 0 && (
        <li className="class-needing">
          <b>{needing}</b> {needing === 1 ? "needs" : "need"} help
        </li>
      )}
    </ul>
  );
}

function folderName(folder: string): string {
  return folder.split("/").filter(Boolean).at(-1) ?? folder;
}

/** The state of the class, asked for again and again while the page can be seen. */
function useClass(): { state: ClassState | null; problem: string; refresh: () => void } {
  const [state, setState] = useState<ClassState | null>(null);
  const [problem, setProblem] = useState("");
  const [count, setCount] = useState(0);
  useEffect(() => {
    let isWanted = true;
    let timer = 0;
    const read = async () => {
      try {
        const response = await fetch("api/class");
        if (response.status === 401) throw new Error("you are signed out: reload this page");
        if (response.status === 403)
          throw new Error("this browser no longer has access: open the teacher's link again");
        if (!response.ok) throw new Error(`the server answered with HTTP status ${response.status}`);
        const next = (await response.json()) as ClassState;
        if (!isWanted) return;
        setState(next);
        setProblem("");
      } catch (error) {
        if (isWanted)
          setProblem(
            error instanceof TypeError
              ? "The server does not answer. Trying again…"
              : `Not up to date: ${(error as Error).message}.`,
          );
      }
      if (isWanted) timer = window.setTimeout(() => void read(), REFRESH_MS);
    };
    void read();
    return () => {
      isWanted = false;
      window.clearTimeout(timer);
    };
  }, [count]);
  return { state, problem, refresh: () => setCount((before) => before + 1) };
}
